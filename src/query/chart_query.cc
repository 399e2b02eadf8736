// SPDX-License-Identifier: MIT
#include "query/chart_query.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "query/align.h"
#include "query/packed.h"
#include "query/resolve.h"
#include "query/selection.h"

namespace tracker::internal {
namespace {

template <typename X>
struct Rows {
  std::vector<X> x;  // ascending
  History history;   // in the same order
  uint64_t left_out = 0;
};

struct Span {
  size_t begin = 0, end = 0;
};

// Rows that are decoded already, in pieces that stay in the cache while they are read.
template <typename X>
class DecodedRows : public ChartSource<X> {
 public:
  DecodedRows(const Rows<X>& rows, Span span) : rows_(rows), span_(span) {}
  uint64_t rows() const override { return span_.end - span_.begin; }
  Result<bool> next(const CellGrid<X>&, bool, ChartPiece<X>* out) override {
    constexpr size_t kPieceRows = 4096;
    const size_t count = std::min(kPieceRows, span_.end - span_.begin);
    if (count == 0) return false;
    values_.resize(count);
    to_doubles(rows_.history.type, rows_.history.bits.data() + span_.begin, count, values_.data());
    *out = {{rows_.x.data() + span_.begin, count}, values_, nullptr};
    span_.begin += count;
    return true;
  }

