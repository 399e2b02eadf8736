// SPDX-License-Identifier: MIT
// A run whose journal another process has recovered, because it took this one for dead (src/journal/owner_lock.h says
// how that is prevented), goes on behind what that process has stored. What is stored is known exactly: by the ring
// positions that are committed with the frames. All else is still in the rings, or in spilled frames in the queue.
#include <algorithm>

#include "base/fs.h"
#include "model/key.h"
#include "run/writer.h"
#include "storage/frames_log.h"
#include "storage/writer_reader.h"

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

}  // namespace

// Behind a failure of the store. While the other process is still at work nothing is stored; then its lock is free, or
// the lock file is gone, and nobody recovers this journal any more.
bool Writer::go_on_behind_recovery() {
  if (!db_ || !db_->taken_over()) return false;
  const std::lock_guard<std::mutex> drain(drain_mutex_);
  if (!journal_->hold_lock()) return false;
  const std::string path = join_path(parent_path(db_->path()), identity_.writer.hex() + ".db");
  db_.reset();
  if (!open_database().ok()) return false;
  auto reader = WriterReader::open(path);
  if (!reader.ok()) return false;
  const auto there = (*reader)->snapshot();
  if (!there.ok() || there->last_seq != db_->last_seq()) return false;
  (void)journal_->check_links();  // what the other process has removed
  {
    const std::lock_guard<std::mutex> together(hand_over_mutex_);
    const std::lock_guard<std::mutex> guard(mutex_);
    queue_behind(*there);
  }
  journal_->add_note(Value::Map{{"kind", "went_on"}});
  (void)drain_once(drained_all_);
  say_once_.say(
      "taken over",
      "another process took this one for dead and has stored what it had logged; the run goes on behind that");
  changed_.notify_all();
  return true;
}

// Under mutex_ and hand_over_mutex_: what is stored is counted, and only spilled frames that are not stored stay in the
// queue, under the numbers that come next. The rings are drained again behind both.
void Writer::queue_behind(const WriterSnapshot& there) {
  std::vector<RingPosition> known = there.positions;
  std::deque<std::shared_ptr<Queued>> kept;
  std::vector<Event> events;
  uint64_t seq = there.last_seq;
  for (const auto& queued : queue_) {
    auto frame = decode_frame(queued->record.bytes);
    if (!frame.ok()) continue;  // made by this process, just now
    if (queued->spilled && !is_stored(queued->record, there.positions)) {
      frame->seq = queued->record.seq = ++seq;
      queued->record.bytes = encode_frame(*frame);
      queued->spilled = false;
      for (const RingPosition& position : queued->record.positions) set_position(position, &known);
      kept.push_back(queued);
      continue;
    }
    take_samples_back(*frame);
    for (Event& event : frame->events)
      if (is_in_no_ring(event)) events.push_back(std::move(event));
  }
  journal_->rewind(known, kept.empty() ? defined_ : 0);
  large_taken_.insert(large_taken_.end(), events.begin(), events.end());  // from here on nothing fails
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
  bytes_stored_ = there.frame_bytes;
}

}  // namespace tracker::internal
