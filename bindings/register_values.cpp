// SPDX-License-Identifier: MIT
// Counts an array for a histogram, in place and without the GIL: the array belongs to the caller. And finds repeated
// paths of a config.
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "model/json_numbers.h"
#include "model/value_counts.h"
#include "model/value_tree.h"
#include "register.h"
#include "value_convert.h"
#include "without_gil.h"

namespace tracker::python {
namespace {

namespace py = pybind11;

// Calls `work` with the array as float or double. TypeError for any other: tracker/_structured.py converts those
// before.
template <typename Work>
auto with_numbers(const py::buffer& array, Work work) {
  const py::buffer_info info = array.request();
  const auto size = static_cast<size_t>(info.size);
  if (info.ndim != 1 || (size > 0 && info.strides[0] != info.itemsize))
    throw py::type_error("an array of one dimension, its values side by side, was expected");
  if (info.format == py::format_descriptor<float>::format())
    return without_gil([&] { return work(static_cast<const float*>(info.ptr), size); });
  if (info.format == py::format_descriptor<double>::format())
    return without_gil([&] { return work(static_cast<const double*>(info.ptr), size); });
  throw py::type_error("an array of float32 or float64 was expected, got " + info.format);
}

py::tuple summarize(const py::buffer& array) {
  const internal::ArraySummary summary =
      with_numbers(array, [](const auto* values, size_t size) { return internal::summarize_values(values, size); });
  return py::make_tuple(summary.finite, summary.min, summary.max, summary.sum, summary.nan, summary.pos_inf,
                        summary.neg_inf);
}

std::vector<uint64_t> count(const py::buffer& array, const std::vector<double>& edges) {
  if (edges.size() < 2) throw py::value_error("a bin has two edges");
  return with_numbers(array,
                      [&](const auto* values, size_t size) { return internal::count_in_bins(values, size, edges); });
}

// A JSON list of the array's numbers.
py::bytes json_of(const py::buffer& array) {
  const py::buffer_info info = array.request();
  const auto size = static_cast<size_t>(info.size);
  if (info.ndim != 1 || (size > 0 && info.strides[0] != info.itemsize))
    throw py::type_error("an array of one dimension, its values side by side, was expected");
  if (info.format == py::format_descriptor<double>::format())
    return py::bytes(without_gil([&] { return internal::json_list(static_cast<const double*>(info.ptr), size); }));
  if (info.itemsize == sizeof(int64_t) && (info.format == "q" || info.format == "l"))
    return py::bytes(without_gil([&] { return internal::json_list(static_cast<const int64_t*>(info.ptr), size); }));
  throw py::type_error("an array of float64 or int64 was expected, got " + info.format);
}

// The first path that a config has twice, or "".
std::string given_twice(py::handle config) {
  internal::ValueTree tree;
  tree.merge(value_from(config));
  return tree.given_twice();
}

}  // namespace

void register_values(py::module_& module) {
  module.def("given_twice", &given_twice, py::arg("config"));
  module.def("summarize_values", &summarize, py::arg("array"));
  module.def("json_numbers", &json_of, py::arg("array"));
  module.def("count_in_bins", &count, py::arg("array"), py::arg("edges"));
}

}  // namespace tracker::python
