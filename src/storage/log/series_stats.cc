// SPDX-License-Identifier: MIT
#include "storage/log/series_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "model/system_series.h"
#include "storage/log/writer_snapshot.h"

namespace tracker::internal {
namespace {

// Ordinals of the first and the last row of a block in its frame or segment, and of the last row with a step.
struct Place {
  int64_t first = 0, last = 0;
  int64_t last_stepped = INT64_MIN;
};

// What all series of a block have in common.
struct BlockRows {
  uint64_t rows = 0;
  bool has_steps = false;
  int64_t step_min = 0, step_max = 0, last_step = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  size_t first_row = 0, last_row = 0;  // in the order of the calls, which may not be that of a segment
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

// For a series in several blocks of one frame: times do not show which row is the last, the order of the calls does.
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

// Adds the rows of one series in one block to the statistics of the frame or segment.
class StatsAdder {
 public:
  explicit StatsAdder(FrameStats* out) : out_(out) {}
  void add(uint32_t id, ValueType type, const BlockRows& shared, std::span<const uint64_t> bits) {
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
    rows.first_bits = bits[shared.first_row];
    rows.last_bits = bits[shared.last_row];
    add_values(type, bits, &rows);
    const auto [at, is_new] = out_->series.try_emplace(id);
    if (is_new) at->second.def = rows.def;
    add_within_frame(rows, shared.place, &at->second, &places_[id]);
  }
  void forget_places() { places_.clear(); }

 private:
  FrameStats* out_;
  std::map<uint32_t, Place> places_;
};

class BlockStats {
 public:
  explicit BlockStats(FrameStats* out) : out_(out), series_(out) {}

  // `each_piece`: called after so many series, which are in no other block; it may take them. Null: never.
  Status add(const FrameView::BlockView& block, const std::function<void()>& each_piece) {
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
    if (!block.series.empty()) widen(shared.time_first_us, shared.time_last_us, out_, &any_times_);
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
      series_.add(block.series[i], block.types[i], shared, bits_);
      if (!each_piece || (i + 1) % kSeriesAPiece != 0) continue;
      each_piece();
      series_.forget_places();
    }
    out_->points += block.rows * block.series.size();
    return {};
  }
  void widen_by(const std::vector<Event>& events) {
    for (const Event& event : events) widen(event.time_us, event.time_us, out_, &any_times_);
  }

 private:
  static constexpr size_t kSeriesAPiece = 1024;
  FrameStats* out_;
  StatsAdder series_;
  bool any_times_ = false;
  std::vector<int64_t> ints_;
  std::vector<uint64_t> bits_;
};

// For a segment, while its columns are checked.
class SegmentStats : public SegmentVisitor {
 public:
  SegmentStats(const SegmentView& segment, FrameStats* out) : segment_(segment), out_(out), series_(out) {}

  void block(size_t b, std::span<const int64_t> steps, std::span<const int64_t> times,
             std::span<const uint64_t> order) override {
    const SegmentBlock& block = segment_.blocks()[b];
    shared_ = BlockRows();
    shared_.rows = block.rows;
    shared_.has_steps = block.has_steps;
    const auto [first, last] = std::minmax_element(order.begin(), order.end());
    shared_.first_row = static_cast<size_t>(first - order.begin());
    shared_.last_row = static_cast<size_t>(last - order.begin());
    shared_.place.first = static_cast<int64_t>(*first);
    shared_.place.last = static_cast<int64_t>(*last);
    const auto [early, late] = std::minmax_element(times.begin(), times.end());
    shared_.time_first_us = *early;
    shared_.time_last_us = *late;
    if (block.has_steps) {
      const auto [low, high] = std::minmax_element(steps.begin(), steps.end());
      shared_.step_min = *low;
      shared_.step_max = *high;
      shared_.last_step = steps[shared_.last_row];
      shared_.place.last_stepped = shared_.place.last;
    }
    out_->points += block.rows * block.series.size();
  }

  void series(size_t b, size_t i, std::span<const uint64_t> bits) override {
    const SegmentBlock& block = segment_.blocks()[b];
    series_.add(block.series[i], block.types[i], shared_, bits);
  }

