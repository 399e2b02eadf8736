// SPDX-License-Identifier: MIT
#include "query/chart/step_chart.h"

#include <cmath>
#include <utility>

#include "query/chart/chart_smooth.h"
#include "query/chart/step_spans.h"
#include "query/chart/stream_chart.h"
#include "query/chart/time_spans.h"

namespace tracker::internal {
namespace {

constexpr double kFarthest = 9e18;  // below 2^63

// Where a smoother begins to see rows left of `lo`, or ends right of `hi`.
int64_t reach_left(int64_t lo, double reach) {
  int64_t out = 0;
  const bool far = !(reach < kFarthest) || __builtin_sub_overflow(lo, static_cast<int64_t>(reach), &out);
  return far ? INT64_MIN : out;
}
int64_t reach_right(int64_t hi, double reach) {
  int64_t out = 0;
  const bool far = !(reach < kFarthest) || __builtin_add_overflow(hi, static_cast<int64_t>(reach), &out);
  return far ? INT64_MAX : out;
}

// The rows of a chart on its axis.
class AxisView {
 public:
  // Over steps the spans of a window are found for it; over time all are found first.
  static Result<AxisView> open(StepPieces* pieces, const ViewRules& rules, LevelAxis axis) {
    AxisView out(pieces, rules, axis);
    if (axis == LevelAxis::kSteps) return out;
    auto spans = spans_within(out.view_, INT64_MIN, INT64_MAX);
    if (!spans.ok()) return spans.status();
    out.all_ = std::move(*spans);
    return out;
  }
  // From `lo` to `hi`, both in it. kLimit: they cannot be had so.
  Result<std::vector<StepSpan>> within(int64_t lo, int64_t hi) const {
    if (axis_ == LevelAxis::kSteps) return spans_within(view_, lo, hi);
    auto spans = spans_by_time(view_.pieces, all_, lo, hi);
    if (!spans.ok()) return spans.status();
    if (!*spans) return Status(Code::kLimit, "times that fall along the steps, or no levels over them");
    return std::move(**spans);
  }
  SpanSource source(const std::vector<StepSpan>& spans) const { return {view_.pieces, spans, axis_}; }
  uint64_t without_step() const { return view_.pieces->without_step(); }

 private:
  AxisView(StepPieces* pieces, const ViewRules& rules, LevelAxis axis) : view_(rules.view(pieces)), axis_(axis) {}
  StepView view_;
  LevelAxis axis_;
  std::vector<StepSpan> all_;
};

Status add_cells(const AxisView& view, int64_t lo, int64_t hi, const CellGrid<int64_t>& grid,
                 std::vector<ChartCell<int64_t>>* out) {
  auto spans = view.within(lo, hi);
  if (!spans.ok()) return spans.status();
  SpanSource source = view.source(*spans);
  return build_cells(&source, grid, false, out);
}

// Cells on both sides, as far as the smoother sees.
Result<std::vector<double>> smoothed(const AxisView& view, const ChartQuery& query, int64_t lo, int64_t hi,
                                     const Chart<int64_t>& chart) {
  const CellGrid<int64_t> grid(lo, hi, query.pixels);
  const SmoothReach reach = smooth_reach(query.smoothing);
  std::vector<ChartCell<int64_t>> cells;
  if (query.lo_int && lo > INT64_MIN)
    TRACKER_RETURN_IF_ERROR(add_cells(view, reach_left(lo, reach.left), lo - 1, grid, &cells));
  const size_t first = cells.size();
  cells.insert(cells.end(), chart.cells.begin(), chart.cells.end());
  if (query.hi_int && hi < INT64_MAX)
    TRACKER_RETURN_IF_ERROR(add_cells(view, hi + 1, reach_right(hi, reach.right), grid, &cells));
  return smooth_cells(query.smoothing, cells, first, chart.cells.size());
}

using Found = Result<std::optional<ChartResult>>;

Found chart_of(const AxisView& view, const ChartQuery& query) {
  ChartResult out;
  out.left_out = view.without_step();
  auto spans = view.within(query.lo_int.value_or(INT64_MIN), query.hi_int.value_or(INT64_MAX));
  if (!spans.ok()) return spans.status();
  if (spans->empty() && (!query.lo_int || !query.hi_int)) {
    out.chart = Chart<int64_t>{{}, true};
    return std::optional<ChartResult>(std::move(out));
  }
  const int64_t lo = query.lo_int ? *query.lo_int : spans->front().first;
  const int64_t hi = query.hi_int ? *query.hi_int : spans->back().last;
  TRACKER_RETURN_IF_ERROR(check_window(lo, hi, query.pixels));
  SpanSource source = view.source(*spans);
  out.rows = source.rows();
  auto chart = build_chart<int64_t>(&source, lo, hi, query.pixels);
  if (!chart.ok()) return chart.status();
  if (query.smoothing.kind != Smoother::kNone) {
    if (smooths_points(query.smoothing, *chart, CellGrid<int64_t>(lo, hi, query.pixels)))
      return std::optional<ChartResult>();
    auto y = smoothed(view, query, lo, hi, *chart);
    if (!y.ok()) return y.status();
    out.smoothed = std::move(*y);
  }
  out.chart = std::move(*chart);
  return std::optional<ChartResult>(std::move(out));
}

Found try_chart(RunView* run, const MetricInfo& metric, const ChartQuery& query, const Selection& selection) {
  const bool by_time = query.axis == ChartAxis::kTime;
  auto pieces = StepPieces::open(run, metric, selection, by_time);
  if (!pieces.ok()) return pieces.status();
  // A row without a step has a time.
  if (*pieces == nullptr || (by_time && (*pieces)->without_step() > 0)) return std::optional<ChartResult>();
  const ViewRules rules(*run, selection);
  auto view = AxisView::open(pieces->get(), rules, by_time ? LevelAxis::kTimes : LevelAxis::kSteps);
  if (!view.ok()) return view.status();
  return chart_of(*view, query);
}

}  // namespace

Found chart_by_levels(RunView* run, const ChartQuery& query, const Selection& selection) {
  TRACKER_RETURN_IF_ERROR(check_selection(selection, run->writers()));
  auto metric = run->metric(query.metric);
  if (!metric.ok()) return metric.status();
  if (query.smoothing.kind == Smoother::kTensorBoard) return std::optional<ChartResult>();
  auto chart = try_chart(run, **metric, query, selection);
  if (chart.status().code() == Code::kBusy) chart = try_chart(run, **metric, query, selection);
  if (!chart.ok() && needs_all_rows(chart.status())) return std::optional<ChartResult>();
  return chart;
}

}  // namespace tracker::internal
