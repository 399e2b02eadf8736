// SPDX-License-Identifier: MIT
// Work of a Python thread without the GIL that may wait for room in a ring.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <optional>
#include <utility>

#include "signals.h"

namespace tracker::python {

// Runs `work` without the GIL and returns its result; its exception is rethrown with the GIL, and so is that of a
// signal handler that raises while it waits for room in a ring.
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