 private:
  const SegmentView& segment_;
  FrameStats* out_;
  StatsAdder series_;
  BlockRows shared_;
};

void find_times(const std::vector<Event>& events, FrameStats* out) {
  bool any = false;
  for (const auto& [id, stats] : out->series)
    if (stats.points > 0) widen(stats.time_first_us, stats.time_last_us, out, &any);
  for (const Event& event : events) widen(event.time_us, event.time_us, out, &any);
}

}  // namespace

Result<FrameStats> compute_frame_stats(const FrameView& frame, const TakeSeries& take) {
  FrameStats out;
  const std::function<void()> hand_over = [&out, &take] {
    if (!out.series.empty()) take(out.series);
    out.series.clear();
  };
  for (const SeriesDef& def : frame.defs()) out.series[def.id].def = def;
  if (take) hand_over();
  BlockStats blocks(&out);
  // Without an order, the series of a block are in no other block: their statistics are complete when they are read.
  for (const bool alone : {true, false}) {
    for (const FrameView::BlockView& block : frame.blocks())
      if (block.has_order != alone) TRACKER_RETURN_IF_ERROR(blocks.add(block, take && alone ? hand_over : nullptr));
    if (take && alone) hand_over();
  }
  if (take) hand_over();
  blocks.widen_by(frame.events());
  return out;
}

Result<FrameStats> compute_segment_stats(SegmentView* segment, const SegmentLog& log) {
  FrameStats out;
  for (const SeriesDef& def : log.defs) out.series[def.id].def = def;
  SegmentStats blocks(*segment, &out);
  TRACKER_RETURN_IF_ERROR(segment->check(&blocks));
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

void add_ids(const SeriesMap& series, std::vector<uint32_t>* ids) {
  const auto known = static_cast<std::ptrdiff_t>(ids->size());
  for (const auto& [id, stats] : series) ids->push_back(id);
  const auto middle = ids->begin() + known;
  if (known == 0 || middle == ids->end() || *(middle - 1) < *middle) return;
  std::inplace_merge(ids->begin(), middle, ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

namespace {

uint64_t count_of(const Attribute& attribute) {
  const int64_t* count = attribute.value.as_int();
  return count == nullptr ? 0 : static_cast<uint64_t>(std::max<int64_t>(0, *count));
}

}  // namespace

uint64_t WriterSnapshot::texts() const {
  uint64_t out = 0;
  for (const Attribute& attribute : attributes)
    if (attribute.type == EventType::kText) out += count_of(attribute);
  return out;
}

uint64_t WriterSnapshot::alerts() const {
  uint64_t out = 0;
  for (const Attribute& attribute : attributes)
    if (attribute.type == EventType::kAlert && attribute.key.empty()) out += count_of(attribute);
  return out;
}

PartsBefore parts_before(const WriterSnapshot& stored) {
  PartsBefore out{stored.last_seq, stored.missing.points, stored.texts() + stored.missing.texts, 0,
                  stored.end_of_log().points};
  for (const SeriesStats& series : stored.series)
    if (!is_system_series(series.def.name)) out.points += series.points;
  out.dropped = stored.dropped - std::min(stored.dropped, stored.missing.points);
  return out;
}

bool is_state(EventType type) {
  return type == EventType::kConfig || type == EventType::kSummary || type == EventType::kAttribute ||
         type == EventType::kMetric || type == EventType::kArtifact || type == EventType::kEnvironment;
}

Value state_payload(const Attribute& attribute) {
  return Value::Map{{"key", attribute.key}, {"value", attribute.value}};
}

void put_series(SeriesMap series, WriterSnapshot* out) {
  for (const Loss& loss : out->losses) {
    uint64_t& dropped = loss.series == kTextLosses    ? out->texts_dropped
                        : loss.series == kEntryLosses ? out->entries_dropped
                                                      : out->dropped;
    if (loss.reason != LossReason::kRejected) dropped += loss.count;  // a bad value never became a point
    const auto at = series.find(loss.series);
    if (at != series.end()) at->second.dropped += loss.count;
  }
  for (auto& [id, stats] : series) out->series.push_back(std::move(stats));
}

}  // namespace tracker::internal
