// SPDX-License-Identifier: MIT
#include "query/chart/chart_smooth.h"

namespace tracker::internal {

template <typename X>
Result<std::vector<double>> smooth_cells(const Smoothing& smoothing, const std::vector<ChartCell<X>>& cells,
                                         size_t first, size_t count) {
  std::vector<double> x, sums;
  std::vector<uint64_t> counts;
  const bool trailing = smoothing.kind == Smoother::kEma;  // its value is that at the end of a cell
  for (const ChartCell<X>& cell : cells) {
    const double x0 = distance(cells[0].x0, cell.x0), x1 = distance(cells[0].x0, cell.x1);
    x.push_back(trailing ? x1 : x0 / 2 + x1 / 2);
    sums.push_back(cell.sum);
    counts.push_back(cell.count);
  }
  auto y = smooth(smoothing, {x, sums, counts});
  if (!y.ok()) return y;
  y->erase(y->begin(), y->begin() + static_cast<std::ptrdiff_t>(first));
  y->resize(count);
  return y;
}

template Result<std::vector<double>> smooth_cells(const Smoothing&, const std::vector<ChartCell<int64_t>>&, size_t,
                                                  size_t);
template Result<std::vector<double>> smooth_cells(const Smoothing&, const std::vector<ChartCell<double>>&, size_t,
                                                  size_t);

}  // namespace tracker::internal
