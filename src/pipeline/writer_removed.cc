// SPDX-License-Identifier: MIT
// A run whose files are removed while it is recorded (rm -rf of the run or of the store) goes on in a new folder, and
// one whose file was taken back to an earlier state (a restore into the same file) goes on behind that. What was stored
// and went is counted; what was said of the run, its series and its losses stands in the first frames that follow.
// These, and the frames that wait behind them, get new numbers: one that went with a file is not given again.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/frame_builder.h"
#include "pipeline/writer.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

Event event_of(const Attribute& attribute) {
  const Value payload = Value::Map{{"key", attribute.key}, {"value", attribute.value}};
  return {attribute.type, false, 0, attribute.time_us, encode_cbor(payload)};
}

std::string counted(const Logged& what) {
  std::string out = fmt::format("{} point{}", what.points, what.points == 1 ? "" : "s");
  if (what.texts > 0) out += fmt::format(" and {} text{}", what.texts, what.texts == 1 ? "" : "s");
  return out;
}

std::string removed_text(const Logged& what) {
  const bool one = what.points + what.texts == 1;
  return fmt::format(
      "the files of the run were removed while it was recorded: {} that {} stored went with them "
      "and {} counted as dropped; the run goes on in new ones",
      counted(what), one ? "was" : "were", one ? "is" : "are");
}

std::string taken_back_text(const std::string& path, const Logged& what) {
  const bool one = what.points + what.texts == 1;
  return fmt::format(
      "{} was taken back to an earlier state while it is written: {} that {} stored since went "
      "and {} counted as dropped; the run goes on behind that state",
      path, counted(what), one ? "was" : "were", one ? "is" : "are");
}

// Of all parts of the writer's files.
Result<WriterSnapshot> read_all(const std::string& path, const Id128& writer) {
  auto reader = WriterReader::open(join_path(parent_path(path), writer.hex() + ".db"));
  if (!reader.ok()) reader = WriterReader::open(path);  // a .frames file
  if (!reader.ok()) return reader.status();
  return (*reader)->snapshot();
}

// What `all` holds more than `there`.
std::vector<Loss> losses_since(const std::vector<Loss>& all, const std::vector<Loss>& there) {
  std::vector<Loss> out;
  for (Loss loss : all) {
    for (const Loss& known : there)
      if (known.series == loss.series && known.reason == loss.reason) loss.count -= std::min(loss.count, known.count);
    if (loss.count > 0) out.push_back(loss);
  }
  return out;
}

}  // namespace

// Under mutex_. Texts are gone with the points; alerts are kept once they are stored.
void Writer::note_state(const std::vector<Event>& events) {
  for (const Event& event : events)
    if (event.type == EventType::kConfig || event.type == EventType::kSummary || event.type == EventType::kAttribute ||
        event.type == EventType::kMetric || event.type == EventType::kArtifact || event.type == EventType::kEnvironment)
      state_.apply({event}, {});
}

// Behind a failure of the store. What SQLite kept beside a file that was removed belongs to no other one; one that was
// taken back is opened as it is.
bool Writer::leave_lost_store() {
  if (!db_ || !(db_->removed() || db_->taken_back())) return false;
  const std::string path = db_->path();
  const bool removed = db_->removed();
  db_.reset();
  if (removed)
    for (const char* suffix : {"-wal", "-shm", "-journal"}) remove_file(path + suffix);
  return true;
}

// The file that was just opened lacks frames that have been committed: it is a new one, or one that was taken back.
Status Writer::plan_opening() {
  if (!opening_.empty() || db_->last_seq() >= committed_seq_) return {};
  Result<WriterSnapshot> there = WriterSnapshot();
  if (db_->last_seq() > 0) there = read_all(db_->path(), identity_.writer);
  if (!there.ok()) return there.status();
  Logged removed;
  {
    const std::lock_guard<std::mutex> drain(drain_mutex_);  // which gives numbers
    const std::lock_guard<std::mutex> guard(mutex_);
    std::vector<FrameRecord> records;
    EventState lost;
    lost.apply({}, there->losses);
    for (const Frame& frame : opening_frames(*there, &removed)) {
      records.push_back({frame.seq, encode_frame(frame), {}});
      lost.apply({}, frame.losses);
    }
    TRACKER_RETURN_IF_ERROR(renumber_queue(records.back().seq + 1));
    removed_by_series_.resize(stored_by_series_.size());
    std::vector<RingPosition> positions = positions_;
    opening_ = std::move(records);  // from here on nothing fails
    // With the first one: rings are read on from there even where a death cuts an append to a .frames file short.
    opening_.front().positions = std::move(positions);
    lost_ = std::move(lost);
    std::vector<uint64_t> stored(stored_by_series_.size());
    for (const SeriesStats& series : there->series)
      if (series.def.id < stored.size()) stored[series.def.id] = series.points;
    for (size_t series = 0; series < stored.size(); ++series)
      removed_by_series_[series] += stored_by_series_[series] - std::min(stored_by_series_[series], stored[series]);
    stored_by_series_ = std::move(stored);
    const auto [again, gone] = alerts_.since(there->alerts());
    alerts_.set_stored(there->alerts() + again.size());
    alerts_removed_ += gone;
    points_removed_ += removed.points;
    texts_removed_ += removed.texts;
    texts_stored_ = there->texts();
    points_stored_ = there->points;
    const Logged went{points_removed_, texts_removed_};
    lost_text_ = db_->last_seq() > 0 ? taken_back_text(db_->path(), went) : removed_text(went);
  }
  say_once_.say(db_->last_seq() > 0 ? "taken back" : "removed", lost_text_);
  return {};
}

