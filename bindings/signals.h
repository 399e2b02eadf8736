// SPDX-License-Identifier: MIT
// Python's signal handlers run while a call that logs waits for room without the GIL: what one of them raises, as
// Ctrl-C does, ends the wait.
#pragma once

#include <Python.h>
#include <unistd.h>

#include "journal/wait_scope.h"

namespace tracker::python {

// Python ends a thread that asks for the GIL while the interpreter ends; such a thread sleeps instead (without_gil.h).
inline void take_gil_or_sleep(PyThreadState* state) {
  while (_Py_IsFinalizing() != 0) ::pause();
  PyEval_RestoreThread(state);
}

// Calls `work` without the GIL. False: a handler has raised, its error is set; `work` has come to its end all the same.
// Handlers run on the process's first thread alone, as Python has it: the others never ask.
template <typename Work>
bool without_gil_but_signals(const Work& work) {
  struct Waiting {
    PyThreadState* state;
    bool raised;
  } waiting{PyEval_SaveThread(), false};
  {
    const internal::WaitScope scope(
        [](void* context) {
          auto* at = static_cast<Waiting*>(context);
          if (::gettid() != ::getpid()) return true;
          take_gil_or_sleep(at->state);
          at->raised = PyErr_CheckSignals() != 0;
          at->state = PyEval_SaveThread();
          return !at->raised;
        },
        &waiting);
    work();
  }
  take_gil_or_sleep(waiting.state);
  return !waiting.raised;
}

}  // namespace tracker::python
