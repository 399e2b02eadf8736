// SPDX-License-Identifier: MIT
#include "history_object.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "arrow_capsule.h"
#include "query/chart/smooth.h"
#include "released_gil.h"
#include "value_convert.h"

namespace tracker::python {
namespace py = pybind11;
namespace {

using internal::PackedColumn;
using internal::PackedHistory;
using internal::Smoother;
using internal::ValueType;

const char* buffer_format(ValueType type) {
  switch (type) {
    case ValueType::kFloat64: return "d";
    case ValueType::kFloat32: return "f";
    case ValueType::kFloat16: return "e";
    case ValueType::kBFloat16: return "H";
    case ValueType::kInt64: return "q";
    case ValueType::kBool: return "?";
  }
  return "q";
}

py::buffer_info buffer_of(PackedColumn& self) {
  const auto width = static_cast<py::ssize_t>(value_width(self.type));
  return {self.data, width, buffer_format(self.type), 1, {static_cast<py::ssize_t>(self.rows)}, {width}};
}

py::object column_or_none(const PackedColumn& column) { return column ? py::cast(column) : py::none(); }

PackedColumn seconds_of(const PackedColumn& times_us) {
  const ReleasedGil without_gil;
  std::vector<double> out(times_us.rows);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(times_us.as<int64_t>()[i]) / 1e6;
  return internal::pack_doubles(std::move(out));
}

// Distances from the first row, exact up to 2^53 whatever the numbers are.
std::vector<double> from_first(const PackedColumn& ints) {
  std::vector<double> out(ints.rows);
  const auto* v = ints.as<int64_t>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = v[i] >= v[0] ? static_cast<double>(static_cast<uint64_t>(v[i]) - static_cast<uint64_t>(v[0]))
                          : -static_cast<double>(static_cast<uint64_t>(v[0]) - static_cast<uint64_t>(v[i]));
  return out;
}

// Rows are sorted by step; for smoothing over time they are sorted by time, and then by step again.
internal::Result<PackedColumn> smoothed_over_time(const PackedHistory& history, const internal::Smoothing& smoothing,
                                                  const PackedColumn& values) {
  const auto* times = history.times_us.as<int64_t>();
  std::vector<size_t> order(history.times_us.rows);
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(times, times + order.size()))
    std::stable_sort(order.begin(), order.end(), [times](size_t a, size_t b) { return times[a] < times[b]; });
  std::vector<double> x(order.size()), v(order.size()), out(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    x[i] = static_cast<double>(times[order[i]] - times[order[0]]) / 1e6;
    v[i] = values.as<double>()[order[i]];
  }
  const auto y = internal::smooth(smoothing, {x, v, {}});
  if (!y.ok()) return y.status();
  for (size_t i = 0; i < order.size(); ++i) out[order[i]] = (*y)[i];
  return internal::pack_doubles(std::move(out));
}

internal::Result<PackedColumn> smoothed(const PackedHistory& history, const internal::Smoothing& smoothing,
                                        bool over_time) {
  const PackedColumn values = internal::as_doubles(history.values);
  if (over_time) return smoothed_over_time(history, smoothing, values);
  const PackedColumn x =
      history.x ? internal::as_doubles(history.x) : internal::pack_doubles(from_first(history.steps));
  const std::span<const double> xs(x.as<double>(), x.rows);
  const bool has_positions = history.x || !history.has_step;
  if (smoothing.kind != Smoother::kTensorBoard && (!has_positions || !std::is_sorted(xs.begin(), xs.end())))
    return internal::Status(internal::Code::kInvalid,
                            has_positions ? "the rows are not in the order of x, so distances mean nothing"
                                          : "some rows have no step, so they have no distance",
                            "smooth over=\"time\", or with \"tensorboard\", which counts rows");
  auto y = internal::smooth(smoothing, {xs, {values.as<double>(), values.rows}, {}});
  if (!y.ok()) return y.status();
  return internal::pack_doubles(std::move(*y));
}

PackedColumn smooth_rows(Rows& self, const std::string& kind, double window, bool over_time) {
  const internal::Smoothing smoothing{smoother_from(kind), window};
  auto out = [&] {
    const ReleasedGil without_gil;
    return smoothed(self.result, smoothing, over_time);
  }();
  return take(std::move(out));
}

py::list sources_of(Rows& self) {
  py::list out;
  for (const internal::RowSource& source : self.result.sources)
    out.append(py::make_tuple(source.attempt, source.rank, source.writer.hex()));
  return out;
}

py::list columns_of(Table& self) {
  py::list out;
  for (const internal::AlignedColumn& column : self.result.columns)
    out.append(py::make_tuple(column.name, internal::value_type_name(column.values.type), column.values,
                              column_or_none(column.present)));
  return out;
}

template <typename T>
void add_arrow(py::class_<T>& type) {
  type.def("arrow_schema", [](T& self) { return schema_capsule(*self.arrow()); })
      .def("arrow_array",
           [](T& self) { return py::make_tuple(schema_capsule(*self.arrow()), array_capsule(self.arrow())); })
      .def("arrow_stream", [](T& self) { return stream_capsule(self.arrow()); })
      .def("steps", [](T& self) { return self.result.steps; })
      .def("x_name", [](T& self) { return self.result.x_name; })
      .def("x", [](T& self) { return column_or_none(self.result.x); })
      .def("x_type", [](T& self) { return internal::value_type_name(self.result.x.type); });
}

}  // namespace

Smoother smoother_from(const std::string& kind) {
  if (kind.empty()) return Smoother::kNone;
  if (kind == "ema") return Smoother::kEma;
  if (kind == "tensorboard") return Smoother::kTensorBoard;
  if (kind == "gaussian") return Smoother::kGaussian;
  if (kind == "mean") return Smoother::kMean;
  throw py::value_error("no smoother \"" + kind + "\"");
}

void register_history_types(py::module_& module) {
  py::class_<PackedColumn>(module, "Column", py::buffer_protocol(), "A column of a result; take it as a buffer.")
      .def_buffer(&buffer_of)
      .def("__len__", [](const PackedColumn& self) { return self.rows; });
  py::class_<Rows> rows(module, "Rows", "The rows of one metric.");
  rows.def("type", [](Rows& self) { return internal::value_type_name(self.result.values.type); })
      .def("values", [](Rows& self) { return self.result.values; })
      .def("times", [](Rows& self) { return seconds_of(self.result.times_us); })
      .def("times_us", [](Rows& self) { return self.result.times_us; })
      .def("has_step", [](Rows& self) { return column_or_none(self.result.has_step); })
      .def("source", [](Rows& self) { return column_or_none(self.result.source); })
      .def("sources", &sources_of)
      .def("smooth", &smooth_rows, py::arg("kind"), py::arg("window"), py::arg("over_time"));
  add_arrow(rows);
  py::class_<Table> table(module, "Table", "Several metrics aligned.");
  table.def("columns", &columns_of);
  add_arrow(table);
}

}  // namespace tracker::python
