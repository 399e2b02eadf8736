// SPDX-License-Identifier: MIT
// Smoothers for charts. The same functions run on points and on cells: a point is a cell of one value. Windows are in
// units of x, so zoom does not change the curve. A value that is not finite passes through unchanged and counts for
// nothing; a cell without a finite value gives NaN. Pure functions. Threads: any.
//
// Time-weighted EMA, h the half-life, d = 2^(-(x_i - x_(i-1)) / h), v the sum and n the count of a point or cell:
//     s <- s d + v        w <- w d + n        y_i = s / w
//   The division removes the bias of the start. From an exponential decay with continuous time; see A. Eckner,
//   "Algorithms for unevenly spaced time series: moving averages and other rolling operators", 2012.
// TensorBoard EMA, a the weight, i the count of finite values so far, step distances ignored:
//     s <- a s + (1 - a) x_i        y_i = s / (1 - a^i)
//   As the scalars dashboard does it (tensorboard/webapp/widgets/line_chart_v2 and its predecessor vz_line_chart2,
//   resmoothDataset): first moment with the bias correction of Adam, D. P. Kingma and J. Ba, 2015. A series whose
//   values are all equal passes through unchanged there and here.
// Gaussian, s the standard deviation, centred:
//     y_i = sum_j v_j g(x_j - x_i) / sum_j n_j g(x_j - x_i),    g(d) = exp(-d^2 / (2 s^2)) for |d| <= 5 s, else 0
//   The Nadaraya-Watson estimator (1964) with a Gaussian kernel; what lies beyond 5 s weighs less than 4e-6.
// Running mean, h the width, centred:
//     y_i = sum_j v_j / sum_j n_j    over |x_j - x_i| <= h / 2
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tracker::internal {

enum class Smoother : uint8_t { kNone, kEma, kTensorBoard, kGaussian, kMean };
struct Smoothing {
  Smoother kind = Smoother::kNone;
  double window = 0;  // half-life, weight (0 <= a < 1), standard deviation or width
};

constexpr double kEmaReach = 10;       // half-lives left of a window that its curve depends on: 2^-10 remains
constexpr double kGaussianReach = 5;   // standard deviations
constexpr double kSmoothCellsMin = 4;  // a half-life of fewer cells is taken on points
// Pairs of points that a Gaussian may weigh in one call, some ten seconds; beyond: kLimit, take cells.
// Limit: pairs of points that one Gaussian weighs. Beyond it: an error that names charts, which work on cells.
constexpr uint64_t kGaussianPairsMax = uint64_t{1} << 32;

// x ascending. Points: `values` alone. Cells: `values` are their sums and `counts` how many finite values each has.
struct SmoothInput {
  std::span<const double> x;
  std::span<const double> values;
  std::span<const uint64_t> counts;
};

// kInvalid: a window that is not a positive finite number, a weight outside [0, 1).
Status check_smoothing(const Smoothing& smoothing);
// One y a point or cell. kInvalid as above, kLimit. Cost: linear, 2 to 7 ns a point; the Gaussian 4 ns a
// pair, of points and points in their windows.
Result<std::vector<double>> smooth(const Smoothing& smoothing, const SmoothInput& input);

// How far left and right of a window rows have an influence, in units of x; infinite for TensorBoard's.
struct SmoothReach {
  double left = 0, right = 0;
};
SmoothReach smooth_reach(const Smoothing& smoothing);

}  // namespace tracker::internal
