// SPDX-License-Identifier: MIT
// Exports a run as CSV or JSON lines, complete and exact: numbers in the shortest text that reads back to the same
// value, whole microseconds, every text. docs/cli.md shows the forms. Threads: one at a time, as RunView. Cost: the
// long forms hold one group of metrics at a time (group_points_max points, or one larger metric), all texts, and
// nothing of the output; the wide form holds every row that it writes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/view/run_view.h"
#include "query/view/visit.h"

namespace tracker::internal {

enum class ExportFormat { kCsv, kJsonl };

// Points and texts that are done, and the total.
using ExportProgress = std::function<void(uint64_t done, uint64_t total)>;

struct ExportOptions {
  ExportFormat format = ExportFormat::kCsv;
  std::vector<std::string> metrics = {};  // of numbers or texts, in this order, numbers first; empty: all, by name
  bool all = false;                       // every row instead of the resolved view
  bool run_line = false;                  // for JSON lines: the run's data comes first, so that an import is complete
  bool float64 = false;                   // for TensorBoard: the exact values too, in addition to float32
  bool wide = false;  // one row for each step and a column for each metric; CSV and the resolved view only
  uint64_t group_points_max = kVisitPointsMax;
  ExportProgress progress = {};  // called with each piece of the output
};

struct ExportResult {
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::vector<std::string> metrics;  // in the order written
};

// Receives a piece of the output; its error ends the export.
using ExportSink = std::function<Status(std::string_view)>;

// kNotFound for a metric that the run does not have, with similar names; kInvalid for options that exclude each other;
// else errors of the sink or the disk. Damaged frames are omitted and reported in run->problems().
Result<ExportResult> export_run(RunView* run, const ExportOptions& options, const ExportSink& sink);

}  // namespace tracker::internal
