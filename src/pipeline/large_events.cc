// SPDX-License-Identifier: MIT
#include "pipeline/large_events.h"

#include <algorithm>

namespace tracker::internal {

LentEvents::LentEvents(std::deque<LargeEvent>* lenders, size_t count, bool by_time, Frame* frame)
    : lenders_(*lenders), frame_(*frame) {
  if (count == 0) return;
  std::vector<Event> own = std::move(frame->events);
  std::vector<Event> all;
  all.reserve(own.size() + count);
  places_.reserve(count);
  const auto lend_until = [&](int64_t time_us) {
    for (; places_.size() < count; places_.push_back(all.size() - 1)) {
      const Event& next = lenders_[places_.size()].event;
      if (next.time_us > time_us) return;
      all.push_back({next.type, next.has_step, next.step, next.time_us, {}});
    }
  };
  if (by_time)
    std::stable_sort(own.begin(), own.end(), [](const Event& a, const Event& b) { return a.time_us < b.time_us; });
  for (Event& event : own) {
    lend_until(by_time ? event.time_us : INT64_MAX);
    all.push_back(std::move(event));
  }
  lend_until(INT64_MAX);
  frame->events = std::move(all);
  swap();
}

LentEvents::~LentEvents() { swap(); }

void LentEvents::swap() noexcept {
  for (size_t i = 0; i < places_.size(); ++i) frame_.events[places_[i]].payload.swap(lenders_[i].event.payload);
}

void sort_by_time(const Journal& journal, std::deque<LargeEvent>* events) {
  for (LargeEvent& large : *events)
    if (large.tick != 0) large.event.time_us = journal.wall_us(large.tick);
  std::stable_sort(events->begin(), events->end(),
                   [](const LargeEvent& a, const LargeEvent& b) { return a.event.time_us < b.event.time_us; });
}

size_t count_until(const std::deque<LargeEvent>& events, int64_t newest) {
  const auto end = std::find_if(events.begin(), events.end(),
                                [newest](const LargeEvent& large) { return large.event.time_us > newest; });
  return static_cast<size_t>(end - events.begin());
}

int64_t newest_us(const Frame& frame) {
  int64_t newest = INT64_MIN;
  for (const Block& block : frame.blocks)
    if (block.rows() > 0) newest = std::max(newest, block.times_us.back());
  for (const Event& event : frame.events)
    if (event.type != EventType::kNote) newest = std::max(newest, event.time_us);
  return newest;
}

}  // namespace tracker::internal
