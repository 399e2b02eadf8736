// SPDX-License-Identifier: MIT
#include "query/rows/event_visitor.h"

#include <algorithm>
#include <utility>

namespace tracker::internal {

EventVisitor::EventVisitor(uint64_t after, uint64_t last, Take take)
    : after_(after), last_(last), take_(std::move(take)) {}

Result<bool> EventVisitor::frame(const FrameView& frame) {
  if (frame.seq() > last_) return false;
  if (frame.seq() > after_) std::for_each(frame.events().begin(), frame.events().end(), take_);
  after_ = std::max(after_, frame.seq());
  return true;
}

Result<bool> EventVisitor::segment(SegmentView* segment, PointRange*) {
  SegmentLog log;
  TRACKER_RETURN_IF_ERROR(segment->log(&log));
  for (size_t i = 0; i < log.events.size(); ++i)
    if (log.event_seqs[i] > after_ && log.event_seqs[i] <= last_) take_(log.events[i]);
  after_ = std::max(after_, std::min(last_, segment->last_seq()));
  return true;
}

}  // namespace tracker::internal
