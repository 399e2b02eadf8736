// SPDX-License-Identifier: MIT
// Charts of a run's metrics: which rows, on which axis, in how many pixels, smoothed how. Threads: as RunView.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "query/chart/chart.h"
#include "query/chart/smooth.h"
#include "query/view/run_view.h"

namespace tracker::internal {

enum class ChartAxis : uint8_t { kStep, kTime, kMetric };

struct ChartQuery {
  std::string metric;
  ChartAxis axis = ChartAxis::kStep;
  std::string x_metric = {};  // of kMetric: joined on the step, last value
  // The window, both ends in it; none: where the rows begin or end. Steps and µs are int64, a metric's x double.
  std::optional<int64_t> lo_int = {}, hi_int = {};
  std::optional<double> lo = {}, hi = {};
  uint32_t pixels = 2000;
  std::optional<std::vector<int64_t>> attempts = {}, ranks = {};
  Smoothing smoothing = {};  // its window in units of x (µs on kTime)
  bool decode_all = false;   // all rows in memory: slow; the same cells, over steps but for the last bits of sums
};

struct ChartResult {
  std::variant<Chart<int64_t>, Chart<double>> chart;
  std::vector<double> smoothed;  // one a cell; empty without smoothing
  uint64_t rows = 0;             // in the window
  uint64_t left_out = 0;         // rows without an x: without a step, or where x has no finite number
};

// The resolved rows on the axis asked for. Errors: those of RunView::read, check_window, check_smoothing. A smoothed
// curve sees the rows outside the window that reach into it; it runs on cells, but on points where there are only
// points, for TensorBoard's, and where the window is narrower than kSmoothCellsMin cells: then each cell has the value
// at its last finite row. Cost: over steps what levels (storage/database/levels.h) do not cover is decoded: in the
// middle of a long series at most some 500 rows a cell. Over time and metrics all rows are, a segment at a time; an x
// that falls along the steps takes 24 bytes a row. All rows are in memory at once, 24 bytes each and as much again
// while they are sorted, of .frames files, of damaged logs, of a metric of two types in one writer, and over time also
// of one logged without steps or whose times go back more than kTimeStretchesMax times along the steps.
Result<ChartResult> query_chart(RunView* run, const ChartQuery& query);

}  // namespace tracker::internal
