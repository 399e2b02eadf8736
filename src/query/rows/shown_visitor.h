// SPDX-License-Identifier: MIT
// Adds up the rows of a log that no resume shadows, without holding them. Of a segment's block whose rows are all
// shown, or all shadowed, the directory tells enough; a block in which the step of the resume lies, and frames, are
// decoded. Threads: one at a time. Memory: the columns of steps, times, order and one series of a block.
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
  bool read = false;       // else only its time is known,
  uint64_t after_seq = 0;  // and that it is in the segment after this frame
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
  // Rows with a step after `shown_up_to` are shadowed. `decode_all`: directories are not used.
  ShownVisitor(const ShownColumns& columns, size_t metrics, int64_t shown_up_to, bool decode_all);
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
    bool ordered = true;      // all of its blocks have an order
    bool summarized = false;  // of the first and the last row only the times are known
  };
  Result<bool> wanted(std::span<const uint32_t> series, std::span<const ValueType> types, bool has_order);
  Status decode(RowBlock* block, const OrdinalRange* ordinals, bool segment);
  void summarize(const SegmentBlock& block);
  void add_ends(const ShownBlock& rows, ValueType type, const std::vector<uint64_t>& bits, bool by_order, Unit* unit);
  Unit& unit_of(size_t metric);
  void begin();
  void commit(uint64_t after_seq);

  const ShownColumns& columns_;
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

// Reads the first and the last row of metrics in a segment whose times alone are known: the first thing it is given.
class ShownEndVisitor : public LogVisitor {
 public:
  struct Wanted {
    bool first = false, last = false;
    int64_t first_us = 0, last_us = 0;
  };
  // Parallel to `metrics` of the columns.
  ShownEndVisitor(const ShownColumns& columns, std::vector<Wanted> wanted, int64_t shown_up_to);
  Result<bool> frame(const FrameView& frame) override;
  Result<bool> segment(SegmentView* segment, PointRange* wanted) override;
  // What was wanted of the metric; not `read`: it is not there.
  const ShownRow& first(size_t metric) const { return found_[metric].first.row; }
  const ShownRow& last(size_t metric) const { return found_[metric].last.row; }
  uint64_t decoded_blocks() const { return decoded_blocks_; }

 private:
  struct Place {
    ShownRow row;
    bool there = false;
    size_t block = 0, series = 0;
    uint64_t number = 0;
    int64_t order = 0;
  };
  struct Found {
    Place first, last;
  };
  bool may_hold_any(const SegmentBlock& block) const;
  void look(const SegmentBlock& about, size_t block, const ShownBlock& rows);
  Status read_value(SegmentView* segment, Place* place);

  const ShownColumns& columns_;
  const std::vector<Wanted> wanted_;
  const int64_t shown_up_to_;
  std::vector<Found> found_;
  uint64_t decoded_blocks_ = 0;
};

}  // namespace tracker::internal
