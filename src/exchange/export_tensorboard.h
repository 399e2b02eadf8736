// SPDX-License-Identifier: MIT
// Exports a run as a TensorBoard event file, complete: every resolved row (or all rows) with its step and time, texts,
// and config as hyperparameters. Values keep their bits: float32 is a simple_value, float64 a tensor of one double;
// narrower floats and bool are written as the float32 that they equal, int64 as a double if that is exact, else as an
// int64 tensor, which the fast loader of TensorBoard does not show. Threads: one at a time. Memory: as export.h.
#pragma once

#include <string>

#include "exchange/export.h"

namespace tracker::internal {

// Writes <folder>/events.out.tfevents.<seconds>.tracker.<uid>, which appears complete; `file` is its path.
Result<ExportResult> export_tensorboard(RunView* run, const ExportOptions& options, const std::string& folder,
                                        std::string* file);

}  // namespace tracker::internal
