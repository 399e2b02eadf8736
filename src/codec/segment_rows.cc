// SPDX-License-Identifier: MIT
#include "codec/segment_rows.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <span>

#include "codec/columns.h"

namespace tracker::internal {
namespace {

template <typename Word>
void widen_to(const std::vector<ShapeRows::Piece>& pieces, size_t before, uint64_t* out) {
  for (const ShapeRows::Piece& piece : pieces) {
    const char* at = piece.columns.data() + piece.rows * before;
    for (uint64_t row = 0; row < piece.rows; ++row, at += sizeof(Word)) {
      Word word;
      std::memcpy(&word, at, sizeof word);
      *out++ = word;
    }
  }
}

uint64_t shape_hash(const ShapeRows& rows) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  uint64_t hash = rows.has_steps ? 1 : 2;
  for (size_t i = 0; i < rows.series.size(); ++i) {
    hash = (hash ^ (uint64_t{rows.series[i]} << 8 | static_cast<uint8_t>(rows.types[i]))) * kOdd;
    hash ^= hash >> 29;
  }
  return hash;
}

// Decodes columns one after the other into one string. Decoders write whole words: if the place of a column is not
// aligned for its type, it is decoded to another buffer and copied.
class ColumnsOut {
 public:
  ColumnsOut(uint64_t rows, size_t row_width) : rows_(rows), columns_(rows * row_width, '\0') {}

  // `decode`: takes a void*, returns a Status.
  template <typename Decode>
  Status add(size_t width, const Decode& decode) {
    char* const to = columns_.data() + at_;
    const size_t bytes = rows_ * width;
    at_ += bytes;
    if (reinterpret_cast<uintptr_t>(to) % width == 0) return decode(to);
    aside_.resize((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    TRACKER_RETURN_IF_ERROR(decode(aside_.data()));
    std::memcpy(to, aside_.data(), bytes);
    return {};
  }
  ShapeRows::Piece take() { return {rows_, std::move(columns_)}; }

 private:
  uint64_t rows_;
  std::string columns_;
  size_t at_ = 0;
  std::vector<uint64_t> aside_;
};

// Splits the columns of a frame's block for blocks of a segment, in which each series occurs once: the second column of
// a repeated series is in a shape of its own. Positions of series, each list sorted by id.
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

// The columns of `part`, and the steps, times and ordinals of the rows.
Result<ShapeRows> read_part(const FrameView::BlockView& block, std::span<const size_t> part, ShapeRows rows) {
  rows.series.reserve(part.size());
  rows.types.reserve(part.size());
  for (const size_t i : part) {
    rows.series.push_back(block.series[i]);
    rows.types.push_back(block.types[i]);
    TRACKER_RETURN_IF_ERROR(check_length(block.values[i], block.rows, block.types[i]));
  }
  ColumnsOut columns(block.rows, rows.values_width());
  for (const size_t i : part)
    TRACKER_RETURN_IF_ERROR(columns.add(value_width(block.types[i]), [&](void* to) {
      return decode_rows(block.values[i], block.rows, block.types[i], RowRange(), to);
    }));
  rows.pieces.push_back(columns.take());
  return rows;
}

Status read_block(const FrameView::BlockView& block, std::vector<ShapeRows>* out) {
  ShapeRows shared;
  shared.has_steps = block.has_steps;
  if (block.has_steps) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.steps, block.rows, &shared.steps));
  TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.times, block.rows, &shared.times_us));
  std::vector<int64_t> order;
  if (block.has_order) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.order, block.rows, &order));
  shared.ordinals.assign(order.begin(), order.end());
  constexpr size_t kOnly[] = {0};  // the usual block of a program that logs one metric in each call
  const auto parts = block.series.size() == 1 ? std::vector<std::vector<size_t>>() : parts_of(block);
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    auto rows = read_part(block, parts[i], shared);
    if (!rows.ok()) return rows.status();
    out->push_back(std::move(*rows));
  }
  auto rows = read_part(block, parts.empty() ? std::span<const size_t>(kOnly) : parts.back(), std::move(shared));
  if (!rows.ok()) return rows.status();
  out->push_back(std::move(*rows));
  return {};
}

