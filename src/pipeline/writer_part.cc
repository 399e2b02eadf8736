// SPDX-License-Identifier: MIT
// A run whose part has changed (storage/log/part_change.h) continues in the next part, with state frames first: what
// the program said of the run, and its series. These frames and those that wait in the queue get the next numbers.
// After a failed fsync those that wait keep their numbers and come first.
//
// One change means more: frames in the part that this process has not written. Another process has considered this one
// dead and has recovered its journal (src/journal/ring/owner_lock.h says how that is prevented). What is stored is
// known exactly, by the ring positions that are committed with the frames: queued frames that came from rings are
// discarded, and the rings are read again from those positions.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/ring/frame_builder.h"
#include "model/key.h"
#include "pipeline/writer.h"
#include "query/rows/event_visitor.h"
#include "storage/database/writer_parts.h"
#include "storage/log/ring_positions.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

std::string change_line(const std::string& path, PartChange change, int next, const Logged& gone) {
  const bool one = gone.points + gone.texts == 1;
  std::string out =
      fmt::format("{} {}; the run continues in part {} of this writer's files", path, part_change_text(change), next);
  if (gone.points + gone.texts > 0)
    out += fmt::format(": {} that {} stored {} gone and {} counted as dropped", counted_text(gone),
                       one ? "was" : "were", one ? "is" : "are", one ? "is" : "are");
  return out;
}

// Null: no part is there, or no part can be read.
Result<std::unique_ptr<WriterReader>> reader_of(const std::string& path) {
  const std::vector<PartFile> parts = parts_of(path);
  if (parts.empty()) return std::unique_ptr<WriterReader>();
  auto reader = WriterReader::open(parts.front().path);
  const Code code = reader.status().code();
  if (code == Code::kCorrupt || code == Code::kNotFound) return std::unique_ptr<WriterReader>();
  return reader;
}

bool is_stored(const FrameRecord& record, const std::vector<RingPosition>& stored) {
  return std::all_of(record.positions.begin(), record.positions.end(), [&stored](const RingPosition& position) {
    return std::any_of(stored.begin(), stored.end(), [&position](const RingPosition& p) {
      return p.nonce == position.nonce && p.position >= position.position;
    });
  });
}

// Too large for a ring, or recorded by the writer itself. The drain repeats the end.
bool is_in_no_ring(const Event& event) {
  return event.type == EventType::kNote || event.type == EventType::kEnvironment ||
         event.payload.size() > kInlineTextBytesMax;
}

bool is_same(const Event& a, const Event& b) {
  return a.type == b.type && a.time_us == b.time_us && a.has_step == b.has_step && a.step == b.step &&
         a.payload == b.payload;
}

// The events that were in no ring and that another process has stored from the spill file, in frames after `after`.
Status read_in_no_ring(WriterReader* reader, uint64_t after, const WriterSnapshot& there, std::vector<Event>* out) {
  auto at = reader->place_of(after);
  if (!at.ok()) return at.status();
  EventVisitor visitor(after, there.last_seq, [out](const Event& event) {
    if (is_in_no_ring(event)) out->push_back(event);
  });
  return reader->read(&*at, there.end_of_log(), &visitor);
}

}  // namespace

// Under mutex_. What state frames repeat.
void Writer::note_state(const std::vector<Event>& events) {
  for (const Event& event : events)
    if (is_state(event.type)) state_.apply({event}, {});
}