// Under drain_mutex_ and mutex_: the frames that wait get the numbers from `first` on. In the spill file they stand
// under the old ones, until the first transaction has all of them (store_round).
Status Writer::renumber_queue(uint64_t first) {
  std::vector<std::string> again;
  uint64_t next = first;
  for (const auto& queued : queue_) {
    auto frame = decode_frame(queued->record.bytes);
    if (!frame.ok()) return frame.status();  // made by this process, just now
    frame->seq = next++;
    again.push_back(encode_frame(*frame));
  }
  journal_->say_number(next - 1);  // from here on nothing fails
  for (size_t i = 0; i < again.size(); ++i) {
    FrameRecord& record = queue_[i]->record;
    queue_bytes_ += again[i].size() - record.bytes.size();
    record.bytes = std::move(again[i]);
    record.seq = first + i;
  }
  next_seq_ = next;
  return {};
}

// Under drain_mutex_ and mutex_. Frames no larger than those of a drain, so that each can be read, with the numbers
// that come next. What those have not defined, frames that still wait will define. Where the end was committed to the
// file that went, it is said again. `there`: what the file still holds.
std::vector<Frame> Writer::opening_frames(const WriterSnapshot& there, Logged* removed) {
  std::vector<Frame> out;
  FrameBuilder builder;
  std::vector<uint64_t> held(stored_by_series_.size());
  std::set<uint32_t> defined;
  for (const SeriesStats& series : there.series) {
    defined.insert(series.def.id);
    if (series.def.id < held.size()) held[series.def.id] = series.points;
  }
  EventState lost;
  lost.apply({}, losses_since(lost_.losses(), there.losses));
  for (size_t series = 0; series < held.size(); ++series) {
    if (stored_by_series_[series] <= held[series]) continue;
    const uint64_t gone = stored_by_series_[series] - held[series];
    if (sample_series_.count(static_cast<uint32_t>(series)) == 0) removed->points += gone;
    lost.apply({}, {{static_cast<uint32_t>(series), LossReason::kDisk, gone}});
  }
  removed->texts = texts_stored_ - std::min(texts_stored_, there.texts());
  if (removed->texts > 0) lost.apply({}, {{kTextLosses, LossReason::kDisk, removed->texts}});
  if (const uint64_t gone = alerts_.since(there.alerts()).second; gone > 0)
    lost.apply({}, {{kEntryLosses, LossReason::kDisk, gone}});
  for (const Loss& loss : lost.losses()) builder.add_loss(loss.series, loss.reason, loss.count);
  for (SeriesDef& series : journal_->definitions()) {
    if (series.id > defined_) break;
    if (defined.contains(series.id)) continue;
    if (builder.series_held() >= kSeriesAFrame) out.push_back(builder.take());
    builder.add_series(std::move(series));
  }
  std::vector<Event> said = alerts_.since(there.alerts()).first;
  for (const Attribute& attribute : state_.attributes()) said.push_back(event_of(attribute));
  for (const Event& event : said) {
    if (builder.approximate_bytes() >= kBytesAFrame) out.push_back(builder.take());
    builder.add_event(event.type, event.step, event.has_step, event.time_us, event.payload);
  }
  Value note = Value::Map{{"kind", there.last_seq > 0 ? "file_taken_back" : "files_removed"},
                          {"points", static_cast<int64_t>(removed->points)}};
  if (removed->texts > 0) note.set("texts", static_cast<int64_t>(removed->texts));
  builder.add_event(EventType::kNote, 0, false, realtime_us(), encode_cbor(note));
  if (drained_all_ && queue_.empty() && !there.end)
    builder.add_event(EventType::kEnd, 0, false, realtime_us(), end_record_);
  out.push_back(builder.take());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].writer = identity_.writer;
    out[i].seq = next_seq_ + i;
  }
  return out;
}

}  // namespace tracker::internal
