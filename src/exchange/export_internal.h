// SPDX-License-Identifier: MIT
// Shared by the long and the wide form of an export: what is written and how it reaches the sink. Private to this room.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "exchange/export.h"

namespace tracker::internal {

// What an export covers: metrics of numbers and of texts by name. A metric that was logged as both is in both.
struct ExportPlan {
  std::vector<std::string> names;  // in the order to write
  std::set<std::string> number_metrics;
  std::map<std::string, std::vector<TextRow>> texts;
  std::map<std::string, uint64_t> points;  // stored, by name of `number_metrics`
};

// Collects rows and hands them on in pieces.
class ExportOutput {
 public:
  ExportOutput(const ExportSink& sink, const ExportPlan& plan, const ExportProgress& progress);
  std::string& buffer() { return buffer_; }
  // To be called after each row, which holds so many of what the plan counts.
  Status row_done(uint64_t values = 1) {
    ++rows_;
    done_ += values;
    return buffer_.size() < kPieceBytes ? Status() : flush();
  }
  // To be called after the rows of a metric, of which not every point that is stored is a row.
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
