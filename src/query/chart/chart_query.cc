// SPDX-License-Identifier: MIT
#include "query/chart/chart_query.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "query/chart/span_chart.h"
#include "query/chart/step_chart.h"
#include "query/chart/stream_chart.h"
#include "query/rows/packed.h"
#include "query/rows/resolve.h"
#include "query/rows/selection.h"
#include "query/table/align.h"

namespace tracker::internal {
namespace {

template <typename X>
struct Rows {
  std::vector<X> x;  // ascending
  History history;   // in the same order
  uint64_t left_out = 0;
};

// Rows that are decoded already.
template <typename X>
class DecodedRows : public RowStream<X> {
 public:
  explicit DecodedRows(const Rows<X>* rows) : rows_(*rows) {}
  Status seek(uint64_t row) override {
    at_ = row;
    return {};
  }
  Result<size_t> read(size_t n, X* x, double* values) override {
    const size_t rows = std::min<size_t>(n, rows_.x.size() - at_);
    std::copy_n(rows_.x.data() + at_, rows, x);
    to_doubles(rows_.history.type, rows_.history.bits.data() + at_, rows, values);
    at_ += rows;
    return rows;
  }

 private:
  const Rows<X>& rows_;
  size_t at_ = 0;
};

template <typename X>
Result<ChartResult> chart_of(const Rows<X>& rows, const ChartQuery& query, std::optional<X> lo, std::optional<X> hi) {
  WindowCount<X> count{lo, hi, smooth_reach(query.smoothing)};
  count.add(rows.x);
  DecodedRows<X> stream(&rows);
  auto out = chart_of_stream(&stream, count, query);
  if (out.ok()) out->left_out = rows.left_out;
  return out;
}

// Resolved rows are sorted by step, rows without a step last.
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
  // Sorted, so what is infinite is at the ends.
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

// None: all rows must be in memory.
Result<std::optional<ChartResult>> chart_by_parts(RunView* run, const ChartQuery& query, const Selection& selection) {
  if (query.axis != ChartAxis::kMetric) {
    auto chart = chart_by_levels(run, query, selection);
    if (!chart.ok() || *chart || query.axis == ChartAxis::kStep) return chart;
  }
  return chart_by_spans(run, query, selection);
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
  if (!query.decode_all) {
    auto chart = chart_by_parts(run, query, selection);
    if (!chart.ok()) return chart.status();
    if (*chart) return std::move(**chart);
  }
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