 private:
  const Rows<X>& rows_;
  Span span_;
  std::vector<double> values_;
};

// The distance from a to b; exact up to 2^53, and without overflow where int64 would.
double distance(int64_t a, int64_t b) {
  return static_cast<double>(static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
}
double distance(double a, double b) { return b - a; }

template <typename X>
Span within(const std::vector<X>& x, X lo, X hi) {
  const auto begin = std::lower_bound(x.begin(), x.end(), lo);
  const auto end = std::upper_bound(begin, x.end(), hi);
  return {static_cast<size_t>(begin - x.begin()), static_cast<size_t>(end - x.begin())};
}

// The rows outside `window` that reach into it.
template <typename X>
Span reached(const std::vector<X>& x, Span window, X lo, X hi, const SmoothReach& reach) {
  Span out = window;
  const auto left = std::partition_point(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(window.begin),
                                         [&](X one) { return distance(one, lo) > reach.left; });
  const auto right = std::partition_point(x.begin() + static_cast<std::ptrdiff_t>(window.end), x.end(),
                                          [&](X one) { return distance(hi, one) <= reach.right; });
  out.begin = static_cast<size_t>(left - x.begin());
  out.end = static_cast<size_t>(right - x.begin());
  return out;
}

template <typename X>
Result<std::vector<double>> smooth_points(const Smoothing& smoothing, const Rows<X>& rows, Span span) {
  std::vector<double> x(span.end - span.begin), values(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = distance(rows.x[span.begin], rows.x[span.begin + i]);
  to_doubles(rows.history.type, rows.history.bits.data() + span.begin, values.size(), values.data());
  auto y = smooth(smoothing, {x, values, {}});
  if (!y.ok()) return y;
  for (size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(values[i])) (*y)[i] = std::numeric_limits<double>::quiet_NaN();
  return y;
}

// Of each cell the value at its last finite row.
template <typename X>
Result<std::vector<double>> smoothed_by_points(const Smoothing& smoothing, const Rows<X>& rows, Span window, Span span,
                                               const Chart<X>& chart) {
  auto points = smooth_points(smoothing, rows, span);
  if (!points.ok()) return points;
  std::vector<double> out;
  size_t row = window.begin - span.begin;
  for (const ChartCell<X>& cell : chart.cells) {
    double y = std::numeric_limits<double>::quiet_NaN();
    for (uint64_t i = 0; i < cell.rows(); ++i, ++row)
      if (!std::isnan((*points)[row])) y = (*points)[row];
    out.push_back(y);
  }
  return out;
}

template <typename X>
Result<std::vector<double>> smoothed_by_cells(const Smoothing& smoothing, const Rows<X>& rows, Span window, Span span,
                                              const CellGrid<X>& grid, const Chart<X>& chart) {
  std::vector<ChartCell<X>> cells;
  DecodedRows<X> left(rows, {span.begin, window.begin}), right(rows, {window.end, span.end});
  TRACKER_RETURN_IF_ERROR(build_cells(&left, grid, false, &cells));
  const size_t first = cells.size();
  cells.insert(cells.end(), chart.cells.begin(), chart.cells.end());
  TRACKER_RETURN_IF_ERROR(build_cells(&right, grid, false, &cells));
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
  y->resize(chart.cells.size());
  return y;
}

template <typename X>
Result<ChartResult> chart_of(const Rows<X>& rows, const ChartQuery& query, std::optional<X> lo_asked,
                             std::optional<X> hi_asked) {
  ChartResult out;
  out.left_out = rows.left_out;
  if (rows.x.empty() && (!lo_asked || !hi_asked)) {
    out.chart = Chart<X>{{}, true};
    return out;
  }
  X lo = lo_asked ? *lo_asked : rows.x.front(), hi = hi_asked ? *hi_asked : rows.x.back();
  // An end that was not asked for gives way: a window beyond the rows is empty, not wrong.
  if (!lo_asked) lo = std::min(lo, hi);
  if (!hi_asked) hi = std::max(lo, hi);
  TRACKER_RETURN_IF_ERROR(check_window(lo, hi, query.pixels));
  const Span window = within(rows.x, lo, hi);
  DecodedRows<X> source(rows, window);
  out.rows = source.rows();
  auto chart = build_chart<X>(&source, lo, hi, query.pixels);
  if (!chart.ok()) return chart.status();
  if (query.smoothing.kind != Smoother::kNone) {
    const CellGrid<X> grid(lo, hi, query.pixels);
    const Span span = reached(rows.x, window, lo, hi, smooth_reach(query.smoothing));
    const bool by_points = chart->points || query.smoothing.kind == Smoother::kTensorBoard ||
                           query.smoothing.window < kSmoothCellsMin * grid.width();
    auto y = by_points ? smoothed_by_points(query.smoothing, rows, window, span, *chart)
                       : smoothed_by_cells(query.smoothing, rows, window, span, grid, *chart);
    if (!y.ok()) return y.status();
    out.smoothed = std::move(*y);
  }
  out.chart = std::move(*chart);
  return out;
}

// Resolved rows stand by step, those without one behind.
Rows<int64_t> rows_by_step(History history) {
  Rows<int64_t> out;
  size_t stepped = history.size();
  if (!history.has_step.empty())
    stepped =
        static_cast<size_t>(std::find(history.has_step.begin(), history.has_step.end(), 0) - history.has_step.begin());
  out.left_out = history.size() - stepped;
  out.x = std::move(history.steps);
  out.x.resize(stepped);
  history.bits.resize(stepped);
  out.history.type = history.type;
  out.history.bits = std::move(history.bits);
  return out;
}

Rows<int64_t> rows_by_time(History history) {
  if (!std::is_sorted(history.times_us.begin(), history.times_us.end())) {
    std::vector<size_t> order(history.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&history](size_t a, size_t b) { return history.times_us[a] < history.times_us[b]; });
    select_rows(&history, order);
  }
  std::vector<int64_t> x = std::move(history.times_us);
  return {std::move(x), std::move(history), 0};
}

Rows<double> rows_by_metric(History history, const History& x) {
  const size_t before = history.size();
  const JoinedX joined = join_x(history.steps, history.has_step, x);
  std::vector<double> values(joined.bits.size());
  to_doubles(x.type, joined.bits.data(), values.size(), values.data());
  // Sorted, so what is infinite stands at the ends.
  size_t begin = 0, end = values.size();
  while (begin < end && std::isinf(values[begin])) ++begin;
  while (end > begin && std::isinf(values[end - 1])) --end;
  Rows<double> out;
  out.x.assign(values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end));
  select_rows(&history, {joined.rows.begin() + static_cast<std::ptrdiff_t>(begin),
                         joined.rows.begin() + static_cast<std::ptrdiff_t>(end)});
  out.history = std::move(history);
  out.left_out = before - out.x.size();
  return out;
}

// Rows that no smoother's reach and no window needs are not read.
std::optional<Int64Range> steps_needed(const ChartQuery& query) {
  if (query.axis != ChartAxis::kStep || (!query.lo_int && !query.hi_int)) return std::nullopt;
  const SmoothReach reach = smooth_reach(query.smoothing);
  constexpr double kFar = 9e18;
  const auto far = [](double distance) { return !(distance < kFar); };
  Int64Range out;
  if (query.lo_int && !far(reach.left) &&
      __builtin_sub_overflow(*query.lo_int, static_cast<int64_t>(std::ceil(reach.left)), &out.min))
    out.min = INT64_MIN;
  if (query.hi_int && !far(reach.right) &&
      __builtin_add_overflow(*query.hi_int, static_cast<int64_t>(std::ceil(reach.right)), &out.max))
    out.max = INT64_MAX;
  return out;
}

}  // namespace

Result<ChartResult> query_chart(RunView* run, const ChartQuery& query) {
  TRACKER_RETURN_IF_ERROR(check_smoothing(query.smoothing));
  if (query.lo_int && query.hi_int) TRACKER_RETURN_IF_ERROR(check_window(*query.lo_int, *query.hi_int, query.pixels));
  if (query.lo && query.hi) TRACKER_RETURN_IF_ERROR(check_window(*query.lo, *query.hi, query.pixels));
  Selection selection;
  selection.metrics = {query.metric};
  if (query.axis == ChartAxis::kMetric) selection.metrics.push_back(query.x_metric);
  selection.attempts = query.attempts;
  selection.ranks = query.ranks;
  selection.steps = steps_needed(query);
  auto read = run->read(selection);
  if (!read.ok()) return read.status();
  History history = std::move(read->front());
  if (query.axis == ChartAxis::kMetric)
    return chart_of(rows_by_metric(std::move(history), read->back()), query, query.lo, query.hi);
  if (query.axis == ChartAxis::kTime)
    return chart_of(rows_by_time(std::move(history)), query, query.lo_int, query.hi_int);
  return chart_of(rows_by_step(std::move(history)), query, query.lo_int, query.hi_int);
}

}  // namespace tracker::internal
