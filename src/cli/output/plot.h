// SPDX-License-Identifier: MIT
// Series drawn with Braille dots. Every column of dots runs from the smallest to the largest value that falls into it,
// so no spike can hide, and NaN and infinities are drawn as marks. Pure functions. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "query/chart/chart.h"
#include "query/view/run_view.h"

namespace tracker::internal {

constexpr std::string_view kNanMark = "×";
constexpr std::string_view kPosInfMark = "↑";
constexpr std::string_view kNegInfMark = "↓";

// What falls into one column of dots.
struct PlotColumn {
  uint64_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  double first = 0, last = 0, min = 0, max = 0;  // of the finite values
};

// `history` is the resolved view. Columns divide the range of steps evenly; without steps, the rows.
std::vector<PlotColumn> plot_columns(const History& history, size_t count);

// The same of the cells of a chart over steps, ascending, of which many fall into a column: each counts where it
// begins.
using StepCells = std::vector<ChartCell<int64_t>>;
std::vector<PlotColumn> plot_columns(const StepCells& rows, size_t count);

// One line of `cells` characters; values that differ by less than 1 % are a flat line. A cell with a NaN or an infinity
// in it shows the mark.
std::string sparkline(const History& history, size_t cells);
std::string sparkline(const StepCells& rows, size_t cells);

// A chart `width` characters wide with labelled axes and `height` lines of dots. Lines without an end of line.
std::vector<std::string> chart(const History& history, size_t width, size_t height);
std::vector<std::string> chart(const StepCells& rows, size_t width, size_t height);

}  // namespace tracker::internal
