// SPDX-License-Identifier: MIT
// The one place where the C API half of the module asks the pybind11 half: which Run a _core.RunCore holds.
#pragma once

#include <Python.h>

#include "model/number.h"
#include "run/run.h"

namespace tracker::python {

// Null with TypeError set for anything else than a _core.RunCore.
internal::Run* run_of_core(PyObject* core);

}  // namespace tracker::python
