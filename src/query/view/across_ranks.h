// SPDX-License-Identifier: MIT
// A metric over the ranks of a distributed job: per step the smallest, mean and largest value and who holds the
// extremes. Exact: the resolved row of each rank of the newest attempt that has the step counts, so that what a larger
// world logged there before an elastic restart does not. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "query/view/attempts.h"
#include "query/view/run_view.h"

namespace tracker::internal {

// Columns of equal length, one row a step that any rank logged, ascending. An infinity is a number. A NaN is none: it
// is counted apart and takes part in neither extreme nor mean; where all values of a step are NaN, `count` is 0 and
// min, mean and max are NaN. An extreme that several ranks hold is the lowest one's.
struct AcrossRanks {
  ValueType type = ValueType::kFloat64;  // of min and max: the metric's own
  std::vector<int64_t> steps;
  std::vector<uint64_t> min_bits, max_bits;
  std::vector<double> mean;
  std::vector<int64_t> min_rank, max_rank;  // -1 where `count` is 0
  std::vector<int64_t> count, nan;          // ranks with a number, with a NaN
  std::vector<int64_t> ranks;               // that logged the metric at all, ascending
};

// `rows`: every row of the metric, as history(all=true) gives them. Rows without a step are left out. Cost: a sort of
// the rows by step and rank.
AcrossRanks across_ranks(History rows, const Shadow& shadow, DuplicatePolicy policy);

}  // namespace tracker::internal
