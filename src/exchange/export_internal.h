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
};

// Collects rows and hands them on in pieces.
class ExportOutput {
 public:
  explicit ExportOutput(const ExportSink& sink) : sink_(sink) {}
  std::string& buffer() { return buffer_; }
  // To be called after each row.
  Status row_done() {
    ++rows_;
    return buffer_.size() < kPieceBytes ? Status() : flush();
  }
  Status flush() {
    bytes_ += buffer_.size();
    const Status status = buffer_.empty() ? Status() : sink_(buffer_);
    buffer_.clear();
    return status;
  }
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kPieceBytes = 256 * 1024;
  const ExportSink& sink_;
  std::string buffer_;
  uint64_t rows_ = 0, bytes_ = 0;
};

// kNotFound names close metrics.
Result<ExportPlan> plan_export(RunView* run, const ExportOptions& options);
Status export_wide(RunView* run, const ExportPlan& plan, ExportOutput* out);

}  // namespace tracker::internal
