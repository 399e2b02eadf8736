// SPDX-License-Identifier: MIT
// The view by step in the order of its times, where that is the same one: then charts over time are put together from
// levels over times, as those over steps are from levels over steps. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "query/chart/step_spans.h"

namespace tracker::internal {

// Rows in segments without a level over times whose times are decoded for a chart. Where there are more, nearly all of
// the chart would be decoded, and each row twice.
constexpr uint64_t kUnleveledRowsMax = 1 << 20;

// What of `spans`, which are of a view whose pieces have times, lies from `lo` to `hi` of time, both in it; `first` and
// `last` are times. None: times fall along the steps, or more than kUnleveledRowsMax rows have no level. Cost: decodes
// the times of the segments at both ends, and of those without a level. Failures: those of StepPieces.
Result<std::optional<std::vector<StepSpan>>> spans_by_time(StepPieces* pieces, const std::vector<StepSpan>& spans,
                                                           int64_t lo, int64_t hi);

}  // namespace tracker::internal
