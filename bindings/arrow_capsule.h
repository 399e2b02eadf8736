// SPDX-License-Identifier: MIT
// Arrow structs in the capsules of the PyCapsule interface
// (https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html). A consumer moves the struct out and
// releases it at any time, on any thread; a capsule without a consumer releases its struct itself. Threads: with the
// GIL held; errors are raised as Python exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "query/table/arrow.h"

namespace tracker::python {

pybind11::object schema_capsule(const internal::ArrowTable& table);                         // "arrow_schema"
pybind11::object array_capsule(const std::shared_ptr<const internal::ArrowTable>& table);   // "arrow_array"
pybind11::object stream_capsule(const std::shared_ptr<const internal::ArrowTable>& table);  // "arrow_array_stream"

}  // namespace tracker::python
