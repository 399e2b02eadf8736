// SPDX-License-Identifier: MIT
// Adds up the rows of a log that no resume shadows, without holding them. Of a segment's block whose rows are all
// shown, or all shadowed, the directory is enough; frames, and blocks in which the step of the resume or the
// first or last row lies, are decoded. Threads: one at a time. Memory: the columns of steps, times, order and one
// series of a block.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "query/rows/row_block.h"
#include "storage/log/log_visitor.h"

namespace tracker::internal {

// The first or the last row, by time, of some.
struct ShownRow {
  int64_t time_us = 0;
  bool read = false;  // else only its time is known
  ValueType type = ValueType::kFloat64;
  uint64_t bits = 0;
  int64_t step = 0;
};

// Of the rows of one metric in one writer. Of rows with one time the earlier one logged is the first, the later one the
// last.
struct ShownPart {
  uint64_t points = 0, finite = 0, nan = 0;
  double min = 0, max = 0, sum = 0;  // as in ShownStats
  ShownRow first, last;              // valid with points > 0
};
// Adds rows that were logged after those of `into`.
void append_part(const ShownPart& later, ShownPart* into);

// Which series belong to which metric. A metric is its position in a list; one logged as several types has several.
struct ShownColumn {
  size_t metric = 0;
  ValueType type = ValueType::kFloat64;
};
using ShownColumns = std::unordered_map<uint32_t, ShownColumn>;

// A block's rows, decoded but for the values.
struct ShownBlock {
  bool has_steps = false;
  std::vector<int64_t> steps, times, order;
  std::vector<uint32_t> rows;  // those that are shown and wanted
};

class ShownVisitor : public LogVisitor {
 public:
  // Rows with a step above `shown_up_to` are shadowed. `ends`: of each metric, with the times of its first and last row
  // as far as they are known; the blocks that may hold these rows are decoded. `decode_all`: every block is.
  ShownVisitor(const ShownColumns& columns, std::vector<ShownPart> ends, int64_t shown_up_to, bool decode_all);
  Result<bool> frame(const FrameView& frame) override;
  Result<bool> segment(SegmentView* segment, PointRange* wanted) override;
  const std::vector<ShownPart>& parts() const { return parts_; }  // a metric
  uint64_t decoded_blocks() const { return decoded_blocks_; }

 private:
  // Of a metric in the frame or segment that is being read.
  struct Unit {
    ShownPart part;
    int64_t first_order = 0, last_order = 0;
    size_t blocks = 0;
    bool ordered = true;  // all of its blocks have an order
  };
  Result<bool> wanted(std::span<const uint32_t> series, std::span<const ValueType> types, bool has_order);
  Status decode(RowBlock* block, const OrdinalRange* ordinals, bool segment);
  bool may_hold_end(const SegmentBlock& block) const;
  void summarize(const SegmentBlock& block);
  void add_ends(const ShownBlock& rows, ValueType type, const std::vector<uint64_t>& bits, bool by_order, Unit* unit);
  Unit& unit_of(size_t metric);
  void begin();
  void commit();

  const ShownColumns& columns_;
  const std::vector<ShownPart> ends_;
  const int64_t shown_up_to_;
  const bool decode_all_;
  std::vector<ShownPart> parts_;
  std::vector<Unit> units_;
  std::vector<size_t> touched_;  // of units_
  ShownBlock rows_;
  std::vector<uint64_t> bits_;
  std::vector<double> values_;
  uint64_t decoded_blocks_ = 0;
};

}  // namespace tracker::internal
