// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "codec/segment.h"
#include "codec/segment_encode.h"
#include "codec/segment_rows.h"

namespace tracker::internal {
namespace {

size_t log_bytes(const SegmentLog& log) {
  size_t bytes = log.defs.size() * (sizeof(SeriesDef) + sizeof(uint64_t)) +
                 log.events.size() * (sizeof(Event) + sizeof(uint64_t)) +
                 log.losses.size() * (sizeof(Loss) + sizeof(uint64_t));
  for (const SeriesDef& def : log.defs) bytes += def.name.size();
  for (const Event& event : log.events) bytes += event.payload.size();
  return bytes;
}

SegmentLog log_of(const FrameView& frame) {
  const auto seqs = [&frame](const auto& list) { return std::vector<uint64_t>(list.size(), frame.seq()); };
  return {frame.defs(), frame.events(), frame.losses(), seqs(frame.defs()), seqs(frame.events()), seqs(frame.losses())};
}

// The memory that the rows of a frame or a segment need, computed before they are decoded.
struct Load {
  uint64_t frames = 0, rows = 0, cells = 0;
  size_t bytes = 0, columns = 0;
  void add(uint64_t n, std::span<const ValueType> types, bool has_steps, size_t shapes) {
    rows += n * shapes;
    cells += n * (types.size() + 3 * shapes);
    size_t row_bytes = (has_steps ? 24 : 16) * shapes;
    for (const ValueType type : types) row_bytes += value_width(type);
    bytes += n * row_bytes + (shapes - 1) * kSegmentRepeatBytes;
    columns += types.size();
  }
};

}  // namespace

struct SegmentBuilder::Impl {
  Id128 writer;
  size_t bytes_max = 0;
  SegmentParts parts;
  size_t log_held = 0;  // with the table of frames

  bool empty() const { return parts.frames.empty(); }

  Status check(const Id128& of, uint64_t first_seq, const Load& load, size_t log) const {
    if (!(of == writer)) return Status(Code::kInvalid, "segment: of another writer");
    if (!empty() && first_seq <= parts.frames.back().seq)
      return Status(Code::kInvalid,
                    fmt::format("segment: frame {} after frame {}", first_seq, parts.frames.back().seq));
    const SegmentRows& rows = parts.rows;
    const size_t held_max = empty() ? std::max(bytes_max, kSegmentFirstBytesMax) : bytes_max;
    const size_t columns = empty() ? 0 : load.columns * kSegmentColumnBytes;  // at most so many are new
    const size_t table = load.frames * sizeof(SegmentFrame);
    if (rows.bytes() + log_held + load.bytes + columns + log + table > held_max ||
        rows.rows() + load.rows > kSegmentRowsMax || rows.cells() + load.cells > kSegmentCellsMax ||
        parts.frames.size() + load.frames > kSegmentFramesMax)
      return Status(Code::kLimit, "segment: full");
    return {};
  }

  void take(const std::vector<SegmentFrame>& frames, SegmentRows rows, const SegmentLog& log) {
    append_to(&parts.frames, frames);
    parts.rows.append(std::move(rows));
    append_to(&parts.log.defs, log.defs);
    append_to(&parts.log.events, log.events);
    append_to(&parts.log.losses, log.losses);
    append_to(&parts.log.def_seqs, log.def_seqs);
    append_to(&parts.log.event_seqs, log.event_seqs);
    append_to(&parts.log.loss_seqs, log.loss_seqs);
    log_held += log_bytes(log) + frames.size() * sizeof(SegmentFrame);
  }

  void clear() {
    parts = SegmentParts();
    parts.writer = writer;
    log_held = 0;
  }
};

SegmentBuilder::SegmentBuilder(const Id128& writer, size_t bytes_max) : impl_(std::make_unique<Impl>()) {
  impl_->writer = writer;
  impl_->bytes_max = bytes_max;
  impl_->clear();
}
SegmentBuilder::~SegmentBuilder() = default;

Status SegmentBuilder::add(const FrameView& frame) {
  if (frame.has_unknown_sections())
    return Status(Code::kVersion, fmt::format("segment: frame {} has sections of a newer version", frame.seq()));
  const SegmentLog log = log_of(frame);
  Load load{.frames = 1};
  for (const FrameView::BlockView& block : frame.blocks())
    load.add(block.rows, block.types, block.has_steps, shapes_in(block));
  TRACKER_RETURN_IF_ERROR(impl_->check(frame.writer(), frame.seq(), load, log_bytes(log)));
  auto rows = SegmentRows::of(frame);
  if (!rows.ok()) return rows.status();
  if (rows->cells() > kSegmentCellsMax) return Status(Code::kLimit, "segment: too many cells");
  const uint64_t count = rows->rows();
  impl_->take({{frame.seq(), count}}, std::move(*rows), log);
  return {};
}

Status SegmentBuilder::add(SegmentView* segment) {
  SegmentLog log;
  TRACKER_RETURN_IF_ERROR(segment->log(&log));
  std::vector<SegmentFrame> frames;
  TRACKER_RETURN_IF_ERROR(segment->frame_table(&frames));
  Load load{.frames = frames.size()};
  for (const SegmentBlock& block : segment->blocks()) load.add(block.rows, block.types, block.has_steps, 1);
  TRACKER_RETURN_IF_ERROR(impl_->check(segment->writer(), segment->first_seq(), load, log_bytes(log)));
  auto rows = SegmentRows::of(segment);
  if (!rows.ok()) return rows.status();
  if (rows->cells() > kSegmentCellsMax) return Status(Code::kLimit, "segment: too many cells");
  impl_->take(frames, std::move(*rows), log);
  return {};
}

bool SegmentBuilder::empty() const { return impl_->empty(); }
uint64_t SegmentBuilder::first_seq() const { return empty() ? 0 : impl_->parts.frames.front().seq; }
uint64_t SegmentBuilder::last_seq() const { return empty() ? 0 : impl_->parts.frames.back().seq; }
uint64_t SegmentBuilder::points() const { return impl_->parts.rows.points(); }
uint64_t SegmentBuilder::rows() const { return impl_->parts.rows.rows(); }
size_t SegmentBuilder::bytes() const { return impl_->parts.rows.bytes() + impl_->log_held; }

Result<std::string> SegmentBuilder::finish(SegmentTimes* times) {
  if (empty()) return Status(Code::kInvalid, "segment: of no frames");
  auto bytes = encode_segment(&impl_->parts);
  if (times != nullptr) *times = impl_->parts.times;
  impl_->clear();
  return bytes;
}

}  // namespace tracker::internal