// The part that is written has changed: its connection is not used again. What the part holds since its last fsync
// stays in it, so it gets one more fsync. SQLite's database file itself is not opened here: closing it would drop the
// locks of other connections of this process, and every commit since the last fsync is in the WAL.
void Writer::leave_part() {
  left_ = {db_->change(), db_->path(), {}, committed_seq_};
  if (left_.change == PartChange::kSyncFailed) {
    // What the part before was to store again waits for the first commit of this one.
    auto frames = opening_.empty() ? db_->not_durable() : Result<std::vector<FrameRecord>>(opening_);
    if (frames.ok()) {
      left_.again = std::move(*frames);
      std::erase_if(left_.again, [this](const FrameRecord& frame) { return frame.seq > committed_seq_; });
      left_.seq = std::max(db_->durable_seq(), part_before_.seq);
    }
  }
  if (left_.change == PartChange::kPinned) pinned_parts_.push_back(left_.path);
  const std::string written = db_->kind() == StoreFiles::kFrames ? left_.path : left_.path + "-wal";
  db_.reset();
  if (left_.change != PartChange::kSyncFailed && file_kind(written) == FileKind::kPlain) sync_path(written);
}

// For a part that this process cannot open again.
void Writer::leave_unreadable_part(const std::string& path) {
  left_ = {PartChange::kUnreadable, path, {}, committed_seq_};
}

// Where the run continues. While another process recovers the journal nothing is stored: kBusy. A disk that is slow to
// open the files keeps the store thread alone: drains go on, into frames that get other numbers here.
Status Writer::plan_next_part() {
  uint64_t doubts = 0;  // a recoverer that comes after this raises another one
  {
    const std::lock_guard<std::mutex> drain(drain_mutex_);
    if (!hold_journal()) return Status(Code::kBusy, "another process recovers this run");
    doubts = journal_->doubts();
  }
  const std::vector<PartFile> parts = parts_of(left_.path);
  const int next = std::max(part_, parts.empty() ? 0 : parts.back().number) + 1;
  if (next > kPartsMax)
    return Status(Code::kLimit, fmt::format("{} {}, and this writer has {} parts", left_.path,
                                            part_change_text(left_.change), kPartsMax));
  auto reader = reader_of(left_.path);
  if (!reader.ok()) return reader.status();
  auto there = *reader ? (*reader)->snapshot() : Result<WriterSnapshot>(WriterSnapshot());
  if (there.status().code() == Code::kCorrupt) there = WriterSnapshot();
  if (!there.ok()) return there.status();
  // After a failed fsync frames of our own may be there that its COMMIT did not confirm.
  const bool foreign = left_.change != PartChange::kSyncFailed && there->last_seq > committed_seq_;
  std::vector<Event> stored;
  if (foreign) TRACKER_RETURN_IF_ERROR(read_in_no_ring(reader->get(), committed_seq_, *there, &stored));
  const std::lock_guard<std::mutex> drain(drain_mutex_);
  if (foreign) (void)journal_->check_links();  // the other process has removed some of its files
  Logged gone;
  std::vector<Frame> state;
  {
    const std::lock_guard<std::mutex> together(hand_over_mutex_);
    const std::lock_guard<std::mutex> guard(mutex_);
    if (foreign) take_over_counts(*there, std::move(stored));
    else gone = count_gone(*there);
    part_before_ = counts_before(*there, foreign);
    state = state_frames(gone, foreign, *there);
  }
  std::vector<FrameRecord> records = left_.again;
  uint64_t number = std::max(next_seq_, there->last_seq + 1);
  for (Frame& frame : state) {
    frame.writer = identity_.writer;
    frame.seq = number++;
    records.push_back({frame.seq, encode_frame(frame), {}});
  }
  FrameRecord* first = &records.front();
  std::vector<RingPosition> positions = positions_;
  if (left_.change == PartChange::kSyncFailed) {  // readers may have seen what waits: it keeps its numbers
    journal_->say_number(number - 1);
    next_seq_ = number;
    if (left_.again.empty() && !queue_.empty()) {
      first = &queue_.front()->record;
      for (const RingPosition& position : first->positions) set_position(position, &positions);
    }
  } else {
    TRACKER_RETURN_IF_ERROR(renumber_queue(number));
  }
  // With the first one: rings are read on from there even where a death cuts an append to a .frames file short.
  first->positions = std::move(positions);
  opening_ = std::move(records);
  if (foreign) journal_->settle(doubts);
  part_ = next;
  if (foreign) {
    journal_->add_note(Value::Map{{"kind", "went_on"}});
    (void)drain_once(drained_all_);
  }
  const bool is_disk = left_.change == PartChange::kSyncFailed;  // one line for all parts of a disk that fails
  say_once_.say(is_disk ? "fsync" : fmt::format("part {}", next), change_line(left_.path, left_.change, next, gone));
  left_ = {};
  changed_.notify_all();
  return {};
}

