// SPDX-License-Identifier: MIT
// The rows of one series in a segment, over all blocks that have it. Threads: pure functions. Cost: series_place looks
// at the directory only; read_series decodes the columns of the series, and merges where several blocks have it.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/segment.h"

namespace tracker::internal {

// What the directory says of a series.
struct SeriesPlace {
  std::vector<std::pair<size_t, size_t>> columns;  // (block, position in SegmentBlock::series)
  ValueType type = ValueType::kFloat64;
  uint64_t rows = 0;
  uint64_t stepped = 0;  // rows with a step
  bool rising = false;  // known to be: all have steps, stand in one block, and each step is greater than the one before
  int64_t step_min = 0, step_max = 0;  // valid with stepped > 0
  bool all_have_steps() const { return stepped == rows; }
};
// Without columns: the series is not in the segment. kCorrupt: it stands there as two types.
Result<SeriesPlace> series_place(const SegmentView& segment, uint32_t series);

// Rows by step; of equal steps in no particular order.
struct SeriesRows {
  std::vector<int64_t> steps;
  std::vector<int64_t> times;  // empty: they were not asked for
  std::vector<uint64_t> bits;
};
void sort_by_step(SeriesRows* rows);
// All rows of `place`, whose rows all have steps. Failures: those of the view's columns.
Status read_series(SegmentView* segment, const SeriesPlace& place, bool with_times, SeriesRows* out);

// Whether each is greater than the one before.
bool rises(const std::vector<int64_t>& steps);

}  // namespace tracker::internal
