// SPDX-License-Identifier: MIT
#include "storage/writer/append_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codec/cut_segment.h"
#include "storage/writer/part_reader.h"

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

// Compares the frames of a log with those to be appended under the same numbers.
class RepeatVisitor : public LogVisitor {
 public:
  std::map<uint64_t, std::string_view> repeats;  // by number
  uint64_t differing = 0;

  Result<bool> frame(const FrameView& frame) override {
    const auto repeat = repeats.find(frame.seq());
    if (repeat != repeats.end() && repeat->second != frame.bytes()) ++differing;
    return true;
  }
  Result<bool> segment(SegmentView*, PointRange*) override { return true; }
};

// `known`: units whose first number is in the file at `path`, or in a part before it.
Result<AppendedLog> check_known(const std::string& path, std::span<const LogUnit> known) {
  auto reader = PartReader::open(path);
  if (!reader.ok()) return reader.status();
  const auto check_writer = [&](uint64_t seq, const Id128& writer) {
    if (writer == (*reader)->identity().writer) return Status();
    return Status(Code::kInvalid, fmt::format("{}: frame {} is of writer {}", path, seq, writer.hex()));
  };
  RepeatVisitor visitor;
  for (const LogUnit& unit : known) {
    if (unit.frame == nullptr) {
      const auto view = SegmentView::parse(unit.segment);
      if (!view.ok()) return view.status();
      TRACKER_RETURN_IF_ERROR(check_writer(view->first_seq(), view->writer()));
      continue;
    }
    const auto view = FrameView::parse(unit.frame->bytes);
    if (view.ok()) TRACKER_RETURN_IF_ERROR(check_writer(unit.frame->seq, view->writer()));
    if (view.ok() && view->seq() == unit.frame->seq) visitor.repeats[unit.frame->seq] = unit.frame->bytes;
    else ++visitor.differing;
  }
  if (!visitor.repeats.empty()) {
    LogPosition at{visitor.repeats.begin()->first - 1, 0};
    TRACKER_RETURN_IF_ERROR((*reader)->read(&at, {visitor.repeats.rbegin()->first, 0}, &visitor, nullptr));
  }
  return AppendedLog{visitor.differing};
}

}  // namespace

Result<AppendedLog> append_log(WriterStore* log, std::span<const LogUnit> units, bool durable) {
  const uint64_t last = log->last_seq();
  const auto is_known = [last](const LogUnit& unit) {
    if (unit.frame != nullptr) return unit.frame->seq <= last;
    const auto view = SegmentView::parse(unit.segment);
    return view.ok() && view->first_seq() <= last;
  };
  const auto fresh = std::find_if_not(units.begin(), units.end(), is_known);
  AppendedLog out;
  if (fresh != units.begin()) {
    auto known = check_known(log->path(), {units.begin(), fresh});
    if (!known.ok()) return known.status();
    out = *known;
  }
  std::vector<const FrameRecord*> frames;
  for (const LogUnit& unit : units) {
    if (unit.frame != nullptr) {
      if (unit.frame->seq > last) frames.push_back(unit.frame);
      continue;
    }
    if (!frames.empty()) TRACKER_RETURN_IF_ERROR(log->append_batch(frames, false));
    frames.clear();
    TRACKER_RETURN_IF_ERROR(append_segment(log, unit.segment));
  }
  if (!frames.empty() || durable) TRACKER_RETURN_IF_ERROR(log->append_batch(frames, durable));
  return out;
}

Result<AppendedLog> append_log(WriterStore* log, const std::vector<FrameRecord>& frames, bool durable) {
  std::vector<LogUnit> units;
  for (const FrameRecord& frame : frames) units.push_back({&frame, {}});
  return append_log(log, units, durable);
}

}  // namespace tracker::internal
