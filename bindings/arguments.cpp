// SPDX-License-Identifier: MIT
#include "arguments.h"

#include <cmath>
#include <string>

#include "errors.h"
#include "number_from.h"

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

namespace {

// Converts a number that is not an int64 to a step. Returns false if there is none (NaN, infinite, too large). `exact`:
// it is whole.
bool whole_step(const Number& number, int64_t* step, bool* exact) {
  if (number.type == internal::ValueType::kInt64) {
    *step = static_cast<int64_t>(number.bits);
    *exact = *step != INT64_MIN;
    return *exact;
  }
  const double value = internal::to_double(number.type, number.bits);
  const double floor = std::floor(value);
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (!(floor > -kEnd && floor < kEnd)) return false;
  *step = static_cast<int64_t>(floor);
  *exact = floor == value && !number.rounded;
  return true;
}

bool report_step(RunObject* run, PyObject* object, const char* topic, const std::string& what) {
  if (run->strict) {
    PyErr_Format(PyExc_ValueError, "step must be a whole number of int64, got %R; nothing was logged", object);
    return false;
  }
  const Ref repr(PyObject_Repr(object));
  std::string_view text;
  if (!repr || !utf8_of(repr.get(), &text)) PyErr_Clear();
  run->run->count_changed_step(
      topic, "step " + std::string(text.substr(0, 40)) + " is no whole number of int64: " + what + " (said once)");
  return true;
}

}  // namespace

bool step_from(RunObject* run, Arguments* call, int64_t* step) {
  PyObject* object = call->step;
  if (object == Py_None) {
    call->step = nullptr;
    return true;
  }
  Number number;
  std::string why;
  NumberResult result = NumberResult::kRejected;
  if (PyIndex_Check(object)) {
    const Ref integer(PyNumber_Index(object));
    if (integer) result = number_from(integer.get(), &number, &why);
    if (!integer && must_propagate()) return false;
    PyErr_Clear();  // an array: its one element is converted below
  }
  if (result == NumberResult::kRejected && !PyUnicode_Check(object)) result = number_from(object, &number, &why);
  if (result == NumberResult::kOnDevice) {  // a step is needed now
    const Ref waited(PyNumber_Float(object));
    if (waited) result = number_from(waited.get(), &number, &why);
  }
  if (result == NumberResult::kRaised || must_propagate()) return false;
  if (result != NumberResult::kOk) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "step must be a number or None, got %.200s; nothing was logged",
                 Py_TYPE(object)->tp_name);
    return false;
  }
  bool exact = false;
  if (whole_step(number, step, &exact))
    return exact ||
           report_step(run, object, "step floor",
                       "the values are kept at its floor, and of several at one step readers show the last; log "
                       "the fraction as a metric \"epoch\" and name it by "
                       "define_metric(\"*\", step_metric=\"epoch\")");
  call->step = nullptr;
  return report_step(run, object, "step none", "the values get the next step, as log() without a step gives");
}

}  // namespace tracker::python
