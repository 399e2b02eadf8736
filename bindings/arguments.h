// SPDX-License-Identifier: MIT
// The arguments of the hot calls, f(first, step=None), read from a vectorcall: the two usual forms by comparing
// pointers.
#pragma once

#include <Python.h>

#include "run_object.h"

namespace tracker::python {

extern PyObject* g_step;  // the interned "step"

struct Arguments {
  PyObject* first;
  PyObject* step;  // null or None: the next step
};

// Any other form, with a TypeError for a wrong call. `form` is the call's form in messages: "log(data, step=None)".
bool parse_slow(const char* form, const char* first_name, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                Arguments* out);

inline bool parse(const char* form, const char* first_name, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                  Arguments* out) {
  if (count == 1 && keywords != nullptr && PyTuple_GET_SIZE(keywords) == 1 && PyTuple_GET_ITEM(keywords, 0) == g_step) {
    *out = {args[0], args[1]};
    return true;
  }
  if (keywords == nullptr && (count == 1 || count == 2)) {
    *out = {args[0], count == 2 ? args[1] : nullptr};
    return true;
  }
  return parse_slow(form, first_name, args, count, keywords, out);
}

// A small int without a call; the layout is that of the running Python version.
inline bool small_step(PyObject* object, int64_t* step) {
  if (!PyLong_CheckExact(object)) return false;
#if PY_VERSION_HEX >= 0x030c0000
  const auto* number = reinterpret_cast<const PyLongObject*>(object);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  *step = PyUnstable_Long_CompactValue(number);
#else
  const Py_ssize_t size = Py_SIZE(object);
  if (size != 1 && size != 0) return false;
  *step = size == 0 ? 0 : static_cast<int64_t>(reinterpret_cast<const PyLongObject*>(object)->ob_digit[0]);
#endif
  return true;
}

// Any other number, or None for no step. A step that is not whole becomes its floor, one outside int64 (NaN too)
// becomes no step (call->step is null then): both are counted and reported once, or raised by a strict run. Returns
// false with TypeError or ValueError set.
bool step_from(RunObject* run, Arguments* call, int64_t* step);

// Reads the step of a call, if it is given. Returns false with an error set, as above.
inline bool read_step(RunObject* run, Arguments* call, int64_t* step) {
  return call->step == nullptr || small_step(call->step, step) || step_from(run, call, step);
}

}  // namespace tracker::python
