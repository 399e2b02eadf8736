// SPDX-License-Identifier: MIT
// The Python object RunView: a run opened for reading, shared by Python's threads.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <utility>

#include "query/view/run_view.h"
#include "released_gil.h"

namespace tracker::python {

// RunView is used by one thread at a time; Python's threads share it through this lock, taken without the GIL.
class View {
 public:
  explicit View(std::unique_ptr<internal::RunView> view) : view_(std::move(view)) {}

  template <typename F>
  auto with(F&& function) {
    const ReleasedGil without_gil;
    const std::lock_guard lock(mutex_);
    return function(*view_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<internal::RunView> view_;
};

}  // namespace tracker::python
