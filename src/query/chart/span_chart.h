// SPDX-License-Identifier: MIT
// Charts over time and over another metric, read a segment at a time. Threads: as RunView. Cost: reads the rows twice,
// some 10 ns each; memory: a few segments' columns, and 24 bytes a row where the other metric falls along the steps.
#pragma once

#include <optional>

#include "query/chart/chart_query.h"
#include "query/rows/selection.h"

namespace tracker::internal {

// The chart, bit by bit that of all rows in memory. None where these are needed: a .frames file, damage, two types of
// the metric in one writer; over time rows without a step, or times that go back along the steps more than
// kTimeStretchesMax times; over a metric integers beyond 2^53. Errors: those of query_chart().
Result<std::optional<ChartResult>> chart_by_spans(RunView* run, const ChartQuery& query, const Selection& selection);

}  // namespace tracker::internal
