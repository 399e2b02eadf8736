// SPDX-License-Identifier: MIT
// Hands out the events of a log, each once and in order, wherever it is compacted meanwhile: a segment says of each
// event which frame it came with. Threads: one at a time. Cost: decodes no column.
#pragma once

#include <functional>

#include "storage/log/log_visitor.h"

namespace tracker::internal {

class EventVisitor : public LogVisitor {
 public:
  using Take = std::function<void(const Event&)>;
  // The events of the frames after `after`, up to `last`.
  EventVisitor(uint64_t after, uint64_t last, Take take);

  Result<bool> frame(const FrameView& frame) override;
  Result<bool> segment(SegmentView* segment, PointRange* wanted) override;

 private:
  uint64_t after_;  // moves with what was handed out
  const uint64_t last_;
  const Take take_;
};

}  // namespace tracker::internal
