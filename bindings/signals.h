// SPDX-License-Identifier: MIT
// Python's signal handlers run while a call that logs waits for room without the GIL: what one of them raises, as
// Ctrl-C does, ends the wait.
#pragma once

#include <Python.h>
#include <unistd.h>

#include "journal/live/wait_scope.h"
#include "released_gil.h"

namespace tracker::python {

// Calls `work` without the GIL. False: a handler has raised, its error is set; `work` has come to its end all the same.
// Handlers run on the process's first thread alone, as Python has it: the others never ask.
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
