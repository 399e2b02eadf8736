// SPDX-License-Identifier: MIT
// The resolved view of a metric, read from its log a span at a time, and streams of charts made of it: over time, and
// over another metric. What they hold is a few spans, of at most the rows of a segment each; no transaction lives while
// nothing is read (P11). Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "query/chart/chart_query.h"
#include "query/chart/row_stream.h"
#include "query/chart/step_spans.h"
#include "query/rows/selection.h"

namespace tracker::internal {

// So often rows may go back in time along the steps of a view: then that many stretches are merged.
constexpr size_t kTimeStretchesMax = 8;

// The view of one metric by step, opened.
class MetricView {
 public:
  // Null: it cannot be read this way (step_pieces.h). kCorrupt, kVersion, kBusy, kLimit: nor can it.
  static Result<std::unique_ptr<MetricView>> open(RunView* run, const std::string& metric, const Selection& selection,
                                                  bool with_times);
  StepPieces* pieces() const { return pieces_.get(); }
  const std::vector<StepSpan>& spans() const { return spans_; }
  uint64_t rows() const { return rows_; }

 private:
  std::unique_ptr<StepPieces> pieces_;
  std::vector<StepSpan> spans_;
  uint64_t rows_ = 0;
};

// A reader of rows of a view by step.
class ViewRows {
 public:
  explicit ViewRows(const MetricView* view) : view_(view) {}
  // Rows [begin, end) of the view come next.
  void seek(uint64_t begin, uint64_t end);
  // Decodes what comes next, at most the rest of a span; false at the end.
  Result<bool> next(bool with_times, bool with_values);
  // What was decoded, until the next call of anything here.
  uint64_t begin() const { return begin_; }  // row of the view
  std::span<const int64_t> steps, times;
  std::span<const double> values;

 private:
  const MetricView* view_;
  size_t span_ = 0;
  uint64_t span_begin_ = 0;  // row of the view at which it begins
  uint64_t at_ = 0, end_ = 0, begin_ = 0;
  std::vector<int64_t> steps_, times_;
  std::vector<double> values_;
};

// The view in the order of its times, of equal ones by step.
class TimeStream : public RowStream<int64_t> {
 public:
  // Reads all times once, into `count` too. Null: they go back more often than kTimeStretchesMax.
  static Result<std::unique_ptr<TimeStream>> open(std::unique_ptr<MetricView> view, WindowCount<int64_t>* count);
  Status seek(uint64_t row) override;
  Result<size_t> read(size_t n, int64_t* x, double* values) override;

 private:
  // Rows of the view whose times do not fall.
  struct Stretch {
    explicit Stretch(const MetricView* view) : rows(view) {}
    uint64_t begin = 0, end = 0;
    ViewRows rows;
    size_t at = 0;  // of what is decoded
    bool ended = false;
  };
  explicit TimeStream(std::unique_ptr<MetricView> view) : view_(std::move(view)) {}
  static Status fill(Stretch* stretch);

  std::unique_ptr<MetricView> view_;
  std::vector<Stretch> stretches_;
};

// Rows of a view at whose step another metric has a finite number, in the order of their steps; x is that number.
class JoinStream : public RowStream<double> {
 public:
  JoinStream(std::unique_ptr<MetricView> view, std::unique_ptr<MetricView> x);
  Status seek(uint64_t row) override;
  Result<size_t> read(size_t n, double* x, double* values) override;

 private:
  std::unique_ptr<MetricView> view_, x_view_;
  ViewRows rows_, x_rows_;
  size_t at_ = 0, x_at_ = 0;
};

}  // namespace tracker::internal
