// SPDX-License-Identifier: MIT
#include "storage/series_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace tracker::internal {
namespace {

// Ordinals of the first and the last row of a block in its frame or segment, and of the last one with a step.
struct Place {
  int64_t first = 0, last = 0;
  int64_t last_stepped = INT64_MIN;
};

// What all series of a block share.
struct BlockRows {
  uint64_t rows = 0;
  bool has_steps = false;
  int64_t step_min = 0, step_max = 0, last_step = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  size_t first_row = 0, last_row = 0;  // as logged; a segment may have them in another order
  Place place;
};

template <typename Convert>
void add_values(std::span<const uint64_t> bits, Convert convert, SeriesStats* out) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  uint64_t finite = 0;
  for (const uint64_t raw : bits) {
    const double v = convert(raw);
    if (std::isfinite(v)) {
      ++finite;
      sum += v;
      low = std::min(low, v);
      high = std::max(high, v);
    } else if (std::isnan(v)) {
      ++out->nan;
    } else {
      ++(v > 0 ? out->pos_inf : out->neg_inf);
    }
  }
  out->finite = finite;
  if (finite == 0) return;
  out->min = low;
  out->max = high;
  out->sum = sum;
}

void add_values(ValueType type, std::span<const uint64_t> bits, SeriesStats* out) {
  switch (type) {
    case ValueType::kFloat64: return add_values(bits, [](uint64_t b) { return std::bit_cast<double>(b); }, out);
    case ValueType::kFloat32:
      return add_values(bits, [](uint64_t b) -> double { return std::bit_cast<float>(static_cast<uint32_t>(b)); }, out);
    case ValueType::kInt64:
      return add_values(bits, [](uint64_t b) { return static_cast<double>(static_cast<int64_t>(b)); }, out);
    default: return add_values(bits, [type](uint64_t b) { return to_double(type, b); }, out);
  }
}

void widen(int64_t first, int64_t last, FrameStats* out, bool* any) {
  out->time_first_us = *any ? std::min(out->time_first_us, first) : first;
  out->time_last_us = *any ? std::max(out->time_last_us, last) : last;
  *any = true;
}

// A series in several blocks of one frame: times do not tell which row came last, the order of the calls does.
void add_within_frame(const SeriesStats& rows, const Place& place, SeriesStats* into, Place* known) {
  const SeriesStats before = *into;
  append_stats(rows, into);
  if (before.points == 0) {
    *known = place;
    return;
  }
  if (place.first < known->first) into->first_bits = rows.first_bits;
  if (place.last < known->last) into->last_bits = before.last_bits;
  if (place.last_stepped < known->last_stepped) into->last_step = before.last_step;
  *known = {std::min(known->first, place.first), std::max(known->last, place.last),
            std::max(known->last_stepped, place.last_stepped)};
}

class BlockStats {
 public:
  explicit BlockStats(FrameStats* out) : out_(out) {}

  Status add(const FrameView::BlockView& block) {
    if (block.rows == 0) return {};
    BlockRows shared;
    shared.rows = block.rows;
    shared.has_steps = block.has_steps;
    ints_.clear();
    TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.times, block.rows, &ints_));
    auto [first, last] = std::minmax_element(ints_.begin(), ints_.end());
    shared.time_first_us = *first;
    shared.time_last_us = *last;
    if (block.has_steps) {
      ints_.clear();
      TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.steps, block.rows, &ints_));
      auto [low, high] = std::minmax_element(ints_.begin(), ints_.end());
      shared.step_min = *low;
      shared.step_max = *high;
      shared.last_step = ints_.back();
    }
    shared.last_row = block.rows - 1;
    shared.place.last = static_cast<int64_t>(block.rows) - 1;
    if (block.has_order) {
      ints_.clear();
      TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.order, block.rows, &ints_));
      shared.place = {ints_.front(), ints_.back()};
    }
    if (block.has_steps) shared.place.last_stepped = shared.place.last;
    for (size_t i = 0; i < block.series.size(); ++i) {
      bits_.clear();
      TRACKER_RETURN_IF_ERROR(FrameView::read_values(block.values[i], block.rows, block.types[i], &bits_));
      add_series(block.series[i], block.types[i], shared);
    }
    out_->points += block.rows * block.series.size();
    return {};
  }

  Status add(SegmentView* segment, size_t b) {
    const SegmentBlock& block = segment->blocks()[b];
    if (block.rows == 0) return {};
    BlockRows shared;
    shared.rows = block.rows;
    shared.has_steps = block.has_steps;
    std::vector<uint64_t> order(block.rows);
    TRACKER_RETURN_IF_ERROR(segment->order(b, RowRange(), order.data()));
    const auto [first, last] = std::minmax_element(order.begin(), order.end());
    shared.first_row = static_cast<size_t>(first - order.begin());
    shared.last_row = static_cast<size_t>(last - order.begin());
    shared.place.first = static_cast<int64_t>(*first);
    shared.place.last = static_cast<int64_t>(*last);
    ints_.resize(block.rows);
    TRACKER_RETURN_IF_ERROR(segment->times(b, RowRange(), ints_.data()));
    const auto [early, late] = std::minmax_element(ints_.begin(), ints_.end());
    shared.time_first_us = *early;
    shared.time_last_us = *late;
    if (block.has_steps) {
      TRACKER_RETURN_IF_ERROR(segment->steps(b, RowRange(), ints_.data()));
      const auto [low, high] = std::minmax_element(ints_.begin(), ints_.end());
      shared.step_min = *low;
      shared.step_max = *high;
      shared.last_step = ints_[shared.last_row];
      shared.place.last_stepped = shared.place.last;
    }
    bits_.resize(block.rows);
    for (size_t i = 0; i < block.series.size(); ++i) {
      TRACKER_RETURN_IF_ERROR(segment->value_bits(b, i, RowRange(), bits_.data()));
      add_series(block.series[i], block.types[i], shared);
    }
    out_->points += block.rows * block.series.size();
    return {};
  }

 private:
  // Its values are in bits_.
  void add_series(uint32_t id, ValueType type, const BlockRows& shared) {
    SeriesStats rows;
    rows.def.id = id;
    rows.def.type = type;
    rows.points = shared.rows;
    rows.has_steps = shared.has_steps;
    rows.step_min = shared.step_min;
    rows.step_max = shared.step_max;
    rows.last_step = shared.last_step;
    rows.time_first_us = shared.time_first_us;
    rows.time_last_us = shared.time_last_us;
    rows.first_bits = bits_[shared.first_row];
    rows.last_bits = bits_[shared.last_row];
    add_values(type, bits_, &rows);
    const auto [at, is_new] = out_->series.try_emplace(id);
    if (is_new) at->second.def = rows.def;
    add_within_frame(rows, shared.place, &at->second, &places_[id]);
  }

  FrameStats* out_;
  std::map<uint32_t, Place> places_;
  std::vector<int64_t> ints_;
  std::vector<uint64_t> bits_;
};

