// SPDX-License-Identifier: MIT
// The values of one log() call that are in the memory of an accelerator. tracker/_device.py copies them to the host and
// logs them when they have arrived; it is imported with the first one. Threads: with the GIL held.
#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include <string>

#include "model/number.h"
#include "ref.h"
#include "run/run.h"

namespace tracker::python {

class DeviceValues {
 public:
  bool empty() const { return !keys_; }
  // False: error set.
  bool add(PyObject* key, PyObject* value, internal::ValueType type);
  // Returns None, or the exception for a strict run; null with an error set that must reach the caller.
  Ref log(PyObject* run, int64_t step) const;
  // The call ends with an error: values that log() has neither handed over nor counted are lost, and counted here.
  void drop(internal::Run* run) const;
  // In a forked child nothing is recorded; reports that once.
  void say_forked(internal::Run* run) const;

 private:
  // Lists of the same length, null while empty; a type is its number, the key of a handled value is None.
  Ref keys_, values_, types_;
};

// The part of tracker/_device.py that must be one step: a signal handler, which may raise, runs between any two calls
// of Python code. Both set the keys at `places` to None.
void hand_over_device_values(const pybind11::object& queue, const pybind11::object& copy, const pybind11::list& keys,
                             const pybind11::list& places);
void drop_device_values(internal::Run& run, const pybind11::list& keys, const pybind11::list& types,
                        const pybind11::list& places, const std::string& why);

}  // namespace tracker::python
