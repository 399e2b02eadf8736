// SPDX-License-Identifier: MIT
// One drain: what is in the rings and in the inbox becomes frames of the queue.
#include <algorithm>

#include "base/clock.h"
#include "journal/ring/frame_builder.h"
#include "pipeline/drain_thread.h"

namespace tracker::internal {

// False when not all was taken, because too much waits for the disk.
bool DrainThread::drain(bool last) {
  if (!last && pipeline_.queue_is_full()) return false;
  // More would go from the rings to the disk than it had room for when it was measured. The store thread measures it
  // again, and until then the rings' own policy bounds what comes: a commit may take seconds.
  const bool bounded = pipeline_.disk.max_bytes() > 0 && pipeline_.disk.room() == DiskRoom::kEnough;
  if (!last && bounded && !queue_.take_disk(journal_.waiting_bytes(0))) return false;
  logged_since_ = queue_.drained();  // the drain before this one took what had been logged until then
  inbox_.take(&large_);              // after those of a drain that failed
  sort_by_time(journal_, &large_);
  for (bool more = true; more;) {
    if (!last && pipeline_.queue_is_full()) return false;  // the rest is drained again, as after a failure
    FrameBuilder builder(&spare_blocks_);
    std::vector<RingPosition> positions;
    more = journal_.next_frame(&builder, &positions);
    if (!more) {
      if (!keep_large(last)) return false;
      inbox_.add_monitored(&builder);
      if (last) builder.add_event(EventType::kEnd, 0, false, journal_.now_us(), queue_.end_record());
    }
    Frame frame = builder.take();
    const size_t large = more ? count_until(large_, newest_us(frame)) : large_.size();
    if (frame.empty() && positions.empty() && large == 0) break;
    keep(std::move(frame), std::move(positions), large, !more);
  }
  return true;
}

// Those after all that the rings have, in frames of their own but for the last ones: what is made of a frame until it
// is stored takes several times its bytes. False when the queue is full.
bool DrainThread::keep_large(bool last) {
  for (;;) {
    size_t count = 0, bytes = 0;
    for (; count < large_.size(); ++count) {
      bytes += large_[count].event.payload.size();
      if (count > 0 && bytes > kBytesALiveFrame) break;
    }
    if (count == large_.size()) return true;
    if (!last && pipeline_.queue_is_full()) return false;
    keep({}, {}, count, false);
  }
}

// A frame with the first `large` of those that were taken goes into the queue.
void DrainThread::keep(Frame frame, std::vector<RingPosition> positions, size_t large, bool last_of_drain) {
  const auto end = large_.begin() + static_cast<ptrdiff_t>(large);
  {
    // By time, but for the last frame of a drain: there they are before what the writer itself records.
    const LentEvents lent(&large_, large, !last_of_drain, &frame);
    const auto texts =
        std::count_if(large_.begin(), end, [](const LargeEvent& each) { return each.event.type == EventType::kText; });
    enqueue(&frame, std::move(positions), static_cast<uint64_t>(texts), last_of_drain);
  }
  size_t bytes = 0;
  std::for_each(large_.begin(), end, [&bytes](const LargeEvent& each) { bytes += each.event.payload.size(); });
  inbox_.forget_large(large, bytes);
  large_.erase(large_.begin(), end);
}

void DrainThread::enqueue(Frame* made, std::vector<RingPosition> positions, uint64_t large_texts, bool last_of_drain) {
  Frame& frame = *made;
  frame.writer = writer_;
  frame.seq = queue_.next_seq();  // no other thread counts while a round goes on
  auto waiting = std::make_shared<WaitingFrame>();
  waiting->record = {frame.seq, encode_frame(frame), std::move(positions)};
  // It was made with room for plain columns, and may wait for long. A frame of texts is of the size it was made for:
  // it would be copied for nothing.
  std::string& bytes = waiting->record.bytes;
  if (bytes.capacity() > bytes.size() + bytes.size() / 8) bytes.shrink_to_fit();
  note_memory(frame, bytes.capacity());
  waiting->counts = counts_of(frame);
  waiting->counts.bytes = bytes.size();
  waiting->large_texts = large_texts;
  for (const Loss& loss : frame.losses)
    if (loss.series != 0 && loss.reason == LossReason::kRingFull)
      pipeline_.warnings.warn_once("ring full",
                                   "more is logged than can be stored in time: points that find the ring full are "
                                   "dropped and counted (status() has the counts; on_full=\"block\" waits instead)");
  if (!frame.defs.empty()) waiting->defined = frame.defs.back().id;
  waiting->since = std::chrono::steady_clock::now();
  waiting->logged_since = logged_since_;
  journal_.say_number(frame.seq);
  {
    const auto together = queue_.hand_over();
    queue_.push(std::move(waiting), frame.events);
    if (last_of_drain) inbox_.forget_monitored();
    journal_.frame_kept();
  }
  queue_.notify();
  spare_blocks_.give(std::move(frame.blocks));
}

// While a frame is made: its columns and its bytes, which are not in the queue yet.
void DrainThread::note_memory(const Frame& frame, size_t bytes) {
  size_t cells = 0;
  for (const Block& block : frame.blocks) cells += block.rows() * (block.series.size() + 3);
  pipeline_.meter.note_memory(pipeline_.cost().memory_bytes + cells * sizeof(uint64_t) + bytes);
}

void DrainThread::put_back(std::vector<Sample> samples, std::vector<Event> events,
                           const std::function<void()>& take_over) {
  std::deque<LargeEvent> large = large_;
  size_t bytes = 0;
  for (Event& event : events) {
    bytes += event.payload.size();
    large.push_back({std::move(event)});
  }
  take_over();
  large_.swap(large);
  inbox_.put_back(std::move(samples), events.size(), bytes);
  spilled_seq_ = 0;
}

}  // namespace tracker::internal
