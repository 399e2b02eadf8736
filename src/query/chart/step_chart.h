// SPDX-License-Identifier: MIT
// Charts over steps and over time from levels (storage/database/levels.h), decoding only what these do not contain.
// Threads: as RunView.
#pragma once

#include <optional>

#include "query/chart/chart_query.h"
#include "query/rows/selection.h"

namespace tracker::internal {

// The chart that decoding all rows gives, but for the last bits of sums. None: it must be decoded, as what is there, or
// the smoother, needs every row; over time also where times fall along the steps, and where more than kUnleveledRowsMax
// rows have no level over times. `selection`: of the query, with the steps that it needs. Errors:
// those of RunView::read and check_window.
Result<std::optional<ChartResult>> chart_by_levels(RunView* run, const ChartQuery& query, const Selection& selection);

}  // namespace tracker::internal
