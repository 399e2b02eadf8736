// SPDX-License-Identifier: MIT
#include "query/rows/row_block.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/packed.h"

namespace tracker::internal {
namespace {

// Decodes and appends.
template <typename T, typename Read>
Status append(uint64_t rows, std::vector<T>* out, Read&& read) {
  const size_t before = out->size();
  out->resize(before + rows);
  return read(out->data() + before);
}

bool within(int64_t least, int64_t greatest, const Int64Range& range) {
  return range.contains(least) && range.contains(greatest);
}

bool apart(int64_t least, int64_t greatest, const std::optional<Int64Range>& range) {
  return range && (greatest < range->min || least > range->max);
}

}  // namespace

FrameRowBlock::FrameRowBlock(const FrameView::BlockView& block) : block_(block) {
  rows_ = block.rows;
  has_steps_ = block.has_steps;
  has_order_ = block.has_order;
  series_ = block.series;
  types_ = block.types;
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
  range_ = {0, about.rows};
  has_steps_ = about.has_steps;
  has_order_ = about.has_order || with_order;
  series_ = about.series;
  types_ = about.types;
}

Status SegmentRowBlock::unsorted() const {
  return Status(Code::kCorrupt, fmt::format("segment: block {} says that its steps never fall, and they do", block_));
}

// A search by halves finds anything in what is not sorted. So what it meets must rise from the least step of the block
// to the greatest, and so must the mini-blocks in which it ends.
Status SegmentRowBlock::first_step_not_below(int64_t bound, uint64_t* row) const {
  uint64_t low = range_.begin, high = range_.end;
  const auto& about = segment_->blocks()[block_].steps;
  Int64Range between{about.min, about.max};
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    int64_t step = 0;
    TRACKER_RETURN_IF_ERROR(segment_->steps(block_, {middle, middle + 1}, &step));
    if (!between.contains(step)) return unsorted();
    (step < bound ? between.min : between.max) = step;
    if (step < bound) low = middle + 1;
    else high = middle;
  }
  *row = low;
  const uint64_t first = low > 0 ? (low - 1) / kMiniRows * kMiniRows : 0;
  return check_sorted({first, std::min(range_.end, (low / kMiniRows + 1) * kMiniRows)});
}

Status SegmentRowBlock::check_sorted(RowRange rows) const {
  std::vector<int64_t> steps(rows.end - rows.begin);
  TRACKER_RETURN_IF_ERROR(segment_->steps(block_, rows, steps.data()));
  return std::is_sorted(steps.begin(), steps.end()) ? Status() : unsorted();
}

Status SegmentRowBlock::narrow_sorted_steps(const Int64Range& wanted) {
  const auto& all = segment_->blocks()[block_].steps;
  int64_t first = 0, last = 0;
  TRACKER_RETURN_IF_ERROR(segment_->steps(block_, {0, 1}, &first));
  TRACKER_RETURN_IF_ERROR(segment_->steps(block_, {range_.end - 1, range_.end}, &last));
  if (first != all.min || last != all.max) return unsorted();
  RowRange found = range_;
  TRACKER_RETURN_IF_ERROR(first_step_not_below(wanted.min, &found.begin));
  if (wanted.max < INT64_MAX) TRACKER_RETURN_IF_ERROR(first_step_not_below(wanted.max + 1, &found.end));
  range_ = {found.begin, std::max(found.begin, found.end)};
  must_be_sorted_ = true;
  return {};
}

template <typename Read>
Status SegmentRowBlock::narrow_column(const Int64Range& wanted, Read&& read) {
  std::vector<int64_t> column(range_.end - range_.begin);
  TRACKER_RETURN_IF_ERROR(read(range_, column.data()));
  const auto is_wanted = [&wanted](int64_t v) { return wanted.contains(v); };
  const auto first = std::find_if(column.begin(), column.end(), is_wanted);
  const auto last = std::find_if(column.rbegin(), std::make_reverse_iterator(first), is_wanted).base();
  const uint64_t begin = range_.begin;
  range_ = {begin + static_cast<uint64_t>(first - column.begin()),
            begin + static_cast<uint64_t>(last - column.begin())};
  return {};
}

Status SegmentRowBlock::narrow(const std::optional<Int64Range>& steps, const std::optional<Int64Range>& times_us) {
  const SegmentBlock& about = segment_->blocks()[block_];
  if (steps && has_steps_ && !within(about.steps.min, about.steps.max, *steps)) {
    const auto by_parts = segment_->steps_decode_by_parts(block_);
    if (!by_parts.ok()) return by_parts.status();
    TRACKER_RETURN_IF_ERROR(*by_parts ? narrow_sorted_steps(*steps)
                                      : narrow_column(*steps, [this](RowRange rows, int64_t* to) {
                                          return segment_->steps(block_, rows, to);
                                        }));
  }
  if (times_us && range_.begin < range_.end && !within(about.time_min_us, about.time_max_us, *times_us))
    TRACKER_RETURN_IF_ERROR(
        narrow_column(*times_us, [this](RowRange rows, int64_t* to) { return segment_->times(block_, rows, to); }));
  rows_ = range_.end - range_.begin;
  return {};
}

Status SegmentRowBlock::steps(std::vector<int64_t>* out) {
  return append(rows_, out, [this](int64_t* to) {
    TRACKER_RETURN_IF_ERROR(segment_->steps(block_, range_, to));
    return must_be_sorted_ && !std::is_sorted(to, to + rows_) ? unsorted() : Status();
  });
}
Status SegmentRowBlock::times(std::vector<int64_t>* out) {
  return append(rows_, out, [this](int64_t* to) { return segment_->times(block_, range_, to); });
}
Status SegmentRowBlock::order(std::vector<int64_t>* out) {
  return append(rows_, out, [this](int64_t* to) {
    return segment_->order(block_, range_, reinterpret_cast<uint64_t*>(to));  // the same bits, far below 2^63
  });
}
Status SegmentRowBlock::values(size_t i, std::vector<uint64_t>* out) {
  return append(rows_, out, [&](uint64_t* to) { return segment_->value_bits(block_, i, range_, to); });
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
