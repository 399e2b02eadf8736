// SPDX-License-Identifier: MIT
// What a log says of all that the small tables say, for a reader whose tables are damaged. Threads: one. Cost: decodes
// every column.
#pragma once

#include <cstdint>

#include "storage/log/event_state.h"
#include "storage/log/log_visitor.h"
#include "storage/log/series_stats.h"

namespace tracker::internal {

class LogState : public LogVisitor {
 public:
  Result<bool> frame(const FrameView& frame) override;
  Result<bool> segment(SegmentView* segment, PointRange* wanted) override;

  SeriesMap series;
  EventState events;
  uint64_t frames = 0, points = 0;  // that were read whole

 private:
  void add(const SeriesMap& later);
};

}  // namespace tracker::internal
