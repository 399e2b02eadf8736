// SPDX-License-Identifier: MIT
#include "codec/segment_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "codec/columns.h"

namespace tracker::internal {
namespace {

template <typename T>
void append_to(std::vector<T>* to, const std::vector<T>& from) {
  to->insert(to->end(), from.begin(), from.end());
}

template <typename Word>
void widen_to(const std::string& values, std::vector<uint64_t>* out) {
  out->resize(values.size() / sizeof(Word));
  for (size_t i = 0; i < out->size(); ++i) {
    Word word;
    std::memcpy(&word, values.data() + i * sizeof word, sizeof word);
    (*out)[i] = word;
  }
}

// The columns of a frame's block that may stand in one block of a segment: all, but that a series that is named twice
// gives a shape of its own the second time. Positions of series, each list sorted by id.
std::vector<std::vector<size_t>> parts_of(const FrameView::BlockView& block) {
  std::vector<size_t> by_id(block.series.size());
  std::iota(by_id.begin(), by_id.end(), size_t{0});
  std::stable_sort(by_id.begin(), by_id.end(), [&](size_t a, size_t b) { return block.series[a] < block.series[b]; });
  std::vector<std::vector<size_t>> parts(1);
  size_t repeats = 0;
  for (size_t i = 0; i < by_id.size(); ++i) {
    repeats = i > 0 && block.series[by_id[i]] == block.series[by_id[i - 1]] ? repeats + 1 : 0;
    if (repeats == parts.size()) parts.emplace_back();
    parts[repeats].push_back(by_id[i]);
  }
  return parts;
}

Status read_block(const FrameView::BlockView& block, std::vector<ShapeRows>* out) {
  ShapeRows shared;
  shared.has_steps = block.has_steps;
  if (block.has_steps) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.steps, block.rows, &shared.steps));
  TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.times, block.rows, &shared.times_us));
  std::vector<int64_t> order;
  if (block.has_order) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.order, block.rows, &order));
  shared.ordinals.assign(order.begin(), order.end());
  for (const auto& part : parts_of(block)) {
    ShapeRows rows = shared;
    for (const size_t i : part) {
      rows.series.push_back(block.series[i]);
      rows.types.push_back(block.types[i]);
      TRACKER_RETURN_IF_ERROR(check_length(block.values[i], block.rows, block.types[i]));
      std::string& values = rows.values.emplace_back(block.rows * value_width(block.types[i]), '\0');
      TRACKER_RETURN_IF_ERROR(decode_rows(block.values[i], block.rows, block.types[i], RowRange(), values.data()));
    }
    out->push_back(std::move(rows));
  }
  return {};
}

// Numbers the rows of a frame's blocks in the raw order.
void number_rows(std::vector<ShapeRows>* blocks) {
  struct Row {
    int64_t place;  // in its frame; the greatest of its block so far
    uint64_t* ordinal;
  };
  std::vector<Row> order;
  for (ShapeRows& block : *blocks) {
    const bool given = !block.ordinals.empty();
    block.ordinals.resize(block.rows());
    int64_t place = INT64_MIN;
    for (uint64_t row = 0; row < block.rows(); ++row) {
      place = std::max(place, static_cast<int64_t>(given ? block.ordinals[row] : row));
      order.push_back({place, &block.ordinals[row]});
    }
  }
  if (blocks->size() > 1)
    std::stable_sort(order.begin(), order.end(), [](const Row& a, const Row& b) { return a.place < b.place; });
  uint64_t ordinal = 0;
  for (const Row& row : order) *row.ordinal = ordinal++;
}

}  // namespace

size_t ShapeRows::row_bytes() const {
  size_t bytes = has_steps ? 24 : 16;
  for (const ValueType type : types) bytes += value_width(type);
  return bytes;
}

void ShapeRows::widen(size_t i, std::vector<uint64_t>* out) const {
  switch (value_width(types[i])) {
    case 1: return widen_to<uint8_t>(values[i], out);
    case 2: return widen_to<uint16_t>(values[i], out);
    case 4: return widen_to<uint32_t>(values[i], out);
    default: return widen_to<uint64_t>(values[i], out);
  }
}

void ShapeRows::append(const ShapeRows& other) {
  append_to(&steps, other.steps);
  append_to(&times_us, other.times_us);
  append_to(&ordinals, other.ordinals);
  for (size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
}

void SegmentRows::add(ShapeRows rows) {
  if (rows.rows() == 0 || rows.series.empty()) return;
  rows_ += rows.rows();
  cells_ += rows.rows() * (rows.series.size() + 3);
  points_ += rows.rows() * rows.series.size();
  bytes_ += rows.rows() * rows.row_bytes();
  Shape shape{rows.has_steps, {}};
  for (size_t i = 0; i < rows.series.size(); ++i) shape.second.emplace_back(rows.series[i], rows.types[i]);
  const auto [at, is_new] = by_shape_.try_emplace(std::move(shape), shapes_.size());
  if (is_new) shapes_.push_back(std::move(rows));
  else shapes_[at->second].append(rows);
}

Result<SegmentRows> SegmentRows::of(const FrameView& frame) {
  std::vector<ShapeRows> blocks;
  for (const FrameView::BlockView& block : frame.blocks()) TRACKER_RETURN_IF_ERROR(read_block(block, &blocks));
  number_rows(&blocks);
  SegmentRows out;
  for (ShapeRows& block : blocks) out.ordinals_ += block.rows();
  // Blocks of one shape but another order of series: their rows are merged by ordinal when the segment is written.
  for (ShapeRows& block : blocks) out.add(std::move(block));
  return out;
}

Result<SegmentRows> SegmentRows::of(SegmentView* segment) {
  SegmentRows out;
  for (size_t b = 0; b < segment->blocks().size(); ++b) {
    const SegmentBlock& block = segment->blocks()[b];
    ShapeRows rows;
    rows.has_steps = block.has_steps;
    rows.series = block.series;
    rows.types = block.types;
    rows.times_us.resize(block.rows);
    rows.ordinals.resize(block.rows);
    if (block.has_steps) {
      rows.steps.resize(block.rows);
      TRACKER_RETURN_IF_ERROR(segment->steps(b, RowRange(), rows.steps.data()));
    }
    TRACKER_RETURN_IF_ERROR(segment->times(b, RowRange(), rows.times_us.data()));
    TRACKER_RETURN_IF_ERROR(segment->order(b, RowRange(), rows.ordinals.data()));
    for (size_t i = 0; i < block.series.size(); ++i) {
      std::string& values = rows.values.emplace_back(block.rows * value_width(block.types[i]), '\0');
      TRACKER_RETURN_IF_ERROR(segment->values(b, i, RowRange(), values.data()));
    }
    const uint64_t last = *std::max_element(rows.ordinals.begin(), rows.ordinals.end());
    out.ordinals_ = std::max(out.ordinals_, last + 1);
    out.add(std::move(rows));
  }
  return out;
}

void SegmentRows::append(SegmentRows later) {
  for (ShapeRows& shape : later.shapes_) {
    for (uint64_t& ordinal : shape.ordinals) ordinal += ordinals_;
    add(std::move(shape));
  }
  ordinals_ += later.ordinals_;
}

}  // namespace tracker::internal
