// SPDX-License-Identifier: MIT
// Two charts held against each other: cell by cell and bit by bit, but for sums, whose additions may be grouped
// otherwise. Threads: pure functions.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "model/number.h"
#include "query/chart/chart_query.h"

namespace tracker::internal {

// docs/reading.md: n additions of doubles, in whatever order.
inline bool same_sum(const ChartCell<int64_t>& a, const ChartCell<int64_t>& b) {
  if (a.count == 0) return bits_of(a.sum) == bits_of(b.sum);
  const double n = static_cast<double>(a.count), most = std::max(std::fabs(a.min), std::fabs(a.max));
  if (!std::isfinite(n * most)) return true;  // on the way it may have been beyond any double
  return std::fabs(a.sum - b.sum) <= std::ldexp(n * n * most, -52);
}

inline std::string cell_difference(const ChartCell<int64_t>& a, const ChartCell<int64_t>& b) {
  const auto same = [](double x, double y) { return bits_of(x) == bits_of(y); };
  if (a.x0 != b.x0 || a.x1 != b.x1) return fmt::format("from {} to {} instead of {} to {}", a.x0, a.x1, b.x0, b.x1);
  if (!same(a.first, b.first) || !same(a.last, b.last)) return "its first or last value";
  if (!same(a.min, b.min) || !same(a.max, b.max)) return fmt::format("{}..{}, not {}..{}", a.min, a.max, b.min, b.max);
  if (a.count != b.count || a.nan != b.nan || a.pos_inf != b.pos_inf || a.neg_inf != b.neg_inf) return "its counts";
  return same_sum(a, b) ? "" : fmt::format("sum {} instead of {}", a.sum, b.sum);
}

// Of charts over steps or time; "": there is none.
inline std::string chart_difference(const ChartResult& got, const ChartResult& wanted) {
  const auto& a = std::get<Chart<int64_t>>(got.chart);
  const auto& b = std::get<Chart<int64_t>>(wanted.chart);
  if (got.rows != wanted.rows) return fmt::format("{} rows instead of {}", got.rows, wanted.rows);
  if (got.left_out != wanted.left_out) return fmt::format("{} left out, not {}", got.left_out, wanted.left_out);
  if (a.points != b.points || a.cells.size() != b.cells.size())
    return fmt::format("{} cells instead of {}", a.cells.size(), b.cells.size());
  for (size_t i = 0; i < a.cells.size(); ++i)
    if (const std::string what = cell_difference(a.cells[i], b.cells[i]); !what.empty())
      return fmt::format("cell {} of {}: {}", i, a.cells.size(), what);
  if (got.smoothed.size() != wanted.smoothed.size()) return "the curve's length";
  for (size_t i = 0; i < got.smoothed.size(); ++i) {
    const double x = got.smoothed[i], y = wanted.smoothed[i];
    if (std::isnan(x) != std::isnan(y) || std::fabs(x - y) > 1e-9 * (1 + std::fabs(y))) return "the curve";
  }
  return "";
}

}  // namespace tracker::internal
