// SPDX-License-Identifier: MIT
#include "query/chart/span_chart.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "query/chart/stream_chart.h"
#include "query/chart/view_rows.h"

namespace tracker::internal {
namespace {

constexpr size_t kReadRows = 4096;
constexpr double kExactIntegers = 9007199254740992.0;  // 2^53: below it a double holds each integer

// Sorted by x.
class PairedRows : public RowStream<double> {
 public:
  explicit PairedRows(const std::vector<std::pair<double, double>>* rows) : rows_(*rows) {}
  Status seek(uint64_t row) override {
    at_ = row;
    return {};
  }
  Result<size_t> read(size_t n, double* x, double* values) override {
    const size_t rows = std::min<size_t>(n, rows_.size() - at_);
    for (size_t i = 0; i < rows; ++i, ++at_) std::tie(x[i], values[i]) = rows_[at_];
    return rows;
  }

 private:
  const std::vector<std::pair<double, double>>& rows_;
  size_t at_ = 0;
};

using Found = Result<std::optional<ChartResult>>;

Found chart_by_time(RunView* run, const ChartQuery& query, const Selection& selection) {
  auto view = MetricView::open(run, query.metric, selection, true);
  if (!view.ok()) return view.status();
  if (*view == nullptr || (*view)->pieces()->without_step() > 0) return std::optional<ChartResult>();
  WindowCount<int64_t> count{query.lo_int, query.hi_int, smooth_reach(query.smoothing)};
  auto stream = TimeStream::open(std::move(*view), &count);
  if (!stream.ok()) return stream.status();
  if (*stream == nullptr) return std::optional<ChartResult>();
  auto out = chart_of_stream<int64_t>(stream->get(), count, query);
  if (!out.ok()) return out.status();
  return std::optional<ChartResult>(std::move(*out));
}

// Where x falls along the steps its rows are sorted in memory, 16 bytes each.
Result<ChartResult> chart_of_unsorted(RowStream<double>* stream, const WindowCount<double>& count,
                                      const ChartQuery& query) {
  std::vector<std::pair<double, double>> rows;
  rows.reserve(count.rows);
  std::vector<double> x(kReadRows), values(kReadRows);
  TRACKER_RETURN_IF_ERROR(stream->seek(0));
  for (;;) {
    auto more = stream->read(kReadRows, x.data(), values.data());
    if (!more.ok()) return more.status();
    if (*more == 0) break;
    for (size_t i = 0; i < *more; ++i) rows.emplace_back(x[i], values[i]);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  PairedRows sorted(&rows);
  return chart_of_stream<double>(&sorted, count, query);
}

// Counts the rows; true: their x never falls.
Result<bool> look_at_x(RowStream<double>* stream, WindowCount<double>* count) {
  bool sorted = true;
  double before = -std::numeric_limits<double>::infinity();
  std::vector<double> x(kReadRows), values(kReadRows);
  TRACKER_RETURN_IF_ERROR(stream->seek(0));
  for (;;) {
    auto more = stream->read(kReadRows, x.data(), values.data());
    if (!more.ok()) return more.status();
    if (*more == 0) return sorted;
    const std::span<const double> read(x.data(), *more);
    count->add(read);
    sorted = sorted && read.front() >= before && std::is_sorted(read.begin(), read.end());
    before = read.back();
  }
}

Found chart_by_metric(RunView* run, const ChartQuery& query, const Selection& selection) {
  auto view = MetricView::open(run, query.metric, selection, false);
  if (!view.ok()) return view.status();
  auto x_view = MetricView::open(run, query.x_metric, selection, false);
  if (!x_view.ok()) return x_view.status();
  if (*view == nullptr || *x_view == nullptr) return std::optional<ChartResult>();
  const uint64_t all = (*view)->rows() + (*view)->pieces()->without_step();
  JoinStream stream(std::move(*view), std::move(*x_view));
  WindowCount<double> count{query.lo, query.hi, smooth_reach(query.smoothing)};
  auto sorted = look_at_x(&stream, &count);
  if (!sorted.ok()) return sorted.status();
  // Integers that are equal as doubles have an order that these rows no longer know.
  const bool exact = count.rows == 0 || (count.least > -kExactIntegers && count.greatest < kExactIntegers);
  const std::vector<ValueType>& types = (*run->metric(query.x_metric))->types;
  if (!exact && std::find(types.begin(), types.end(), ValueType::kInt64) != types.end())
    return std::optional<ChartResult>();
  auto out = *sorted ? chart_of_stream<double>(&stream, count, query) : chart_of_unsorted(&stream, count, query);
  if (!out.ok()) return out.status();
  out->left_out = all - count.rows;
  return std::optional<ChartResult>(std::move(*out));
}

}  // namespace

Found chart_by_spans(RunView* run, const ChartQuery& query, const Selection& selection) {
  TRACKER_RETURN_IF_ERROR(check_selection(selection, run->writers()));
  const auto make = query.axis == ChartAxis::kTime ? chart_by_time : chart_by_metric;
  auto chart = make(run, query, selection);
  if (chart.status().code() == Code::kBusy) chart = make(run, query, selection);
  if (!chart.ok() && needs_all_rows(chart.status())) return std::optional<ChartResult>();
  return chart;
}

}  // namespace tracker::internal
