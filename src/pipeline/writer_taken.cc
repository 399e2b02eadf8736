// SPDX-License-Identifier: MIT
// A run whose journal another process has recovered, because it took this one for dead (src/journal/owner_lock.h says
// how that is prevented), goes on behind what that process has stored. What is stored is known exactly: by the ring
// positions that are committed with the frames. All else is still in the rings, or in spilled frames in the queue.
#include <algorithm>

#include "base/fs.h"
#include "model/key.h"
#include "pipeline/writer.h"
#include "query/event_visitor.h"
#include "storage/frames/frames_log.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

bool is_stored(const FrameRecord& record, const std::vector<RingPosition>& stored) {
  return std::all_of(record.positions.begin(), record.positions.end(), [&stored](const RingPosition& position) {
    return std::any_of(stored.begin(), stored.end(), [&position](const RingPosition& p) {
      return p.nonce == position.nonce && p.position >= position.position;
    });
  });
}

// What is in no ring: too large for one, or said by the writer itself. The end is said again by the drain.
bool is_in_no_ring(const Event& event) {
  return event.type == EventType::kNote || event.type == EventType::kEnvironment ||
         event.payload.size() > kInlineTextBytesMax;
}

// Its .frames file was made a database of, as is done with those of dead writers.
bool was_built(const WriterStore& store) {
  return store.kind() == StoreFiles::kFrames && store.removed() && is_frames_path(store.path()) &&
         is_whole_database(db_path_of(store.path()));
}

bool is_same(const Event& a, const Event& b) {
  return a.type == b.type && a.time_us == b.time_us && a.has_step == b.has_step && a.step == b.step &&
         a.payload == b.payload;
}

// What the other process has stored of that, out of the spill file.
Status read_said(WriterReader* reader, uint64_t after, const WriterSnapshot& there, std::vector<Event>* out) {
  auto at = reader->place_of(after);
  if (!at.ok()) return at.status();
  EventVisitor visitor(after, there.last_seq, [out](const Event& event) {
    if (is_in_no_ring(event)) out->push_back(event);
  });
  return reader->read(&*at, there.end_of_log(), &visitor);
}

}  // namespace

// Behind a failure of the store. While the other process is still at work nothing is stored; then its lock is free, or
// the lock file is gone, and nobody recovers this journal any more. A disk that is slow to open the files keeps the
// store thread alone: drains go on, into frames that get other numbers here.
bool Writer::go_on_behind_recovery() {
  taken_over_ = taken_over_ || (db_ && (db_->taken_over() || was_built(*db_)));
  if (!taken_over_) return false;
  uint64_t doubts = 0;  // a recoverer that comes behind this raises another one
  {
    const std::lock_guard<std::mutex> drain(drain_mutex_);
    if (!hold_journal()) return false;
    doubts = journal_->doubts();
  }
  db_.reset();
  if (!open_database().ok()) return false;
  if (!opening_.empty()) return !(taken_over_ = false);  // nothing was added, something went
  auto reader = WriterReader::open(join_path(parent_path(db_->path()), identity_.writer.hex() + ".db"));
  if (!reader.ok()) reader = WriterReader::open(db_->path());  // a .frames file
  if (!reader.ok()) return false;
  const auto there = (*reader)->snapshot();
  if (!there.ok() || there->last_seq != db_->last_seq()) return false;
  std::vector<Event> said;
  if (!read_said(reader->get(), committed_seq_, *there, &said).ok()) return false;
  const std::lock_guard<std::mutex> drain(drain_mutex_);
  (void)journal_->check_links();  // what the other process has removed
  {
    const std::lock_guard<std::mutex> together(hand_over_mutex_);
    const std::lock_guard<std::mutex> guard(mutex_);
    queue_behind(*there, std::move(said));
    journal_->settle(doubts);
  }
  taken_over_ = false;
  journal_->add_note(Value::Map{{"kind", "went_on"}});
  (void)drain_once(drained_all_);
  say_once_.say(
      "taken over",
      "another process took this one for dead and has stored what it had logged; the run goes on behind that");
  changed_.notify_all();
  return true;
}

// Under mutex_ and hand_over_mutex_: what is stored is counted, and only spilled frames that are not stored stay in the
// queue, under the numbers that come next. The rings are drained again behind both. `said`: what is stored of notes
// and the like.
void Writer::queue_behind(const WriterSnapshot& there, std::vector<Event> said) {
  std::vector<RingPosition> known = there.positions;
  std::deque<std::shared_ptr<Queued>> kept;
  std::vector<Event> events;
  uint64_t seq = there.last_seq;
  for (const auto& queued : queue_) {
    auto frame = decode_frame(queued->record.bytes);
    if (!frame.ok()) continue;  // made by this process, just now
    if (queued->was_spilled && !is_stored(queued->record, there.positions)) {
      frame->seq = queued->record.seq = ++seq;
      queued->record.bytes = encode_frame(*frame);
      queued->spilled = false;
      for (const RingPosition& position : queued->record.positions) set_position(position, &known);
      kept.push_back(queued);
      continue;
    }
    take_samples_back(*frame, there);
    for (Event& event : frame->events) {
      if (!is_in_no_ring(event)) continue;
      const auto found =
          std::find_if(said.begin(), said.end(), [&event](const Event& other) { return is_same(event, other); });
      if (found == said.end()) events.push_back(std::move(event));
      else said.erase(found);
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
  next_seq_ = seq + 1;
  committed_seq_ = there.last_seq;
  spilled_seq_ = 0;
  positions_ = there.positions;
  opening_.clear();
  lost_ = EventState();
  lost_.apply({}, there.losses);
  std::fill(stored_by_series_.begin(), stored_by_series_.end(), 0);
  for (const SeriesStats& series : there.series) {
    if (series.def.id >= stored_by_series_.size()) stored_by_series_.resize(series.def.id + size_t{1});
    stored_by_series_[series.def.id] = series.points;
  }
  points_stored_ = there.points;
  texts_stored_ = there.texts();
  alerts_ = KeptAlerts(there.alerts());
  bytes_stored_ = there.frame_bytes;
}

}  // namespace tracker::internal
