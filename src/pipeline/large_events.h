// SPDX-License-Identifier: MIT
// Values too large for a ring that the drain thread has taken and that are in no frame yet, in the order of their time.
// Threads: one at a time.
#pragma once

#include <deque>
#include <vector>

#include "codec/frame.h"
#include "pipeline/drain_inbox.h"

namespace tracker::internal {

// Gives a frame the first `count` events while it is encoded, without a second copy of their bytes: they go back to
// their lenders when this ends, whether the frame was kept or not. `by_time`: between the events of the frame, by their
// times; else before them.
class LentEvents {
 public:
  LentEvents(std::deque<LargeEvent>* lenders, size_t count, bool by_time, Frame* frame);
  ~LentEvents();
  LentEvents(const LentEvents&) = delete;
  LentEvents& operator=(const LentEvents&) = delete;

 private:
  void swap() noexcept;
  std::deque<LargeEvent>& lenders_;
  Frame& frame_;
  std::vector<size_t> places_;
};

// By the ticks of this drain, as the records of the rings: the order in which a thread logged both is kept.
void sort_by_time(const Journal& journal, std::deque<LargeEvent>* events);

// How many of the events belong in a frame whose newest record is of `newest_us`; the others come with a later one. Of
// the same microsecond the large one is the earlier: its tick was taken when it had been encoded.
size_t count_until(const std::deque<LargeEvent>& events, int64_t newest_us);

// The newest time of what a frame has from the rings; notes are the drain thread's own.
int64_t newest_us(const Frame& frame);

}  // namespace tracker::internal
