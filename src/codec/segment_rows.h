// SPDX-License-Identifier: MIT
// The rows that a SegmentBuilder has gathered, by shape, each with its ordinal in the raw order (segment.h).
// Threads: values, no sharing. Memory: the rows at their own width, 5 bytes a series of a shape, and about 50 bytes a
// piece: there may be 100,000 series of few rows.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/segment.h"

namespace tracker::internal {

template <typename T>
void append_to(std::vector<T>* to, const std::vector<T>& from) {
  to->insert(to->end(), from.begin(), from.end());
}

// How many shapes the rows of a frame's block need: as many as it repeats one series. Each has its own steps, times and
// ordinals, so a few bytes of a frame may expand to many.
size_t shapes_in(const FrameView::BlockView& block);

// Rows of one shape.
struct ShapeRows {
  bool has_steps = false;
  std::vector<uint32_t> series;  // ids rising
  std::vector<ValueType> types;
  std::vector<int64_t> steps;
  std::vector<int64_t> times_us;
  std::vector<uint64_t> ordinals;
  // Values of adjacent rows as they arrived: the column of each series, raw bits at the type's width, one after the
  // other.
  struct Piece {
    uint64_t rows = 0;
    std::string columns;
  };
  std::vector<Piece> pieces;

  uint64_t rows() const { return times_us.size(); }
  size_t values_width() const;  // of a row
  size_t row_bytes() const { return (has_steps ? 24 : 16) + values_width(); }
  bool same_shape(const ShapeRows& other) const;
  // The values of series i in 8 bytes each; `before`: the sum of the widths of the series before it.
  void widen(size_t i, size_t before, std::vector<uint64_t>* out) const;
  void append(ShapeRows other);  // of the same shape
  ShapeRows between(uint64_t begin, uint64_t end) const;
};

class SegmentRows {
 public:
  // Decodes all rows, so that the next steps cannot fail. kCorrupt, kVersion.
  static Result<SegmentRows> of(const FrameView& frame);
  static Result<SegmentRows> of(SegmentView* segment);

  // Appends rows that follow all rows so far.
  void append(SegmentRows later);
  // The rows with an ordinal in [begin, end), renumbered from 0.
  SegmentRows between(uint64_t begin, uint64_t end) const;

  std::vector<ShapeRows>& shapes() { return shapes_; }
  uint64_t rows() const { return rows_; }
  uint64_t cells() const { return cells_; }  // counted as for kSegmentCellsMax
  uint64_t points() const { return points_; }
  size_t bytes() const { return bytes_; }

 private:
  void add(ShapeRows rows);

  std::unordered_multimap<uint64_t, uint32_t> by_shape_;  // hash, position in shapes_
  std::vector<ShapeRows> shapes_;
  uint64_t rows_ = 0, cells_ = 0, points_ = 0;
  size_t bytes_ = 0;
};

}  // namespace tracker::internal
