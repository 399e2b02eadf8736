// SPDX-License-Identifier: MIT
// A run whose files are removed while it is recorded (rm -rf of the run or of the store) goes on in a new folder. What
// was stored is gone and counted; what was said of the run, its series and its losses stands in the first frames of
// the new file, which take the numbers of the newest frames that went.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/frame_builder.h"
#include "run/writer.h"

namespace tracker::internal {
namespace {

Event event_of(const Attribute& attribute) {
  const Value payload = Value::Map{{"key", attribute.key}, {"value", attribute.value}};
  return {attribute.type, false, 0, attribute.time_us, encode_cbor(payload)};
}

}  // namespace

std::string removed_text(uint64_t points) {
  return fmt::format(
      "the files of the run were removed while it was recorded: {} point{} that {} stored went with them "
      "and {} counted as dropped; the run goes on in new ones",
      points, points == 1 ? "" : "s", points == 1 ? "was" : "were", points == 1 ? "is" : "are");
}

// Under mutex_. Texts are gone with the points.
void Writer::note_state(const std::vector<Event>& events) {
  for (const Event& event : events)
    if (event.type == EventType::kConfig || event.type == EventType::kSummary || event.type == EventType::kAttribute ||
        event.type == EventType::kMetric || event.type == EventType::kArtifact || event.type == EventType::kEnvironment)
      state_.apply({event}, {});
}

// Behind a failure of the store. What SQLite kept beside the file belongs to no other one.
bool Writer::leave_removed_store() {
  if (!db_ || !db_->removed()) return false;
  const std::string path = db_->path();
  db_.reset();
  for (const char* suffix : {"-wal", "-shm", "-journal"}) remove_file(path + suffix);
  return true;
}

// The file that was just opened is new, and frames have been committed to another one.
void Writer::plan_opening() {
  Logged removed;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!opening_.empty() || committed_seq_ == 0 || db_->last_seq() != 0) return;
    std::vector<FrameRecord> records;
    EventState lost;
    for (const Frame& frame : opening_frames(&removed)) {
      records.push_back({frame.seq, encode_frame(frame), {}});
      lost.apply({}, frame.losses);
    }
    removed_by_series_.resize(stored_by_series_.size());
    std::vector<RingPosition> positions = positions_;
    opening_ = std::move(records);  // from here on nothing fails
    // With the first one: rings are read on from there even where a death cuts an append to a .frames file short.
    opening_.front().positions = std::move(positions);
    lost_ = std::move(lost);
    for (size_t series = 0; series < stored_by_series_.size(); ++series)
      removed_by_series_[series] += std::exchange(stored_by_series_[series], 0);
    points_removed_ += removed.points;
    texts_removed_ += std::exchange(texts_stored_, 0);
    points_stored_ = 0;
    anew_ = true;
  }
  say_once_.say("removed", removed_text(removed.points));
}

// Under mutex_. Frames no larger than those of a drain, so that each can be read: as many as are needed, and never more
// than have gone, whose numbers they take. What those have not defined, frames that still wait will define. Where the
// end was committed to the file that went, it is said again.
std::vector<Frame> Writer::opening_frames(Logged* removed) {
  std::vector<Frame> out;
  FrameBuilder builder;
  EventState lost = lost_;
  for (size_t series = 0; series < stored_by_series_.size(); ++series) {
    if (stored_by_series_[series] == 0) continue;
    if (sample_series_.count(static_cast<uint32_t>(series)) == 0) removed->points += stored_by_series_[series];
    lost.apply({}, {{static_cast<uint32_t>(series), LossReason::kDisk, stored_by_series_[series]}});
  }
  removed->texts = texts_stored_;
  if (texts_stored_ > 0) lost.apply({}, {{kTextLosses, LossReason::kDisk, texts_stored_}});
  for (const Loss& loss : lost.losses()) builder.add_loss(loss.series, loss.reason, loss.count);
  for (SeriesDef& series : journal_->definitions()) {
    if (series.id > defined_) break;
    if (builder.series_held() >= kSeriesAFrame) out.push_back(builder.take());
    builder.add_series(std::move(series));
  }
  int64_t left_out = 0;
  for (const Attribute& attribute : state_.attributes()) {
    const Event event = event_of(attribute);
    if (builder.approximate_bytes() >= kBytesAFrame && out.size() + 1 < committed_seq_) out.push_back(builder.take());
    if (builder.approximate_bytes() + event.payload.size() > kOpeningBytesMax) ++left_out;
    else builder.add_event(event.type, event.step, event.has_step, event.time_us, event.payload);
  }
  Value note = Value::Map{{"kind", "files_removed"}, {"points", static_cast<int64_t>(removed->points)}};
  if (removed->texts > 0) note.set("texts", static_cast<int64_t>(removed->texts));
  if (left_out > 0) note.set("left_out", left_out);
  builder.add_event(EventType::kNote, 0, false, realtime_us(), encode_cbor(note));
  if (drained_all_ && queue_.empty()) builder.add_event(EventType::kEnd, 0, false, realtime_us(), end_record_);
  out.push_back(builder.take());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].writer = identity_.writer;
    out[i].seq = committed_seq_ - out.size() + 1 + i;
  }
  return out;
}

}  // namespace tracker::internal
