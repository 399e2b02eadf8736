// SPDX-License-Identifier: MIT
// Converts one Python object to one number of a series, with its dtype and every bit that the object has.
// Nothing is imported: NumPy's objects are read through the buffer protocol, tensors through dtype and item().
#pragma once

#include <Python.h>

#include <string>

#include "model/number.h"

namespace tracker::python {

struct Number {
  internal::ValueType type = internal::ValueType::kFloat64;
  uint64_t bits = 0;
  bool rounded = false;  // an int beyond int64 became a float64
};

enum class NumberResult {
  kOk,
  kRejected,  // `why` has what was expected; no Python error is set
  kRaised,    // an exception that is not an Exception (KeyboardInterrupt) is set
  kOnDevice,  // one value in the memory of an accelerator (device_values.h): getting the number would need waiting
};

// Accepts bool, int, float, one-element values with a dtype (NumPy, torch, jax, ml_dtypes), and everything with
// __index__ or
// __float__. May run Python code, which may log.
NumberResult number_from(PyObject* value, Number* out, std::string* why);

// The exact builtin types, without running Python code. Returns false for others: call number_from().
inline bool number_from_builtin(PyObject* value, Number* out) {
  if (PyFloat_Check(value)) {
    out->type = internal::ValueType::kFloat64;
    out->bits = internal::bits_of(PyFloat_AS_DOUBLE(value));
    return true;
  }
  if (PyBool_Check(value)) {
    out->type = internal::ValueType::kBool;
    out->bits = value == Py_True ? 1 : 0;
    return true;
  }
  if (PyLong_Check(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    out->type = internal::ValueType::kInt64;
    out->bits = internal::bits_of(static_cast<int64_t>(number));
    return overflow == 0;
  }
  return false;
}

// A NumPy scalar through its own C conversion, which is six times as fast as its buffer and runs no Python code.
// Returns false for other objects, and for scalars whose bits only the buffer has (a NaN's payload). Never leaves a
// Python error.
bool number_from_numpy_scalar(PyObject* value, Number* out);

}  // namespace tracker::python
