// SPDX-License-Identifier: MIT
// Work of a Python thread that may still be in it when the interpreter ends. Python then ends the thread as soon as it
// asks for the GIL, by an unwinding that destructors of pybind11 do not survive: the process would abort. Such a thread
// sleeps here instead, until the process is gone.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <utility>

namespace tracker::python {

inline void take_gil_or_sleep(PyThreadState* state) {
  while (_Py_IsFinalizing() != 0) ::pause();
  PyEval_RestoreThread(state);
}

// What `work` returns, done without the GIL; what it throws is thrown with it.
template <typename Work>
auto without_gil(Work work) {
  std::optional<decltype(work())> out;
  std::exception_ptr failure;
  PyThreadState* state = PyEval_SaveThread();
  try {
    out.emplace(work());
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  take_gil_or_sleep(state);
  if (failure) std::rethrow_exception(failure);
  return std::move(*out);
}

}  // namespace tracker::python