// Under mutex_. What the parts up to now should hold, by this process's own counts, which a recovery changes.
PartsBefore Writer::counts_before(const WriterSnapshot& there, bool foreign) const {
  PartsBefore out;
  out.seq = foreign ? there.last_seq : left_.seq;
  out.points = points_stored_ - std::min(points_stored_, samples_stored()) + points_removed_;
  out.texts = texts_stored_ + texts_removed_;
  out.dropped = dropped_stored_;
  out.log_points = foreign ? there.end_of_log().points
                           : std::accumulate(removed_by_series_.begin(), removed_by_series_.end(), points_stored_);
  for (const FrameRecord& record : left_.again) {  // they are stored again in the next part
    const auto frame = decode_frame(record.bytes);
    if (!frame.ok()) continue;
    for (const SeriesPoints& each : points_by_series(*frame)) {
      out.log_points -= std::min<uint64_t>(out.log_points, each.points);
      if (!sample_series_.contains(each.series)) out.points -= std::min<uint64_t>(out.points, each.points);
    }
    out.texts -= std::min(out.texts, frame->texts());
    out.dropped -= std::min(out.dropped, dropped_points(frame->losses));
  }
  return out;
}

// Under mutex_. What this process has stored and the parts do not hold any more is counted as dropped.
Logged Writer::count_gone(const WriterSnapshot& there) {
  Logged gone;
  std::vector<uint64_t> held(stored_by_series_.size());
  for (const SeriesStats& series : there.series)
    if (series.def.id < held.size()) held[series.def.id] = series.points;
  uint64_t texts = there.texts(), points = 0;
  if (there.last_seq < committed_seq_)
    for (const FrameRecord& record : left_.again) {
      const auto frame = decode_frame(record.bytes);
      if (!frame.ok()) continue;
      for (const SeriesPoints& each : points_by_series(*frame))
        if (each.series < held.size()) held[each.series] += each.points;
      texts += frame->texts();
    }
  removed_by_series_.resize(stored_by_series_.size());
  for (size_t series = 0; series < held.size(); ++series) {
    const uint64_t lost = stored_by_series_[series] - std::min(stored_by_series_[series], held[series]);
    stored_by_series_[series] -= lost;
    removed_by_series_[series] += lost;
    points += lost;
    if (!sample_series_.contains(static_cast<uint32_t>(series))) gone.points += lost;
  }
  gone.texts = texts_stored_ - std::min(texts_stored_, texts);
  points_stored_ -= std::min(points_stored_, points);
  texts_stored_ -= gone.texts;
  points_removed_ += gone.points;
  texts_removed_ += gone.texts;
  if (points_removed_ + texts_removed_ > 0)
    lost_text_ = change_line(left_.path, left_.change, part_ + 1, {points_removed_, texts_removed_});
  return gone;
}

