// SPDX-License-Identifier: MIT
#include "query/chart/stream_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tracker::internal {
namespace {

constexpr double kEmptyBin = std::numeric_limits<double>::quiet_NaN();

template <typename X>
struct Points {
  std::vector<X> x;
  std::vector<double> values;
};

template <typename X>
Result<Points<X>> read_points(RowStream<X>* stream, uint64_t begin, uint64_t end) {
  Points<X> out;
  StreamSource<X> source(stream, begin, end);
  for (ChartPiece<X> piece;;) {
    auto more = source.next(CellGrid<X>(), true, &piece);
    if (!more.ok()) return more.status();
    if (!*more) return out;
    out.x.insert(out.x.end(), piece.x.begin(), piece.x.end());
    out.values.insert(out.values.end(), piece.values.begin(), piece.values.end());
  }
}

template <typename X>
Result<std::vector<double>> smooth_points(const Smoothing& smoothing, const Points<X>& rows) {
  std::vector<double> x(rows.x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = distance(rows.x.front(), rows.x[i]);
  auto y = smooth(smoothing, {x, rows.values, {}});
  if (!y.ok()) return y;
  for (size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(rows.values[i])) (*y)[i] = kEmptyBin;
  return y;
}

// Of each cell the value at its last finite row.
template <typename X>
Result<std::vector<double>> smoothed_by_points(RowStream<X>* stream, const WindowCount<X>& count,
                                               const Smoothing& smoothing, const Chart<X>& chart) {
  auto rows = read_points(stream, count.reach_begin, count.reach_end);
  if (!rows.ok()) return rows.status();
  auto points = smooth_points(smoothing, *rows);
  if (!points.ok()) return points;
  std::vector<double> out;
  size_t row = count.begin - count.reach_begin;
  for (const ChartCell<X>& cell : chart.cells) {
    double y = kEmptyBin;
    for (uint64_t i = 0; i < cell.rows(); ++i, ++row)
      if (!std::isnan((*points)[row])) y = (*points)[row];
    out.push_back(y);
  }
  return out;
}

template <typename X>
Result<std::vector<double>> smoothed_by_cells(RowStream<X>* stream, const WindowCount<X>& count,
                                              const Smoothing& smoothing, const CellGrid<X>& grid,
                                              const Chart<X>& chart) {
  std::vector<ChartCell<X>> cells;
  StreamSource<X> left(stream, count.reach_begin, count.begin), right(stream, count.end, count.reach_end);
  TRACKER_RETURN_IF_ERROR(build_cells(&left, grid, false, &cells));
  const size_t first = cells.size();
  cells.insert(cells.end(), chart.cells.begin(), chart.cells.end());
  TRACKER_RETURN_IF_ERROR(build_cells(&right, grid, false, &cells));
  return smooth_cells(smoothing, cells, first, chart.cells.size());
}

}  // namespace

template <typename X>
Result<ChartResult> chart_of_stream(RowStream<X>* stream, const WindowCount<X>& count, const ChartQuery& query) {
  ChartResult out;
  if (count.rows == 0 && (!count.lo || !count.hi)) {
    out.chart = Chart<X>{{}, true};
    return out;
  }
  X lo = count.lo ? *count.lo : count.least, hi = count.hi ? *count.hi : count.greatest;
  // An end that was not asked for gives way: a window beyond the rows is empty, not wrong.
  if (!count.lo) lo = std::min(lo, hi);
  if (!count.hi) hi = std::max(lo, hi);
  TRACKER_RETURN_IF_ERROR(check_window(lo, hi, query.pixels));
  StreamSource<X> source(stream, count.begin, std::max(count.begin, count.end));
  out.rows = source.rows();
  auto chart = build_chart<X>(&source, lo, hi, query.pixels);
  if (!chart.ok()) return chart.status();
  if (query.smoothing.kind != Smoother::kNone) {
    const CellGrid<X> grid(lo, hi, query.pixels);
    auto y = smooths_points(query.smoothing, *chart, grid)
                 ? smoothed_by_points(stream, count, query.smoothing, *chart)
                 : smoothed_by_cells(stream, count, query.smoothing, grid, *chart);
    if (!y.ok()) return y.status();
    out.smoothed = std::move(*y);
  }
  out.chart = std::move(*chart);
  return out;
}

template Result<ChartResult> chart_of_stream(RowStream<int64_t>*, const WindowCount<int64_t>&, const ChartQuery&);
template Result<ChartResult> chart_of_stream(RowStream<double>*, const WindowCount<double>&, const ChartQuery&);

}  // namespace tracker::internal
