// SPDX-License-Identifier: MIT
// Work of a Python thread that may still be in it when the interpreter ends. Python then ends the thread as soon as it
// asks for the GIL, by an unwinding that destructors of pybind11 do not survive: the process would abort. Such a thread
// sleeps here instead, until the process is gone.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <optional>
#include <utility>

#include "signals.h"

namespace tracker::python {

// What `work` returns, done without the GIL; what it throws is thrown with it, and so is what the handler of a signal
// raises while it waits for room in a ring.
template <typename Work>
auto without_gil(Work work) {
  std::optional<decltype(work())> out;
  std::exception_ptr failure;
  const bool quiet = without_gil_but_signals([&] {
    try {
      out.emplace(work());
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  });
  if (!quiet) throw pybind11::error_already_set();
  if (failure) std::rethrow_exception(failure);
  return std::move(*out);
}

}  // namespace tracker::python
