// SPDX-License-Identifier: MIT
// The rows of one series in a segment, over all blocks that have it. Threads: pure functions. Cost: series_place reads
// the directory only; read_series decodes the columns of the series, and merges if several blocks have it.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/segment.h"

namespace tracker::internal {

// The directory's data of a series.
struct SeriesPlace {
  std::vector<std::pair<size_t, size_t>> columns;  // (block, position in SegmentBlock::series)
  ValueType type = ValueType::kFloat64;
  uint64_t rows = 0;
  uint64_t stepped = 0;  // rows with a step
  bool rising = false;   // true: all rows have steps, are in one block, and each step is greater than the previous one
  int64_t step_min = 0, step_max = 0;  // valid with stepped > 0
  bool all_have_steps() const { return stepped == rows; }
};
// Without columns: the series is not in the segment. kCorrupt: the segment has it with two types.
Result<SeriesPlace> series_place(const SegmentView& segment, uint32_t series);

// Rows by step; rows with equal steps are in no particular order.
struct SeriesRows {
  std::vector<int64_t> steps;
  std::vector<int64_t> times;  // empty if not requested
  std::vector<uint64_t> bits;
};
void sort_by_step(SeriesRows* rows);
// All rows of `place`; all of them have steps. Failures: those of the view's columns.
Status read_series(SegmentView* segment, const SeriesPlace& place, bool with_times, SeriesRows* out);

// Whether each step is greater than the previous one.
bool rises(const std::vector<int64_t>& steps);

}  // namespace tracker::internal
