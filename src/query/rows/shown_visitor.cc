// SPDX-License-Identifier: MIT
#include "query/rows/shown_visitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "query/rows/packed.h"

namespace tracker::internal {
namespace {

// The rows of one time stand in the order logged, where that is known; else as they come.
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

// --- the sums -----------------------------------------------------------------------------------------------------

ShownVisitor::ShownVisitor(const ShownColumns& columns, size_t metrics, int64_t shown_up_to, bool decode_all)
    : columns_(columns), shown_up_to_(shown_up_to), decode_all_(decode_all), parts_(metrics), units_(metrics) {}

void ShownVisitor::begin() {
  for (const size_t metric : touched_) units_[metric] = Unit();
  touched_.clear();
}

ShownVisitor::Unit& ShownVisitor::unit_of(size_t metric) {
  if (units_[metric].blocks == 0) touched_.push_back(metric);
  return units_[metric];
}

// A frame or segment counts as a whole or not at all.
void ShownVisitor::commit(uint64_t after_seq) {
  for (const size_t metric : touched_) {
    Unit& unit = units_[metric];
    for (ShownRow* row : {&unit.part.first, &unit.part.last}) {
      row->read = !unit.summarized;
      row->after_seq = after_seq;
    }
    append_part(unit.part, &parts_[metric]);
  }
}

// Whether a series of the block is one that is looked at.
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
  commit(0);
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
    if (*whole && all_shown && !decode_all_) {
      summarize(about);
      continue;
    }
    SegmentRowBlock block(segment, b, true);
    if (!all_shown) TRACKER_RETURN_IF_ERROR(block.narrow(Int64Range{INT64_MIN, shown_up_to_}, std::nullopt));
    TRACKER_RETURN_IF_ERROR(decode(&block, *whole ? nullptr : &ordinals, true));
  }
  commit(segment->first_seq() - 1);
  return true;
}

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
    part.first.time_us = block.time_min_us;
    part.last.time_us = block.time_max_us;
    Unit& unit = units_[column->second.metric];
    unit.summarized = true;
    append_part(part, &unit.part);
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
    return ShownRow{rows.times[row], true, 0, type, bits[row], rows.has_steps ? rows.steps[row] : 0};
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

// --- the first and the last row -----------------------------------------------------------------------------------

ShownEndVisitor::ShownEndVisitor(const ShownColumns& columns, std::vector<Wanted> wanted, int64_t shown_up_to)
    : columns_(columns), wanted_(std::move(wanted)), shown_up_to_(shown_up_to), found_(wanted_.size()) {}

// A segment never becomes frames again.
Result<bool> ShownEndVisitor::frame(const FrameView&) { return false; }

bool ShownEndVisitor::may_hold_any(const SegmentBlock& block) const {
  if (block.rows == 0 || (block.has_steps && block.steps.min > shown_up_to_)) return false;
  const Int64Range times{block.time_min_us, block.time_max_us};
  return std::any_of(block.series.begin(), block.series.end(), [&](uint32_t id) {
    const auto column = columns_.find(id);
    if (column == columns_.end()) return false;
    const Wanted& of = wanted_[column->second.metric];
    return (of.first && times.contains(of.first_us)) || (of.last && times.contains(of.last_us));
  });
}

// The segment may have become a larger one: its other rows are no earlier and no later, or they would be wanted.
Result<bool> ShownEndVisitor::segment(SegmentView* segment, PointRange* range) {
  OrdinalRange ordinals;
  auto whole = is_whole(segment, *range, &ordinals);
  if (!whole.ok()) return whole.status();
  ShownBlock rows;
  for (size_t b = 0; b < segment->blocks().size(); ++b) {
    const SegmentBlock& about = segment->blocks()[b];
    if (!may_hold_any(about)) continue;
    SegmentRowBlock block(segment, b, true);
    ++decoded_blocks_;
    TRACKER_RETURN_IF_ERROR(load(&block, shown_up_to_, *whole ? nullptr : &ordinals, &rows));
    if (!rows.rows.empty()) look(about, b, rows);
  }
  for (Found& found : found_)
    for (Place* place : {&found.first, &found.last}) TRACKER_RETURN_IF_ERROR(read_value(segment, place));
  return false;
}

void ShownEndVisitor::look(const SegmentBlock& about, size_t block, const ShownBlock& rows) {
  const BlockEnds ends = ends_of(rows, true);
  for (size_t i = 0; i < about.series.size(); ++i) {
    const auto column = columns_.find(about.series[i]);
    if (column == columns_.end()) continue;
    const auto place_of = [&](uint32_t row) {
      Place out;
      out.row = {rows.times[row], false, 0, column->second.type, 0, rows.has_steps ? rows.steps[row] : 0};
      out.there = true;
      out.block = block;
      out.series = i;
      out.number = row;
      out.order = rows.order[row];
      return out;
    };
    const Wanted& of = wanted_[column->second.metric];
    Found& found = found_[column->second.metric];
    if (of.first && rows.times[ends.first] == of.first_us &&
        (!found.first.there || rows.order[ends.first] < found.first.order))
      found.first = place_of(ends.first);
    if (of.last && rows.times[ends.last] == of.last_us &&
        (!found.last.there || rows.order[ends.last] >= found.last.order))
      found.last = place_of(ends.last);
  }
}

Status ShownEndVisitor::read_value(SegmentView* segment, Place* place) {
  if (!place->there) return {};
  TRACKER_RETURN_IF_ERROR(
      segment->value_bits(place->block, place->series, {place->number, place->number + 1}, &place->row.bits));
  place->row.read = true;
  return {};
}

}  // namespace tracker::internal
