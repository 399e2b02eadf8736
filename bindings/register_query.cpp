// SPDX-License-Identifier: MIT
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "history_object.h"
#include "query/chart/chart_query.h"
#include "query/rows/selection.h"
#include "query/tail/tail.h"
#include "register.h"
#include "value_convert.h"
#include "view_object.h"

namespace tracker::python {
namespace {

using internal::ChartAxis;
using internal::ChartCell;
using internal::ChartQuery;
using internal::History;
using internal::PackedColumn;
using internal::Result;
using internal::RunView;
using internal::Selection;

using Ends = std::optional<std::pair<int64_t, int64_t>>;
using Numbers = std::optional<std::vector<int64_t>>;

std::optional<internal::Int64Range> range_of(const Ends& ends) {
  if (!ends) return std::nullopt;
  return internal::Int64Range{ends->first, ends->second};
}

Selection selection_of(const Ends& steps, const Ends& times_us, const Numbers& attempts, const Numbers& ranks) {
  Selection out;
  out.steps = range_of(steps);
  out.times_us = range_of(times_us);
  out.attempts = attempts;
  out.ranks = ranks;
  return out;
}

// The metric that the others are joined with: always the resolved view.
Result<History> read_x(RunView& view, const Selection& selection, const std::string& x) {
  Selection own = selection;
  own.metrics = {x};
  own.times_us.reset();
  own.all = false;
  auto histories = view.read(own);
  if (!histories.ok()) return histories.status();
  return std::move(histories->front());
}

Rows history_of(View& self, const std::string& metric, const Ends& steps, const Ends& times_us, const Numbers& attempts,
                const Numbers& ranks, const std::string& x, bool all) {
  return Rows(take(self.with([&](RunView& view) -> Result<internal::PackedHistory> {
    Selection selection = selection_of(steps, times_us, attempts, ranks);
    selection.metrics = {metric};
    selection.all = all;
    auto histories = view.read(selection);
    if (!histories.ok()) return histories.status();
    if (x.empty()) return internal::pack_history(metric, std::move(histories->front()));
    auto joined = read_x(view, selection, x);
    if (!joined.ok()) return joined.status();
    return internal::sort_by_x(metric, std::move(histories->front()), x, *joined);
  })));
}

// For a metric of several types: the rows that are integers or bools, as they were logged: (values, which rows). None:
// it has one type.
py::object integers_of(View& self, const std::string& metric, bool all) {
  using Both = std::pair<PackedColumn, PackedColumn>;
  const Both out = take(self.with([&](RunView& view) -> Result<Both> {
    auto rows = view.history(metric, all);
    if (!rows.ok()) return rows.status();
    if (!rows->mixed()) return Both();
    std::vector<int64_t> integers(rows->size());
    std::vector<uint8_t> are(rows->size());
    for (size_t i = 0; i < rows->size(); ++i) {
      const auto type = static_cast<internal::ValueType>(rows->own_types[i]);
      are[i] = type == internal::ValueType::kInt64 || type == internal::ValueType::kBool;
      if (are[i] != 0) integers[i] = static_cast<int64_t>(rows->own_bits[i]);
    }
    return Both(internal::pack_ints(std::move(integers)), internal::pack_flags(std::move(are)));
  }));
  if (!out.first) return py::none();
  return py::make_tuple(out.first, out.second);
}

Table table_of(View& self, const std::vector<std::string>& metrics, const Ends& steps, const Ends& times_us,
               const Numbers& attempts, const Numbers& ranks, const std::string& x) {
  return Table(take(self.with([&](RunView& view) -> Result<internal::AlignedTable> {
    Selection selection = selection_of(steps, times_us, attempts, ranks);
    selection.metrics = metrics;
    auto histories = view.read(selection);
    if (!histories.ok()) return histories.status();
    if (x.empty()) return internal::align_by_step(metrics, std::move(*histories));
    auto joined = read_x(view, selection, x);
    if (!joined.ok()) return joined.status();
    return internal::align_by_x(metrics, std::move(*histories), x, *joined);
  })));
}

template <typename X, typename Field>
PackedColumn reals(const std::vector<ChartCell<X>>& cells, Field ChartCell<X>::* field, double scale = 1) {
  std::vector<double> out;
  out.reserve(cells.size());
  for (const ChartCell<X>& cell : cells) out.push_back(static_cast<double>(cell.*field) / scale);
  return internal::pack_doubles(std::move(out));
}

template <typename X, typename Field>
PackedColumn whole(const std::vector<ChartCell<X>>& cells, Field ChartCell<X>::* field) {
  std::vector<int64_t> out;
  out.reserve(cells.size());
  for (const ChartCell<X>& cell : cells) out.push_back(static_cast<int64_t>(cell.*field));
  return internal::pack_ints(std::move(out));
}

template <typename X>
void put_cells(const internal::Chart<X>& chart, ChartAxis axis, py::dict* out) {
  const auto put = [&](const char* name, PackedColumn column) { (*out)[name] = std::move(column); };
  for (const auto& [name, field] : {std::pair("x0", &ChartCell<X>::x0), std::pair("x1", &ChartCell<X>::x1)})
    put(name, axis == ChartAxis::kStep ? whole(chart.cells, field)
                                       : reals(chart.cells, field, axis == ChartAxis::kTime ? 1e6 : 1));
  put("first", reals(chart.cells, &ChartCell<X>::first));
  put("last", reals(chart.cells, &ChartCell<X>::last));
  put("min", reals(chart.cells, &ChartCell<X>::min));
  put("max", reals(chart.cells, &ChartCell<X>::max));
  put("sum", reals(chart.cells, &ChartCell<X>::sum));
  put("count", whole(chart.cells, &ChartCell<X>::count));
  put("nan", whole(chart.cells, &ChartCell<X>::nan));
  put("pos_inf", whole(chart.cells, &ChartCell<X>::pos_inf));
  put("neg_inf", whole(chart.cells, &ChartCell<X>::neg_inf));
  (*out)["points"] = chart.points;
}

// `axis`: "step", "time" (lo and hi in µs) or "metric".
py::dict chart_of(View& self, const std::string& metric, const std::string& axis, const std::string& x,
                  const std::optional<int64_t>& lo_int, const std::optional<int64_t>& hi_int,
                  const std::optional<double>& lo, const std::optional<double>& hi, uint32_t pixels,
                  const Numbers& attempts, const Numbers& ranks, const std::string& smoother, double window) {
  const ChartAxis kind = axis == "time" ? ChartAxis::kTime : axis == "metric" ? ChartAxis::kMetric : ChartAxis::kStep;
  const ChartQuery query{
      metric, kind, x, lo_int, hi_int, lo, hi, pixels, attempts, ranks, {smoother_from(smoother), window}};
  internal::ChartResult result = take(self.with([&](RunView& view) { return internal::query_chart(&view, query); }));
  py::dict out;
  std::visit([&](const auto& chart) { put_cells(chart, kind, &out); }, result.chart);
  out["rows"] = result.rows;
  out["left_out"] = result.left_out;
  out["smoothed"] = smoother.empty() ? py::none() : py::cast(internal::pack_doubles(std::move(result.smoothed)));
  return out;
}

// A token for a cursor: after the present rows, or before the first one.
std::string tail_start(View& self, const std::vector<std::string>& metrics, bool at_end) {
  const internal::TailQuery query{metrics, 1};
  return self.with([&](RunView& view) {
    return (at_end ? internal::tail_end(view, query) : internal::tail_begin(view, query)).token();
  });
}

void tail_check(View& self, const std::vector<std::string>& metrics, const std::string& token) {
  check(self.with([&](RunView& view) {
    auto cursor = internal::TailCursor::parse(token);
    return cursor.ok() ? internal::check_tail(view, {metrics, 1}, *cursor) : cursor.status();
  }));
}

struct Tailed {
  internal::TailBatch batch;
  std::vector<internal::PackedHistory> rows;
  std::string token;
};

// (rows by metric, for each requested one; the token after them, whether there is more at once)
py::tuple tail_rows(View& self, const std::vector<std::string>& metrics, const std::string& token, uint64_t rows_max) {
  Tailed tailed = take(self.with([&](RunView& view) -> Result<Tailed> {
    auto cursor = internal::TailCursor::parse(token);
    if (!cursor.ok()) return cursor.status();
    auto batch = internal::read_tail(&view, {metrics, rows_max}, &*cursor);
    if (!batch.ok()) return batch.status();
    Tailed out{std::move(*batch), {}, cursor->token()};
    for (internal::TailedMetric& metric : out.batch.metrics)
      out.rows.push_back(internal::pack_history(metric.name, std::move(metric.rows)));
    for (const std::string& name : std::set<std::string>(metrics.begin(), metrics.end())) {
      const auto is_there = [&name](const internal::TailedMetric& metric) { return metric.name == name; };
      if (std::any_of(out.batch.metrics.begin(), out.batch.metrics.end(), is_there)) continue;
      internal::History nothing;
      if (const auto metric = view.metric(name); metric.ok() && !(*metric)->types.empty())
        nothing.type = (*metric)->types.front();
      out.rows.push_back(internal::pack_history(name, std::move(nothing)));
    }
    return out;
  }));
  py::dict rows;
  for (internal::PackedHistory& history : tailed.rows) {
    const std::string name = history.name;
    rows[py::str(name)] = Rows(std::move(history));
  }
  return py::make_tuple(rows, tailed.token, tailed.batch.more);
}

}  // namespace

void register_query(py::module_& module, py::class_<View>& type) {
  register_history_types(module);
  type.def("integers", &integers_of, py::arg("metric"), py::arg("all"));
  type.def("history", &history_of, py::arg("metric"), py::arg("steps"), py::arg("times_us"), py::arg("attempts"),
           py::arg("ranks"), py::arg("x"), py::arg("all"))
      .def("table", &table_of, py::arg("metrics"), py::arg("steps"), py::arg("times_us"), py::arg("attempts"),
           py::arg("ranks"), py::arg("x"))
      .def("chart", &chart_of, py::arg("metric"), py::arg("axis"), py::arg("x"), py::arg("lo_int"), py::arg("hi_int"),
           py::arg("lo"), py::arg("hi"), py::arg("pixels"), py::arg("attempts"), py::arg("ranks"), py::arg("smoother"),
           py::arg("window"))
      .def("tail_start", &tail_start, py::arg("metrics"), py::arg("at_end"))
      .def("tail_check", &tail_check, py::arg("metrics"), py::arg("cursor"))
      .def("tail", &tail_rows, py::arg("metrics"), py::arg("cursor"), py::arg("rows_max"));
}

}  // namespace tracker::python
