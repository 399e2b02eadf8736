// SPDX-License-Identifier: MIT
// The one place where the C API half of the module uses the pybind11 half: to get the Run of a _core.RunCore.
#pragma once

#include <Python.h>

#include "model/number.h"
#include "run/run.h"

namespace tracker::python {

// Null with TypeError set for any object but a _core.RunCore.
internal::Run* run_of_core(PyObject* core);

}  // namespace tracker::python
