// SPDX-License-Identifier: MIT
// Smoothed curves of charts that work on cells. Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "query/chart/chart.h"
#include "query/chart/smooth.h"

namespace tracker::internal {

// From a to b, which is not less; exact up to 2^53, and without overflow where int64 would.
inline double distance(int64_t a, int64_t b) {
  return static_cast<double>(static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
}
inline double distance(double a, double b) { return b - a; }

// The curve at `count` cells from `first` on; those around them reach into it.
template <typename X>
Result<std::vector<double>> smooth_cells(const Smoothing& smoothing, const std::vector<ChartCell<X>>& cells,
                                         size_t first, size_t count);

}  // namespace tracker::internal
