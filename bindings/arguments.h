// SPDX-License-Identifier: MIT
// The arguments of the hot calls, f(first, step=None), read from a vectorcall: the usual two forms by a comparison of
// pointers.
#pragma once

#include <Python.h>

#include "run_object.h"

namespace tracker::python {

extern PyObject* g_step;  // the interned "step"

struct Arguments {
  PyObject* first;
  PyObject* step;  // null or None: the next one
};

// Any other form, and the TypeError that says what was expected. `form` is how messages call it: "log(data,
// step=None)".
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

// A small int without a call; the layout is that of the running version.
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

// Any other number, or None, which is none. A step that is not whole is its floor, one that int64 does not have (NaN
// too) is none (call->step is null then): both are counted and said once, or raised by a strict run. False with
// TypeError or ValueError set.
bool step_from(RunObject* run, Arguments* call, int64_t* step);

// The step of a call, where it is given. False: an error is set, as above.
inline bool read_step(RunObject* run, Arguments* call, int64_t* step) {
  return call->step == nullptr || small_step(call->step, step) || step_from(run, call, step);
}

}  // namespace tracker::python
