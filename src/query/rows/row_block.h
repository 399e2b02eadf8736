// SPDX-License-Identifier: MIT
// A block of rows of one shape as readers want it, whether it is in a frame or in a segment; and which of a
// segment's rows lie within a range of its points. Threads: one at a time. Cost: what decoding the columns costs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/frame.h"
#include "codec/segment.h"
#include "query/rows/selection.h"
#include "storage/log/log_visitor.h"

namespace tracker::internal {

class RowBlock {
 public:
  virtual ~RowBlock() = default;
  uint64_t rows() const { return rows_; }
  bool has_steps() const { return has_steps_; }
  bool has_order() const { return has_order_; }
  std::span<const uint32_t> series() const { return series_; }
  std::span<const ValueType> types() const { return types_; }

  // Appended: rows() each. Order: ordinals among all rows of the frame or segment; call it with has_order() only.
  virtual Status steps(std::vector<int64_t>* out) = 0;
  virtual Status times(std::vector<int64_t>* out) = 0;
  virtual Status order(std::vector<int64_t>* out) = 0;
  // `i`: position in series().
  virtual Status values(size_t i, std::vector<uint64_t>* out) = 0;

 protected:
  uint64_t rows_ = 0;
  bool has_steps_ = false, has_order_ = false;
  std::span<const uint32_t> series_;
  std::span<const ValueType> types_;
};

class FrameRowBlock : public RowBlock {
 public:
  explicit FrameRowBlock(const FrameView::BlockView& block);
  Status steps(std::vector<int64_t>* out) override;
  Status times(std::vector<int64_t>* out) override;
  Status order(std::vector<int64_t>* out) override;
  Status values(size_t i, std::vector<uint64_t>* out) override;

 private:
  const FrameView::BlockView& block_;
};

class SegmentRowBlock : public RowBlock {
 public:
  // `with_order`: row numbers take the place of a column that is not there.
  SegmentRowBlock(SegmentView* segment, size_t block, bool with_order);
  // Leaves out rows at either end that lie outside the ranges; those between may too. Cost: of sorted steps a search by
  // halves, and two mini-blocks at each end, of others and of times the whole column, unless the directory says that
  // all of them lie in the range. kCorrupt: steps that fall where the block says they do not; steps() says it of those
  // between.
  Status narrow(const std::optional<Int64Range>& steps, const std::optional<Int64Range>& times_us);
  Status steps(std::vector<int64_t>* out) override;
  Status times(std::vector<int64_t>* out) override;
  Status order(std::vector<int64_t>* out) override;
  Status values(size_t i, std::vector<uint64_t>* out) override;

 private:
  Status narrow_sorted_steps(const Int64Range& wanted);
  Status first_step_not_below(int64_t bound, uint64_t* row) const;
  Status check_sorted(RowRange rows) const;
  Status unsorted() const;
  template <typename Read>
  Status narrow_column(const Int64Range& wanted, Read&& read);

  SegmentView* const segment_;
  const size_t block_;
  RowRange range_;               // rows() of them
  bool must_be_sorted_ = false;  // their steps: so they were found
};

// Whether the directory rules out that a row of the block lies in the ranges.
bool may_hold(const SegmentBlock& block, const std::optional<Int64Range>& steps,
              const std::optional<Int64Range>& times_us);

// Ordinals from `first` on, below `last`.
struct OrdinalRange {
  int64_t first = 0, last = INT64_MAX;
};

// The rows of a segment by their ordinals, with the points of each. Cost: reads the order columns; 16 bytes a row.
class SegmentOrder {
 public:
  static Result<SegmentOrder> of(SegmentView* segment);
  // The ordinals of the rows whose points begin in the range.
  OrdinalRange ordinals(const PointRange& points) const;
  // The points of the rows with ordinals below.
  uint64_t points_below(int64_t ordinal) const;

 private:
  struct Row {
    int64_t ordinal = 0;
    uint64_t points_before = 0;
  };
  std::vector<Row> rows_;  // by ordinal
  uint64_t points_ = 0;
};

}  // namespace tracker::internal
