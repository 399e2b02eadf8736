// SPDX-License-Identifier: MIT
#include "query/rows/shown_visitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "query/rows/packed.h"

namespace tracker::internal {
namespace {

// The rows of one time are in the order logged, where that is known; else as they come.
struct BlockEnds {
  uint32_t first = 0, last = 0;
};

int64_t order_of(const ShownBlock& block, uint32_t row, bool by_order) { return by_order ? block.order[row] : 0; }

// Of a block with rows that are shown.
BlockEnds ends_of(const ShownBlock& block, bool by_order) {
  BlockEnds out{block.rows.front(), block.rows.front()};
  const auto before = [&](uint32_t a, uint32_t b) {
    if (block.times[a] != block.times[b]) return block.times[a] < block.times[b];
    return order_of(block, a, by_order) < order_of(block, b, by_order);
  };
  for (const uint32_t row : block.rows) {
    if (before(row, out.first)) out.first = row;
    if (!before(row, out.last)) out.last = row;
  }
  return out;
}

// `ordinals`: only rows within; null: all.
Status load(RowBlock* block, int64_t shown_up_to, const OrdinalRange* ordinals, ShownBlock* out) {
  out->steps.clear();
  out->times.clear();
  out->order.clear();
  out->rows.clear();
  out->has_steps = block->has_steps();
  if (block->has_steps()) TRACKER_RETURN_IF_ERROR(block->steps(&out->steps));
  TRACKER_RETURN_IF_ERROR(block->times(&out->times));
  if (block->has_order()) TRACKER_RETURN_IF_ERROR(block->order(&out->order));
  for (uint32_t row = 0; row < block->rows(); ++row) {
    if (out->has_steps && out->steps[row] > shown_up_to) continue;
    if (ordinals != nullptr && (out->order[row] < ordinals->first || out->order[row] >= ordinals->last)) continue;
    out->rows.push_back(row);
  }
  return {};
}

void add_values(const std::vector<uint32_t>& rows, const std::vector<double>& values, ShownPart* part) {
  part->points += rows.size();
  for (const uint32_t row : rows) {
    const double v = values[row];
    part->nan += std::isnan(v) ? 1 : 0;
    if (!std::isfinite(v)) continue;
    part->min = part->finite > 0 ? std::min(part->min, v) : v;
    part->max = part->finite > 0 ? std::max(part->max, v) : v;
    part->sum += v;
    ++part->finite;
  }
}

void add_numbers(const ShownPart& later, ShownPart* into) {
  into->points += later.points;
  into->nan += later.nan;
  if (later.finite == 0) return;
  into->min = into->finite > 0 ? std::min(into->min, later.min) : later.min;
  into->max = into->finite > 0 ? std::max(into->max, later.max) : later.max;
  into->sum += later.sum;
  into->finite += later.finite;
}

// Whether all of the points are wanted; else the ordinals of those that are.
Result<bool> is_whole(SegmentView* segment, const PointRange& wanted, OrdinalRange* ordinals) {
  if (wanted.first == 0 && wanted.last >= segment->points()) return true;
  auto order = SegmentOrder::of(segment);
  if (!order.ok()) return order.status();
  *ordinals = order->ordinals(wanted);
  return false;
}

}  // namespace

void append_part(const ShownPart& later, ShownPart* into) {
  if (later.points == 0) return;
  if (into->points == 0 || later.first.time_us < into->first.time_us) into->first = later.first;
  if (into->points == 0 || later.last.time_us >= into->last.time_us) into->last = later.last;
  add_numbers(later, into);
}

ShownVisitor::ShownVisitor(const ShownColumns& columns, std::vector<ShownPart> ends, int64_t shown_up_to,
                           bool decode_all)
    : columns_(columns),
      ends_(std::move(ends)),
      shown_up_to_(shown_up_to),
      decode_all_(decode_all),
      parts_(ends_.size()),
      units_(ends_.size()) {}

void ShownVisitor::begin() {
  for (const size_t metric : touched_) units_[metric] = Unit();
  touched_.clear();
}

ShownVisitor::Unit& ShownVisitor::unit_of(size_t metric) {
  if (units_[metric].blocks == 0) touched_.push_back(metric);
  return units_[metric];
}

// A frame or segment counts as a whole or not at all.
void ShownVisitor::commit() {
  for (const size_t metric : touched_) append_part(units_[metric].part, &parts_[metric]);
}

// Whether a series of the block is one that is read.
Result<bool> ShownVisitor::wanted(std::span<const uint32_t> series, std::span<const ValueType> types, bool has_order) {
  bool any = false;
  for (size_t i = 0; i < series.size(); ++i) {
    const auto column = columns_.find(series[i]);
    if (column == columns_.end()) continue;
    if (types[i] != column->second.type)
      return Status(Code::kCorrupt, fmt::format("series {} has another type than its definition", series[i]));
    Unit& unit = unit_of(column->second.metric);
    ++unit.blocks;
    unit.ordered &= has_order;
    any = true;
  }
  return any;
}

Result<bool> ShownVisitor::frame(const FrameView& frame) {
  begin();
  std::vector<bool> decoded;
  for (const FrameView::BlockView& view : frame.blocks()) {
    auto any = wanted(view.series, view.types, view.has_order);
    if (!any.ok()) return any.status();
    decoded.push_back(*any);
  }
  for (size_t b = 0; b < decoded.size(); ++b) {
    if (!decoded[b]) continue;
    FrameRowBlock block(frame.blocks()[b]);
    TRACKER_RETURN_IF_ERROR(decode(&block, nullptr, false));
  }
  commit();
  return true;
}

Result<bool> ShownVisitor::segment(SegmentView* segment, PointRange* range) {
  begin();
  if (range->first >= range->last) return true;
  OrdinalRange ordinals;
  auto whole = is_whole(segment, *range, &ordinals);
  if (!whole.ok()) return whole.status();
  for (size_t b = 0; b < segment->blocks().size(); ++b) {
    const SegmentBlock& about = segment->blocks()[b];
    auto any = wanted(about.series, about.types, true);
    if (!any.ok()) return any.status();
    if (!*any || about.rows == 0 || (about.has_steps && about.steps.min > shown_up_to_)) continue;
    const bool all_shown = !about.has_steps || about.steps.max <= shown_up_to_;
    if (*whole && all_shown && !decode_all_ && !may_hold_end(about)) {
      summarize(about);
      continue;
    }
    SegmentRowBlock block(segment, b, true);
    if (!all_shown) TRACKER_RETURN_IF_ERROR(block.narrow(Int64Range{INT64_MIN, shown_up_to_}, std::nullopt));
    TRACKER_RETURN_IF_ERROR(decode(&block, *whole ? nullptr : &ordinals, true));
  }
  commit();
  return true;
}

bool ShownVisitor::may_hold_end(const SegmentBlock& block) const {
  return std::any_of(block.series.begin(), block.series.end(), [&](uint32_t id) {
    const auto column = columns_.find(id);
    if (column == columns_.end()) return false;
    const ShownPart& ends = ends_[column->second.metric];
    return block.time_min_us <= ends.first.time_us || block.time_max_us >= ends.last.time_us;
  });
}

// Which rows have the times of its directory is not known. A row of a decoded block with such a time does not take
// their place: the order in which they were logged is not known either.
void ShownVisitor::summarize(const SegmentBlock& block) {
  for (size_t i = 0; i < block.series.size(); ++i) {
    const auto column = columns_.find(block.series[i]);
    if (column == columns_.end()) continue;
    const ValueSummary& of = block.summaries[i];
    ShownPart part;
    part.points = block.rows;
    part.finite = of.finite();
    part.nan = of.nan;
    if (part.finite > 0) {
      part.min = to_double(block.types[i], of.min_bits);
      part.max = to_double(block.types[i], of.max_bits);
      part.sum = of.sum;
    }
    Unit& unit = units_[column->second.metric];
    const bool none = unit.part.points == 0;
    if (none || block.time_min_us <= unit.part.first.time_us) {
      unit.part.first = ShownRow{.time_us = block.time_min_us};
      unit.first_order = INT64_MIN;
    }
    if (none || block.time_max_us >= unit.part.last.time_us) {
      unit.part.last = ShownRow{.time_us = block.time_max_us};
      unit.last_order = INT64_MAX;
    }
    add_numbers(part, &unit.part);
  }
}

Status ShownVisitor::decode(RowBlock* block, const OrdinalRange* ordinals, bool segment) {
  ++decoded_blocks_;
  TRACKER_RETURN_IF_ERROR(load(block, shown_up_to_, ordinals, &rows_));
  if (rows_.rows.empty()) return {};
  for (size_t i = 0; i < block->series().size(); ++i) {
    const auto column = columns_.find(block->series()[i]);
    if (column == columns_.end()) continue;
    bits_.clear();
    TRACKER_RETURN_IF_ERROR(block->values(i, &bits_));
    values_.resize(bits_.size());
    to_doubles(column->second.type, bits_.data(), bits_.size(), values_.data());
    Unit& unit = units_[column->second.metric];
    add_ends(rows_, column->second.type, bits_, segment || (unit.blocks > 1 && unit.ordered), &unit);
    add_values(rows_.rows, values_, &unit.part);
  }
  return {};
}

void ShownVisitor::add_ends(const ShownBlock& rows, ValueType type, const std::vector<uint64_t>& bits, bool by_order,
                            Unit* unit) {
  const BlockEnds ends = ends_of(rows, by_order);
  const auto row_of = [&](uint32_t row) {
    return ShownRow{rows.times[row], true, type, bits[row], rows.has_steps ? rows.steps[row] : 0};
  };
  const auto key = [&](uint32_t row) { return std::make_pair(rows.times[row], order_of(rows, row, by_order)); };
  const bool none = unit->part.points == 0;
  if (none || key(ends.first) < std::make_pair(unit->part.first.time_us, unit->first_order)) {
    unit->part.first = row_of(ends.first);
    unit->first_order = key(ends.first).second;
  }
  if (none || key(ends.last) >= std::make_pair(unit->part.last.time_us, unit->last_order)) {
    unit->part.last = row_of(ends.last);
    unit->last_order = key(ends.last).second;
  }
}

}  // namespace tracker::internal
