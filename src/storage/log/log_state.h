// SPDX-License-Identifier: MIT
// Computes from a log everything that the small tables hold, for a reader whose tables are damaged. Threads: one. Cost:
// decodes every column.
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
  uint64_t frames = 0, points = 0;  // that were read completely

 private:
  void add(const SeriesMap& later);
};

}  // namespace tracker::internal
