// SPDX-License-Identifier: MIT
// What waits for the drain thread and passes through no ring: values too large for one, samples of the system, and
// facts of the environment (decision 0020). Threads: any; take() to put_back() by the drain thread, or while its rounds
// are stopped. Cost: a short lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "journal/live/journal.h"
#include "pipeline/lock_order.h"
#include "pipeline/memory_bounds.h"

namespace tracker::internal {

// Too large for a ring.
struct LargeEvent {
  Event event;
  uint64_t tick = 0;  // when it was logged; 0: its time is known
};

// Values of the system at one moment.
struct Sample {
  int64_t time_us = 0;
  std::vector<ValuePair> pairs;
};

class DrainInbox {
 public:
  enum class Answer { kTaken, kClosed, kNoRoom, kNoSharedRoom };
  explicit DrainInbox(Journal* journal) : journal_(journal) {}

  // `waiting`: what waits beside it, asked just before; `value.overhead` and `waiting.large` are filled here.
  Answer push_large(LargeEvent event, LargeValue value, WaitingBytes waiting);
  Answer push_sample(Sample sample);
  // `bounded` false: it waits for no room.
  Answer push_fact(EventType type, std::string payload, bool bounded = true);
  // Everything is refused from now on. What is in it waits for the last drain.
  void close();
  bool is_closed() const { return closed_.load(); }

  size_t large_bytes() const { return large_bytes_.load(); }
  size_t large_waiting() const { return large_waiting_.load(); }
  uint64_t large_texts() const { return large_texts_.load(); }  // all that were ever taken
  void add_pending(SeriesCounts* counts) const;                 // points of samples that are in no frame

  // Starts a drain of the rings too: a value that was logged before one of a ring comes before it. Appends to `large`.
  void take(std::deque<LargeEvent>* large);
  // After all definitions and all rings.
  void add_monitored(FrameBuilder* builder) const;
  // Their frame is in the queue.
  void forget_monitored();
  void forget_large(size_t count, size_t bytes);
  // They were in frames that are discarded; the large ones are in the drain thread's hands again.
  void put_back(std::vector<Sample> samples, size_t large_count, size_t large_bytes);

 private:
  Journal* const journal_;
  mutable std::mutex mutex_;
  std::atomic<bool> closed_{false};
  std::deque<LargeEvent> large_;
  std::atomic<size_t> large_bytes_{0}, large_waiting_{0};  // with those that the drain thread has, not yet in a frame
  std::atomic<uint64_t> large_texts_{0};
  std::deque<Sample> samples_, samples_taken_;  // not yet in a frame; taken: by the drain that goes on
  std::deque<Event> facts_, facts_taken_;       // likewise
  size_t facts_bytes_ = 0;
};

}  // namespace tracker::internal
