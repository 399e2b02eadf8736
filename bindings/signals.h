// SPDX-License-Identifier: MIT
// Runs Python's signal handlers while a call that logs waits for room without the GIL: an exception of a handler, such
// as Ctrl-C, ends the wait.
#pragma once

#include <Python.h>
#include <unistd.h>

#include "journal/live/wait_scope.h"
#include "released_gil.h"

namespace tracker::python {

// Calls `work` without the GIL. Returns false if a handler has raised; its error is set and `work` has ended all the
// same. Python runs handlers on the process's first thread only: other threads never check.
template <typename Work>
bool without_gil_but_signals(const Work& work) {
  bool raised = false;
  {
    struct Waiting {
      ReleasedGil gil;
      bool* raised;
    } waiting{{}, &raised};
    const internal::WaitScope scope(
        [](void* context) {
          auto* at = static_cast<Waiting*>(context);
          if (::gettid() != ::getpid()) return true;
          *at->raised = at->gil.taken([] { return PyErr_CheckSignals() != 0; });
          return !*at->raised;
        },
        &waiting);
    work();
  }
  return !raised;
}

}  // namespace tracker::python
