// SPDX-License-Identifier: MIT
// The resolved view of a metric by step, put together without decoding what need not be: where one segment alone has
// steps, its rows are the view; where several overlap, or steps repeat, rows are decoded and resolved. Threads: one at
// a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "query/chart/chart.h"
#include "query/chart/step_pieces.h"
#include "query/view/attempts.h"

namespace tracker::internal {

constexpr uint64_t kOverlapWorkMax = 20'000'000;  // checks of pieces for all stretches that must be decoded

// Rows of the view that follow each other; at least one.
struct StepSpan {
  const StepPiece* piece = nullptr;  // rows [begin, end) of a rising one; null: those below
  uint64_t begin = 0, end = 0;
  int64_t first = 0, last = 0;  // steps of the first and the last row; spans_by_time(): times
  std::vector<int64_t> steps;
  std::vector<double> values;
  std::vector<int64_t> times;  // where the pieces have them
};

struct StepView {
  StepPieces* pieces;
  const Shadow& shadow;
  DuplicatePolicy policy;
  const std::vector<WriterSnapshot>& writers;
  uint64_t overlap_work_max = kOverlapWorkMax;
};
// What a view of a run reads beside its pieces. `run` must outlive it, unrefreshed.
class ViewRules {
 public:
  ViewRules(const RunView& run, const Selection& selection);
  StepView view(StepPieces* pieces) const { return {pieces, shadow_, policy_, writers_}; }

 private:
  Shadow shadow_;
  DuplicatePolicy policy_;
  const std::vector<WriterSnapshot>& writers_;
};

// What was found not to be readable a piece at a time. What is damaged or newer RunView::read names and passes over.
bool needs_all_rows(const Status& status);

// The view from `lo` to `hi`, both in it, in order. kLimit: so many pieces overlap that reading all is cheaper.
Result<std::vector<StepSpan>> spans_within(const StepView& view, int64_t lo, int64_t hi);

// The spans as a source of charts over steps or, where times do not fall along them, over times: cells of levels where
// the grid is at least as wide as theirs, else rows.
class SpanSource : public ChartSource<int64_t> {
 public:
  // Both must outlive it.
  SpanSource(StepPieces* pieces, const std::vector<StepSpan>& spans, LevelAxis axis = LevelAxis::kSteps);
  uint64_t rows() const override { return rows_; }
  Result<bool> next(const CellGrid<int64_t>& grid, bool points_only, ChartPiece<int64_t>* out) override;

 private:
  // A level as a chart takes it.
  struct Cells {
    Level level;
    std::vector<double> first, last, min, max;
  };
  Status choose_levels(const CellGrid<int64_t>& grid);
  Status enter(const StepSpan& span, bool points_only);
  // The next of the rows from row_ to row_end_.
  Status give_rows(const StepSpan& span, ChartPiece<int64_t>* out);
  void begin_rows(uint64_t begin, uint64_t end);
  // The cell at cell_ and those after it that lie in the same cell of the grid and end by row `rows_end`, as one.
  void give_cells(const CellGrid<int64_t>& grid, uint64_t rows_end, ChartPiece<int64_t>* out);

  StepPieces* const pieces_;
  const std::vector<StepSpan>& spans_;
  const LevelAxis axis_;
  uint64_t rows_ = 0;
  bool chosen_ = false;
  std::vector<StepPieces::FineLevel> fine_;  // where they are needed
  std::vector<std::string_view> levels_;     // [span], empty: rows
  size_t at_ = 0;                            // span
  bool entered_ = false, by_cells_ = false;
  Cells cells_;
  size_t cell_ = 0;
  uint64_t cell_begin_ = 0;  // its first row in the piece
  ChartCell<int64_t> summary_;
  uint64_t row_ = 0, row_end_ = 0, loaded_end_ = 0;  // of the piece: to be given
  std::vector<double> values_;
};

}  // namespace tracker::internal