// Numbers the rows of a frame's blocks in the raw order.
void number_rows(std::vector<ShapeRows>* blocks) {
  struct Row {
    int64_t place;  // ordinal in its frame; the greatest so far of its block
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

size_t shapes_in(const FrameView::BlockView& block) {
  if (block.series.size() < 2) return 1;
  std::vector<uint32_t> ids(block.series.begin(), block.series.end());
  std::sort(ids.begin(), ids.end());
  size_t most = 1, run = 1;
  for (size_t i = 1; i < ids.size(); ++i) {
    run = ids[i] == ids[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  return most;
}

size_t ShapeRows::values_width() const {
  size_t bytes = 0;
  for (const ValueType type : types) bytes += value_width(type);
  return bytes;
}

bool ShapeRows::same_shape(const ShapeRows& other) const {
  return has_steps == other.has_steps && series == other.series && types == other.types;
}

void ShapeRows::widen(size_t i, size_t before, std::vector<uint64_t>* out) const {
  out->resize(rows());
  switch (value_width(types[i])) {
    case 1: return widen_to<uint8_t>(pieces, before, out->data());
    case 2: return widen_to<uint16_t>(pieces, before, out->data());
    case 4: return widen_to<uint32_t>(pieces, before, out->data());
    default: return widen_to<uint64_t>(pieces, before, out->data());
  }
}

void ShapeRows::append(ShapeRows other) {
  append_to(&steps, other.steps);
  append_to(&times_us, other.times_us);
  append_to(&ordinals, other.ordinals);
  std::move(other.pieces.begin(), other.pieces.end(), std::back_inserter(pieces));
}

ShapeRows ShapeRows::between(uint64_t begin, uint64_t end) const {
  ShapeRows out;
  out.has_steps = has_steps;
  out.series = series;
  out.types = types;
  const auto is_taken = [&](uint64_t row) { return ordinals[row] >= begin && ordinals[row] < end; };
  uint64_t before = 0;  // rows of the pieces so far
  for (const Piece& piece : pieces) {
    Piece taken;
    for (uint64_t row = before; row < before + piece.rows; ++row) {
      if (!is_taken(row)) continue;
      if (has_steps) out.steps.push_back(steps[row]);
      out.times_us.push_back(times_us[row]);
      out.ordinals.push_back(ordinals[row] - begin);
      ++taken.rows;
    }
    size_t at = 0;
    for (const ValueType type : types)
      for (uint64_t row = 0; row < piece.rows; ++row, at += value_width(type))
        if (is_taken(before + row)) taken.columns.append(piece.columns, at, value_width(type));
    before += piece.rows;
    out.pieces.push_back(std::move(taken));
  }
  return out;
}

void SegmentRows::add(ShapeRows rows) {
  if (rows.rows() == 0) return;
  rows_ += rows.rows();
  cells_ += rows.rows() * (rows.series.size() + 3);
  points_ += rows.rows() * rows.series.size();
  bytes_ += rows.rows() * rows.row_bytes();
  const uint64_t hash = shape_hash(rows);
  const auto [first, last] = by_shape_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (shapes_[at->second].same_shape(rows)) return shapes_[at->second].append(std::move(rows));
  bytes_ += rows.series.size() * kSegmentColumnBytes;
  by_shape_.emplace(hash, static_cast<uint32_t>(shapes_.size()));
  shapes_.push_back(std::move(rows));
}

Result<SegmentRows> SegmentRows::of(const FrameView& frame) {
  std::vector<ShapeRows> blocks;
  blocks.reserve(frame.blocks().size());
  for (const FrameView::BlockView& block : frame.blocks())
    if (!block.series.empty()) TRACKER_RETURN_IF_ERROR(read_block(block, &blocks));
  number_rows(&blocks);
  SegmentRows out;
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
    ColumnsOut columns(block.rows, rows.values_width());
    for (size_t i = 0; i < block.series.size(); ++i)
      TRACKER_RETURN_IF_ERROR(
          columns.add(value_width(block.types[i]), [&](void* to) { return segment->values(b, i, RowRange(), to); }));
    rows.pieces.push_back(columns.take());
    out.add(std::move(rows));
  }
  return out;
}

void SegmentRows::append(SegmentRows later) {
  const uint64_t before = rows_;
  for (ShapeRows& shape : later.shapes_) {
    for (uint64_t& ordinal : shape.ordinals) ordinal += before;
    add(std::move(shape));
  }
}

SegmentRows SegmentRows::between(uint64_t begin, uint64_t end) const {
  SegmentRows out;
  for (const ShapeRows& shape : shapes_) out.add(shape.between(begin, end));
  return out;
}

}  // namespace tracker::internal