void find_times(const std::vector<Event>& events, FrameStats* out) {
  bool any = false;
  for (const auto& [id, stats] : out->series)
    if (stats.points > 0) widen(stats.time_first_us, stats.time_last_us, out, &any);
  for (const Event& event : events) widen(event.time_us, event.time_us, out, &any);
}

}  // namespace

Result<FrameStats> compute_frame_stats(const FrameView& frame) {
  FrameStats out;
  for (const SeriesDef& def : frame.defs()) out.series[def.id].def = def;
  BlockStats blocks(&out);
  for (const FrameView::BlockView& block : frame.blocks()) TRACKER_RETURN_IF_ERROR(blocks.add(block));
  find_times(frame.events(), &out);
  return out;
}

Result<FrameStats> compute_segment_stats(SegmentView* segment, const SegmentLog& log) {
  FrameStats out;
  for (const SeriesDef& def : log.defs) out.series[def.id].def = def;
  BlockStats blocks(&out);
  for (size_t b = 0; b < segment->blocks().size(); ++b) TRACKER_RETURN_IF_ERROR(blocks.add(segment, b));
  find_times(log.events, &out);
  return out;
}

void append_stats(const SeriesStats& later, SeriesStats* into) {
  if (into->def.name.empty() && !later.def.name.empty()) into->def = later.def;
  if (later.points == 0) return;
  if (into->points == 0) {
    const SeriesDef def = into->def;
    const uint64_t dropped = into->dropped;
    *into = later;
    if (!def.name.empty()) into->def = def;
    into->dropped = dropped;
    return;
  }
  into->points += later.points;
  if (later.has_steps) {
    into->step_min = into->has_steps ? std::min(into->step_min, later.step_min) : later.step_min;
    into->step_max = into->has_steps ? std::max(into->step_max, later.step_max) : later.step_max;
    into->last_step = later.last_step;
    into->has_steps = true;
  }
  into->time_first_us = std::min(into->time_first_us, later.time_first_us);
  into->time_last_us = std::max(into->time_last_us, later.time_last_us);
  if (later.finite > 0) {
    into->min = into->finite > 0 ? std::min(into->min, later.min) : later.min;
    into->max = into->finite > 0 ? std::max(into->max, later.max) : later.max;
    into->sum += later.sum;
  }
  into->finite += later.finite;
  into->nan += later.nan;
  into->pos_inf += later.pos_inf;
  into->neg_inf += later.neg_inf;
  into->last_bits = later.last_bits;
}

void put_series(SeriesMap series, WriterSnapshot* out) {
  for (const Loss& loss : out->losses) {
    if (loss.reason != LossReason::kRejected) out->dropped += loss.count;  // a bad value never became a point
    const auto at = series.find(loss.series);
    if (at != series.end()) at->second.dropped += loss.count;
  }
  for (auto& [id, stats] : series) out->series.push_back(std::move(stats));
}

}  // namespace tracker::internal
