// SPDX-License-Identifier: MIT
#include "query/row_block.h"

#include <algorithm>

namespace tracker::internal {
namespace {

// Decodes behind what is there.
template <typename T, typename Read>
Status append(uint64_t rows, std::vector<T>* out, Read&& read) {
  const size_t before = out->size();
  out->resize(before + rows);
  return read(out->data() + before);
}

bool apart(int64_t least, int64_t greatest, const std::optional<Int64Range>& range) {
  return range && (greatest < range->min || least > range->max);
}

}  // namespace

FrameRowBlock::FrameRowBlock(const FrameView::BlockView& block) : block_(block) {
  rows_ = block.rows;
  has_steps_ = block.has_steps;
  has_order_ = block.has_order;
  series_ = &block.series;
  types_ = &block.types;
}

Status FrameRowBlock::steps(std::vector<int64_t>* out) { return FrameView::read_ints(block_.steps, rows_, out); }
Status FrameRowBlock::times(std::vector<int64_t>* out) { return FrameView::read_ints(block_.times, rows_, out); }
Status FrameRowBlock::order(std::vector<int64_t>* out) { return FrameView::read_ints(block_.order, rows_, out); }
Status FrameRowBlock::values(size_t i, std::vector<uint64_t>* out) {
  return FrameView::read_values(block_.values[i], rows_, block_.types[i], out);
}

SegmentRowBlock::SegmentRowBlock(SegmentView* segment, size_t block, bool with_order)
    : segment_(segment), block_(block) {
  const SegmentBlock& about = segment->blocks()[block];
  rows_ = about.rows;
  has_steps_ = about.has_steps;
  has_order_ = about.has_order || with_order;
  series_ = &about.series;
  types_ = &about.types;
}

Status SegmentRowBlock::steps(std::vector<int64_t>* out) {
  return append(rows_, out, [this](int64_t* to) { return segment_->steps(block_, RowRange(), to); });
}
Status SegmentRowBlock::times(std::vector<int64_t>* out) {
  return append(rows_, out, [this](int64_t* to) { return segment_->times(block_, RowRange(), to); });
}
Status SegmentRowBlock::order(std::vector<int64_t>* out) {
  return append(rows_, out, [this](int64_t* to) {
    return segment_->order(block_, RowRange(), reinterpret_cast<uint64_t*>(to));  // the same bits, far below 2^63
  });
}
Status SegmentRowBlock::values(size_t i, std::vector<uint64_t>* out) {
  return append(rows_, out, [&](uint64_t* to) { return segment_->value_bits(block_, i, RowRange(), to); });
}

bool may_hold(const SegmentBlock& block, const std::optional<Int64Range>& steps,
              const std::optional<Int64Range>& times_us) {
  if (steps && !block.has_steps) return false;
  return !apart(block.steps.min, block.steps.max, steps) && !apart(block.time_min_us, block.time_max_us, times_us);
}

Result<SegmentOrder> SegmentOrder::of(SegmentView* segment) {
  SegmentOrder out;
  std::vector<int64_t> ordinals;
  for (size_t b = 0; b < segment->blocks().size(); ++b) {
    SegmentRowBlock block(segment, b, true);
    ordinals.clear();
    TRACKER_RETURN_IF_ERROR(block.order(&ordinals));
    for (const int64_t ordinal : ordinals) out.rows_.push_back({ordinal, block.series().size()});
  }
  std::sort(out.rows_.begin(), out.rows_.end(), [](const Row& a, const Row& b) { return a.ordinal < b.ordinal; });
  for (Row& row : out.rows_) {
    const uint64_t points = row.points_before;
    row.points_before = out.points_;
    out.points_ += points;
  }
  return out;
}

OrdinalRange SegmentOrder::ordinals(const PointRange& points) const {
  const auto at = [this](uint64_t point) {
    const auto row = std::lower_bound(rows_.begin(), rows_.end(), point,
                                      [](const Row& r, uint64_t p) { return r.points_before < p; });
    return row == rows_.end() ? INT64_MAX : row->ordinal;
  };
  return {at(points.first), at(points.last)};
}

uint64_t SegmentOrder::points_below(int64_t ordinal) const {
  const auto row =
      std::lower_bound(rows_.begin(), rows_.end(), ordinal, [](const Row& r, int64_t o) { return r.ordinal < o; });
  return row == rows_.end() ? points_ : row->points_before;
}

}  // namespace tracker::internal
