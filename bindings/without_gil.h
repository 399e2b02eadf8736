// SPDX-License-Identifier: MIT
// Work of a Python thread without the GIL that may wait for room in a ring.
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
