// SPDX-License-Identifier: MIT
// A chart of a series of any length: all of its points, or exact cells of at most one pixel, so that no spike can hide
// (P10). Cells lie on a fixed grid whose width is a power of two, the largest that is at most (hi - lo) / pixels: which
// rows share a cell depends on that width alone, not on the window and not on how the rows are stored. So the same
// query gives the same cells, panning moves them without changing them, and appending changes the last one and those
// after it (with an open end, until the range has doubled). Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace tracker::internal {

// Limit: pixels of a chart. Beyond it: an error.
constexpr uint32_t kChartPixelsMax = 65'536;

// Of the rows in x order that lie in one cell of the grid. X is int64_t (steps, µs) or double (a metric).
template <typename X>
struct ChartCell {
  X x0{}, x1{};                // of the first and the last row: cells end at points
  double first = 0, last = 0;  // values of these rows, finite or not
  double min = 0, max = 0;     // over finite values, -0 < +0; NaN without any
  double sum = 0;              // of the finite values; its last bits depend on how the rows were grouped
  uint64_t count = 0;          // finite values
  uint64_t nan = 0, pos_inf = 0, neg_inf = 0;
  uint64_t rows() const { return count + nan + pos_inf + neg_inf; }
};

// Which cell an x belongs to.
template <typename X>
class CellGrid;

template <>
class CellGrid<int64_t> {
 public:
  CellGrid() = default;
  CellGrid(int64_t lo, int64_t hi, uint32_t pixels);
  bool same_cell(int64_t a, int64_t b) const { return (a >> shift_) == (b >> shift_); }
  double width() const;
  unsigned shift() const { return static_cast<unsigned>(shift_); }  // the width is 2^shift

 private:
  int shift_ = 0;
};

template <>
class CellGrid<double> {
 public:
  CellGrid() = default;
  CellGrid(double lo, double hi, uint32_t pixels);
  bool same_cell(double a, double b) const { return a == b || cell(a) == cell(b); }
  double width() const;

 private:
  double cell(double x) const;
  int exponent_ = -1074;  // the width is 2^exponent_
};

// Some of the rows of a source: points, or a summary of rows that all lie in one cell of the grid.
template <typename X>
struct ChartPiece {
  std::span<const X> x;  // ascending
  std::span<const double> values;
  const ChartCell<X>* summary = nullptr;  // set: x and values are empty
};

// Rows of the resolved view within a window, in x order. A store that holds summaries gives those where they fit into a
// cell (it may join many into one piece, so that first and last are looked up once a cell) and decodes rows only where
// a cell of the grid ends within them; one that holds none gives points.
template <typename X>
class ChartSource {
 public:
  virtual ~ChartSource() = default;
  virtual uint64_t rows() const = 0;  // in the window, exactly
  // The next piece, valid until the next call; false at the end. `points_only`: no summaries.
  virtual Result<bool> next(const CellGrid<X>& grid, bool points_only, ChartPiece<X>* out) = 0;
};

template <typename X>
struct Chart {
  std::vector<ChartCell<X>> cells;  // at most 2 x pixels + 1, ascending
  bool points = false;              // each cell is one row: there were fewer than 2 x pixels
};

// kInvalid: lo > hi, NaN, pixels outside 1..kChartPixelsMax.
template <typename X>
Status check_window(X lo, X hi, uint32_t pixels);

// Appends the cells of the source to `out`. `grid` and `points` are those of the whole chart.
template <typename X>
Status build_cells(ChartSource<X>* source, const CellGrid<X>& grid, bool points, std::vector<ChartCell<X>>* out);

// The chart of one window: all rows when there are fewer than 2 x pixels, else cells. Errors: those of check_window and
// of the source. Cost: 1.4 ns a point, 7 ns a summary; memory: the cells.
template <typename X>
Result<Chart<X>> build_chart(ChartSource<X>* source, X lo, X hi, uint32_t pixels);

// Adds rows to the cell (which may be empty: rows() == 0); `from` follows it in x order.
template <typename X>
void append_cell(const ChartCell<X>& from, ChartCell<X>* to);

}  // namespace tracker::internal
