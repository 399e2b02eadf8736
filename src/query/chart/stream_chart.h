// SPDX-License-Identifier: MIT
// The chart of a stream of rows, smoothed where that is asked for. Threads: as the stream.
#pragma once

#include "query/chart/chart_query.h"
#include "query/chart/row_stream.h"

namespace tracker::internal {

// `count`: of all rows of the stream, with the window and the reach of `query`. Fills all but left_out. Errors: those
// of the stream, check_window, smooth. Cost: reads the window once, 1.4 ns a row beyond the stream's own; a smoother
// that works on points keeps 24 bytes of each row that reaches into the window.
template <typename X>
Result<ChartResult> chart_of_stream(RowStream<X>* stream, const WindowCount<X>& count, const ChartQuery& query);

// Whether the curve is taken on points, not on cells.
template <typename X>
bool smooths_points(const Smoothing& smoothing, const Chart<X>& chart, const CellGrid<X>& grid) {
  return chart.points || smoothing.kind == Smoother::kTensorBoard || smoothing.window < kSmoothCellsMin * grid.width();
}

}  // namespace tracker::internal
