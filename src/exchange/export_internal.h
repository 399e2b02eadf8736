// SPDX-License-Identifier: MIT
// Shared by the long and the wide form of an export: the selection and the output. Private to this room.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "exchange/export.h"

namespace tracker::internal {

// The selection of an export: metrics of numbers and of texts by name. A metric that was logged as both is in both.
struct ExportPlan {
  std::vector<std::string> names;  // in the order to write
  std::set<std::string> number_metrics;
  std::map<std::string, std::vector<TextRow>> texts;
  std::map<std::string, uint64_t> points;  // stored, by name of `number_metrics`
};

// Collects rows and passes them on in pieces.
class ExportOutput {
 public:
  ExportOutput(const ExportSink& sink, const ExportPlan& plan, const ExportProgress& progress);
  std::string& buffer() { return buffer_; }
  // Call after each row, with the number of points and texts in it.
  Status row_done(uint64_t values = 1) {
    ++rows_;
    done_ += values;
    return buffer_.size() < kPieceBytes ? Status() : flush();
  }
  // Call after the rows of a metric, in which not every stored point is a row.
  void metric_done(uint64_t points) { done_ = finished_ += points; }
  Status flush();
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kPieceBytes = 256 * 1024;
  const ExportSink& sink_;
  const ExportProgress& progress_;
  std::string buffer_;
  uint64_t rows_ = 0, bytes_ = 0;
  uint64_t done_ = 0, finished_ = 0, total_ = 0;
};

// kNotFound names close metrics.
Result<ExportPlan> plan_export(RunView* run, const ExportOptions& options);
Status export_wide(RunView* run, const ExportPlan& plan, ExportOutput* out);

}  // namespace tracker::internal
