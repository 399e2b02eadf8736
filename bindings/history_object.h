// SPDX-License-Identifier: MIT
// The Python objects Column, Rows and Table, which history() and tail() return; they are filled without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "query/chart/smooth.h"
#include "query/rows/packed.h"
#include "query/table/align.h"
#include "query/table/arrow.h"

namespace tracker::python {

// A result and, after the first request, its Arrow table; both share the same memory. Threads: with the GIL held.
template <typename T>
class ArrowSource {
 public:
  explicit ArrowSource(T filled) : result(std::move(filled)) {}
  const std::shared_ptr<const internal::ArrowTable>& arrow() {
    if (arrow_ == nullptr) arrow_ = internal::arrow_table(result);
    return arrow_;
  }
  T result;

 private:
  std::shared_ptr<const internal::ArrowTable> arrow_;
};

using Rows = ArrowSource<internal::PackedHistory>;
using Table = ArrowSource<internal::AlignedTable>;

// "ema", "tensorboard", "gaussian", "mean"; "" is none. Throws ValueError for anything else.
internal::Smoother smoother_from(const std::string& kind);

void register_history_types(pybind11::module_& module);

}  // namespace tracker::python
