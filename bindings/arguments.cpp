// SPDX-License-Identifier: MIT
#include "arguments.h"

namespace tracker::python {

bool parse_slow(const char* form, const char* first_name, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                Arguments* out) {
  const Py_ssize_t named = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  if (count > 2) {
    PyErr_Format(PyExc_TypeError, "%s takes at most 2 arguments, got %zd", form, count + named);
    return false;
  }
  *out = {count > 0 ? args[0] : nullptr, count > 1 ? args[1] : nullptr};
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
    PyObject** place = nullptr;
    if (PyUnicode_CompareWithASCIIString(keyword, "step") == 0) place = &out->step;
    if (PyUnicode_CompareWithASCIIString(keyword, first_name) == 0) place = &out->first;
    if (place == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s got an unexpected keyword argument %R", form, keyword);
      return false;
    }
    if (*place != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s got multiple values for argument %R", form, keyword);
      return false;
    }
    *place = args[count + i];
  }
  if (out->first == nullptr) {
    PyErr_Format(PyExc_TypeError, "%s is missing its argument '%s'", form, first_name);
    return false;
  }
  return true;
}

bool step_from(PyObject* object, int64_t* step) {
  if (!PyIndex_Check(object)) {
    PyErr_Format(PyExc_TypeError, "step must be an int or None, got %.200s", Py_TYPE(object)->tp_name);
    return false;
  }
  const Ref integer(PyNumber_Index(object));
  if (!integer) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer.get(), &overflow);
  // The lowest int64 means "the next step" in the C ABI.
  if (overflow != 0 || value == INT64_MIN) {
    PyErr_SetString(PyExc_ValueError, "step must be between -9223372036854775807 and 9223372036854775807 (int64)");
    return false;
  }
  *step = value;
  return true;
}

}  // namespace tracker::python
