// SPDX-License-Identifier: MIT
#include "storage/writer/append_log.h"

#include "codec/cut_segment.h"

namespace tracker::internal {
namespace {

Status append_segment(WriterStore* log, std::string_view bytes) {
  auto view = SegmentView::parse(bytes);
  if (!view.ok()) return view.status();
  if (view->last_seq() <= log->last_seq()) return {};
  if (view->first_seq() > log->last_seq()) return log->append_segment(bytes);
  const auto halves = cut_segment(&*view, log->last_seq());
  return halves.ok() ? log->append_segment(halves->after) : halves.status();
}

}  // namespace

Status append_log(WriterStore* log, std::span<const LogUnit> units, bool durable) {
  std::vector<const FrameRecord*> frames;
  for (const LogUnit& unit : units) {
    if (unit.frame != nullptr) {
      frames.push_back(unit.frame);
      continue;
    }
    if (!frames.empty()) TRACKER_RETURN_IF_ERROR(log->append_batch(frames, false));
    frames.clear();
    TRACKER_RETURN_IF_ERROR(append_segment(log, unit.segment));
  }
  return frames.empty() && !durable ? Status() : log->append_batch(frames, durable);
}

Status append_log(WriterStore* log, const std::vector<FrameRecord>& frames, bool durable) {
  std::vector<LogUnit> units;
  for (const FrameRecord& frame : frames) units.push_back({&frame, {}});
  return append_log(log, units, durable);
}

}  // namespace tracker::internal