// Under mutex_ and hand_over_mutex_: what is stored is counted, and only spilled frames that are not stored stay in the
// queue. The rings are drained again. `stored`: the notes and the like that the other process has stored.
void Writer::take_over_counts(const WriterSnapshot& there, std::vector<Event> stored) {
  std::vector<RingPosition> known = there.positions;
  std::deque<std::shared_ptr<Queued>> kept;
  std::vector<Event> events;
  for (const auto& queued : queue_) {
    auto frame = decode_frame(queued->record.bytes);
    if (!frame.ok()) continue;  // made by this process, just now
    if (queued->was_spilled && !is_stored(queued->record, there.positions)) {
      queued->spilled = false;
      for (const RingPosition& position : queued->record.positions) set_position(position, &known);
      kept.push_back(queued);
      continue;
    }
    take_samples_back(*frame, there);
    for (Event& event : frame->events) {
      if (!is_in_no_ring(event)) continue;
      const auto found =
          std::find_if(stored.begin(), stored.end(), [&event](const Event& other) { return is_same(event, other); });
      if (found == stored.end()) events.push_back(std::move(event));
      else stored.erase(found);
    }
  }
  journal_->rewind(known, kept.empty() ? defined_ : 0);
  std::deque<LargeEvent> again;
  for (const Event& event : events) again.push_back({event});
  large_taken_.insert(large_taken_.end(), again.begin(), again.end());  // from here on nothing fails
  for (const Event& event : events) large_bytes_ += event.payload.size();
  large_waiting_ += events.size();
  journal_->spill().clear();
  queue_ = std::move(kept);
  queue_bytes_ = 0;
  for (const auto& queued : queue_) queue_bytes_ += queued->record.bytes.size();
  committed_seq_ = there.last_seq;
  spilled_seq_ = 0;
  positions_ = there.positions;
  std::fill(stored_by_series_.begin(), stored_by_series_.end(), 0);
  for (const SeriesStats& series : there.series) {
    if (series.def.id >= stored_by_series_.size()) stored_by_series_.resize(series.def.id + size_t{1});
    stored_by_series_[series.def.id] = series.points;
  }
  points_stored_ = there.points;
  texts_stored_ = there.texts();
  dropped_stored_ = there.dropped - std::min(there.dropped, there.missing.points);
  bytes_stored_ = there.frame_bytes;
}

// Under drain_mutex_: the frames that wait get the numbers from `first` on. The spill file holds them with their old
// numbers until the first transaction stores all of them (store_round). Encoding takes long and is done without
// mutex_: the drain thread, which appends to the queue, waits for drain_mutex_, and this thread alone removes frames.
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
  const std::lock_guard<std::mutex> guard(mutex_);
  for (size_t i = 0; i < again.size(); ++i) {
    FrameRecord& record = queue_[i]->record;
    queue_bytes_ += again[i].size() - record.bytes.size();
    record.bytes = std::move(again[i]);
    record.seq = first + i;
  }
  next_seq_ = next;
  return {};
}

// Under drain_mutex_ and mutex_: without numbers, each no larger than a frame of a drain. What those have not defined,
// frames that still wait will define. An end that went with its part is repeated.
std::vector<Frame> Writer::state_frames(const Logged& gone, bool foreign, const WriterSnapshot& there) {
  std::vector<Frame> out;
  FrameBuilder builder;
  for (SeriesDef& series : journal_->definitions()) {
    if (series.id > defined_) break;
    if (builder.series_held() >= kSeriesAFrame) out.push_back(builder.take());
    builder.add_series(std::move(series));
  }
  for (const Attribute& attribute : state_.attributes()) {
    if (builder.approximate_bytes() >= kBytesAFrame) out.push_back(builder.take());
    builder.add_event(attribute.type, 0, false, attribute.time_us, encode_cbor(state_payload(attribute)));
  }
  Value note = Value::Map{{"kind", "next_part"}, {"points", static_cast<int64_t>(gone.points)}};
  if (gone.texts > 0) note.set("texts", static_cast<int64_t>(gone.texts));
  builder.add_event(EventType::kNote, 0, false, realtime_us(), encode_cbor(note));
  const bool is_last = queue_.empty() || left_.change == PartChange::kSyncFailed;  // the frames that wait come before
  if (!foreign && drained_all_ && is_last && !there.end)
    builder.add_event(EventType::kEnd, 0, false, realtime_us(), end_record_);
  out.push_back(builder.take());
  return out;
}

}  // namespace tracker::internal
