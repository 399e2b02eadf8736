// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codec/segment.h"
#include "codec/segment_encode.h"
#include "codec/segment_rows.h"

namespace tracker::internal {
namespace {

size_t log_bytes(const std::vector<SeriesDef>& defs, const std::vector<Event>& events) {
  size_t bytes = defs.size() * sizeof(SeriesDef) + events.size() * (sizeof(Event) + sizeof(uint64_t));
  for (const SeriesDef& def : defs) bytes += def.name.size();
  for (const Event& event : events) bytes += event.payload.size();
  return bytes;
}

// What the rows of a frame or a segment take, before they are decoded.
struct Load {
  uint64_t rows = 0, cells = 0;
  size_t bytes = 0, columns = 0;
  void add(uint64_t n, const std::vector<ValueType>& types, bool has_steps, size_t shapes) {
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
  std::map<std::pair<uint32_t, LossReason>, uint64_t> losses;
  size_t log_held = 0;

  bool empty() const { return parts.frames == 0; }

  Status check(const Id128& of, uint64_t first_seq, const Load& load, size_t log) const {
    if (!(of == writer)) return Status(Code::kInvalid, "segment: of another writer");
    if (!empty() && first_seq <= parts.last_seq)
      return Status(Code::kInvalid, fmt::format("segment: frame {} behind frame {}", first_seq, parts.last_seq));
    const SegmentRows& rows = parts.rows;
    const size_t held_max = empty() ? std::max(bytes_max, kSegmentFirstBytesMax) : bytes_max;
    const size_t columns = empty() ? 0 : load.columns * kSegmentColumnBytes;  // that many are new at most
    if (rows.bytes() + log_held + load.bytes + columns + log > held_max || rows.rows() + load.rows > kSegmentRowsMax ||
        rows.cells() + load.cells > kSegmentCellsMax)
      return Status(Code::kLimit, "segment: full");
    return {};
  }

  void take(uint64_t first_seq, uint64_t last_seq, uint64_t frames, SegmentRows rows, const SegmentLog& log) {
    if (empty()) parts.first_seq = first_seq;
    parts.last_seq = last_seq;
    parts.frames += frames;
    parts.rows.append(std::move(rows));
    parts.log.defs.insert(parts.log.defs.end(), log.defs.begin(), log.defs.end());
    parts.log.events.insert(parts.log.events.end(), log.events.begin(), log.events.end());
    parts.log.event_seqs.insert(parts.log.event_seqs.end(), log.event_seqs.begin(), log.event_seqs.end());
    for (const Loss& loss : log.losses) losses[{loss.series, loss.reason}] += loss.count;
    log_held += log_bytes(log.defs, log.events);
  }

  void clear() {
    parts = SegmentParts();
    parts.writer = writer;
    losses.clear();
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
  Load load;
  for (const FrameView::BlockView& block : frame.blocks())
    load.add(block.rows, block.types, block.has_steps, shapes_in(block));
  TRACKER_RETURN_IF_ERROR(impl_->check(frame.writer(), frame.seq(), load, log_bytes(frame.defs(), frame.events())));
  auto rows = SegmentRows::of(frame);
  if (!rows.ok()) return rows.status();
  if (rows->cells() > kSegmentCellsMax) return Status(Code::kLimit, "segment: too many cells");
  const std::vector<uint64_t> event_seqs(frame.events().size(), frame.seq());
  impl_->take(frame.seq(), frame.seq(), 1, std::move(*rows),
              {frame.defs(), frame.events(), event_seqs, frame.losses()});
  return {};
}

Status SegmentBuilder::add(SegmentView* segment) {
  SegmentLog log;
  TRACKER_RETURN_IF_ERROR(segment->log(&log));
  Load load;
  for (const SegmentBlock& block : segment->blocks()) load.add(block.rows, block.types, block.has_steps, 1);
  TRACKER_RETURN_IF_ERROR(impl_->check(segment->writer(), segment->first_seq(), load, log_bytes(log.defs, log.events)));
  auto rows = SegmentRows::of(segment);
  if (!rows.ok()) return rows.status();
  if (rows->cells() > kSegmentCellsMax) return Status(Code::kLimit, "segment: too many cells");
  impl_->take(segment->first_seq(), segment->last_seq(), segment->frames(), std::move(*rows), log);
  return {};
}

bool SegmentBuilder::empty() const { return impl_->empty(); }
uint64_t SegmentBuilder::first_seq() const { return impl_->parts.first_seq; }
uint64_t SegmentBuilder::last_seq() const { return impl_->parts.last_seq; }
uint64_t SegmentBuilder::points() const { return impl_->parts.rows.points(); }
uint64_t SegmentBuilder::rows() const { return impl_->parts.rows.rows(); }
size_t SegmentBuilder::bytes() const { return impl_->parts.rows.bytes() + impl_->log_held; }

Result<std::string> SegmentBuilder::finish(SegmentTimes* times) {
  if (empty()) return Status(Code::kInvalid, "segment: of no frames");
  for (const auto& [key, count] : impl_->losses) impl_->parts.log.losses.push_back({key.first, key.second, count});
  auto bytes = encode_segment(&impl_->parts);
  if (times != nullptr) *times = impl_->parts.times;
  impl_->clear();
  return bytes;
}

}  // namespace tracker::internal
