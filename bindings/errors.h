// SPDX-License-Identifier: MIT
// From a Status to a Python exception, in one table:
//
//   ValueError                     kInvalid
//   NotImplementedError            kUnsupported
//   tracker.TrackerError           the base of
//     NotFoundError (LookupError)  kNotFound
//     StoreError (OSError)         kIo, kBusy, kTimeout, kExists
//     CorruptError                 kCorrupt, kVersion
//     LimitError                   kLimit
//     ClosedError                  kClosed
#pragma once

#include <Python.h>

#include "base/status.h"

namespace tracker::python {

// Creates the classes in `module`. Returns false with a Python error set.
bool add_errors(PyObject* module);
// The class for a code. Borrowed; never null after add_errors().
PyObject* error_class(internal::Code code);
// Sets the Python exception for `status`.
void set_error(const internal::Status& status);

}  // namespace tracker::python
