// SPDX-License-Identifier: MIT
// The rows that a SegmentBuilder has gathered, by shape, each with its ordinal in the raw order (segment.h).
// Threads: values, no sharing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codec/segment.h"

namespace tracker::internal {

// Rows of one shape.
struct ShapeRows {
  bool has_steps = false;
  std::vector<uint32_t> series;  // ids rising
  std::vector<ValueType> types;
  std::vector<int64_t> steps;
  std::vector<int64_t> times_us;
  std::vector<uint64_t> ordinals;
  std::vector<std::string> values;  // [series]: raw bits, each of the type's width
  uint64_t rows() const { return times_us.size(); }
  size_t row_bytes() const;
  // The values of one series in 8 bytes each.
  void widen(size_t i, std::vector<uint64_t>* out) const;
  void append(const ShapeRows& other);
};

class SegmentRows {
 public:
  // Decoded, so that what follows cannot fail. kCorrupt, kVersion.
  static Result<SegmentRows> of(const FrameView& frame);
  static Result<SegmentRows> of(SegmentView* segment);

  // Rows behind all that are here.
  void append(SegmentRows later);

  std::vector<ShapeRows>& shapes() { return shapes_; }
  uint64_t rows() const { return rows_; }
  uint64_t cells() const { return cells_; }  // as kSegmentCellsMax counts them
  uint64_t points() const { return points_; }
  size_t bytes() const { return bytes_; }

 private:
  using Shape = std::pair<bool, std::vector<std::pair<uint32_t, ValueType>>>;
  void add(ShapeRows rows);

  std::map<Shape, size_t> by_shape_;  // position in shapes_
  std::vector<ShapeRows> shapes_;
  uint64_t ordinals_ = 0;  // the next one
  uint64_t rows_ = 0, cells_ = 0, points_ = 0;
  size_t bytes_ = 0;
};

}  // namespace tracker::internal
