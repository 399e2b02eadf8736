// SPDX-License-Identifier: MIT
// The values of one log() call that lie in the memory of an accelerator. tracker/_device.py copies them to the host and
// logs them when they have arrived; it is imported with the first one. Threads: with the GIL held.
#pragma once

#include <Python.h>

#include "model/number.h"
#include "ref.h"
#include "run/run.h"

namespace tracker::python {

class DeviceValues {
 public:
  bool empty() const { return !keys_; }
  // False: error set.
  bool add(PyObject* key, PyObject* value, internal::ValueType type);
  // None or what a strict run raises; null with an error set that must reach the caller.
  Ref log(PyObject* run, int64_t step) const;
  // They are lost, and counted: the call ended with an error before they were looked at.
  void drop(internal::Run* run) const;

 private:
  Ref keys_, values_, types_;  // lists of one length, null while there is none; a type is its number
};

}  // namespace tracker::python
