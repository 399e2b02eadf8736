// SPDX-License-Identifier: MIT
// Value <-> builtin Python objects. python/tracker/_plain.py first converts other objects of a config to these.
#pragma once

#include <pybind11/pybind11.h>

#include "base/status.h"
#include "model/value.h"

namespace tracker::python {

namespace py = pybind11;

// None, bool, int (beyond int64: float), float, str, list, tuple and dict with str keys. Throws TypeError for anything
// else and ValueError beyond kValueDepthMax levels.
internal::Value value_from(py::handle object, int depth = 0);
py::object value_to_python(const internal::Value& value);

// Throws the Python exception for a failure (errors.h).
void check(const internal::Status& status);
template <typename T>
T take(internal::Result<T> result) {
  check(result.status());
  return std::move(*result);
}

}  // namespace tracker::python
