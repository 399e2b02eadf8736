// SPDX-License-Identifier: MIT
// The module tracker._core, on which python/tracker is built. It keeps the GIL on free-threaded builds and refuses
// subinterpreters, because handles and the key table are protected by the one GIL.
#include <pybind11/pybind11.h>

#include "errors.h"
#include "register.h"
#include "run_object.h"
#include "tracker/version.h"

PYBIND11_MODULE(_core_in_main, module) {
  module.doc() = "The compiled core of tracker. Use the names of the package tracker; these may change.";
  module.attr("version") = TRK_VERSION_STRING;
  if (!tracker::python::add_errors(module.ptr()) || !tracker::python::add_run_types(module.ptr()))
    throw pybind11::error_already_set();
  tracker::python::register_run(module);
  tracker::python::register_read(module);
  tracker::python::register_runs(module);
  tracker::python::register_artifact(module);
  tracker::python::register_import(module);
  tracker::python::register_cli(module);
  tracker::python::register_server(module);
  tracker::python::register_console(module);
  tracker::python::register_values(module);
}

// Before pybind11 is called: on CPython 3.11 its start waits for ever in a subinterpreter.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core();
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit__core_in_main();
  PyErr_SetString(PyExc_ImportError, "tracker._core does not support loading in subinterpreters");
  return nullptr;
}
