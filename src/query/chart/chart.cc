// SPDX-License-Identifier: MIT
#include "query/chart/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tracker::internal {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What is added up of values while the rows of a cell stream by.
struct Values {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  uint64_t count = 0, nan = 0, pos_inf = 0, neg_inf = 0;
};

using Pair = double __attribute__((vector_size(16)));  // compilers do not find the minima by themselves
constexpr size_t kChains = 4;                          // one chain of additions would wait for each

// False: their sum says that some are not finite, or it is too large for a double; nothing was added.
template <size_t kRows>
bool add_finite(const double* v, Values* out) {
  Pair sum[kChains] = {}, min[kChains], max[kChains];
  std::fill_n(min, kChains, Pair{out->min, out->min});
  std::fill_n(max, kChains, Pair{out->max, out->max});
  for (size_t i = 0; i < kRows; i += 2 * kChains) {
    for (size_t k = 0; k < kChains; ++k) {
      Pair at;
      std::memcpy(&at, v + i + 2 * k, sizeof at);
      sum[k] += at;
      min[k] = at < min[k] ? at : min[k];
      max[k] = at > max[k] ? at : max[k];
    }
  }
  const Pair sums = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  const double all = sums[0] + sums[1];
  if (!std::isfinite(all)) return false;
  out->sum += all;
  for (size_t k = 0; k < kChains; ++k) {
    out->min = std::min({out->min, min[k][0], min[k][1]});
    out->max = std::max({out->max, max[k][0], max[k][1]});
  }
  out->count += kRows;
  return true;
}

void add_each(const double* v, size_t n, Values* out) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    if (std::isfinite(v[i])) {
      sum += v[i];
      out->min = std::min(out->min, v[i]);
      out->max = std::max(out->max, v[i]);
      ++out->count;
    } else if (std::isnan(v[i])) {
      ++out->nan;
    } else {
      ++(v[i] > 0 ? out->pos_inf : out->neg_inf);
    }
  }
  out->sum += sum;
}

void add_values(const double* v, size_t n, Values* out) {
  constexpr size_t kMany = 256, kFew = 32;
  for (; n >= kMany; v += kMany, n -= kMany)
    if (!add_finite<kMany>(v, out)) add_each(v, kMany, out);
  for (; n >= kFew; v += kFew, n -= kFew)
    if (!add_finite<kFew>(v, out)) add_each(v, kFew, out);
  add_each(v, n, out);
}

// The comparisons above take -0 and +0 for equal.
double zero_of(const double* v, size_t n, bool negative) {
  for (size_t i = 0; i < n; ++i)
    if (v[i] == 0 && std::signbit(v[i]) == negative) return v[i];
  return negative ? 0.0 : -0.0;
}

double lesser(double a, double b) { return a == b ? (std::signbit(a) ? a : b) : std::min(a, b); }
double greater(double a, double b) { return a == b ? (std::signbit(a) ? b : a) : std::max(a, b); }

template <typename X>
ChartCell<X> cell_of(const X* x, const double* v, size_t n) {
  Values values;
  add_values(v, n, &values);
  ChartCell<X> cell;
  cell.x0 = x[0];
  cell.x1 = x[n - 1];
  cell.first = v[0];
  cell.last = v[n - 1];
  cell.min = values.count == 0 ? kNan : values.min == 0 ? zero_of(v, n, true) : values.min;
  cell.max = values.count == 0 ? kNan : values.max == 0 ? zero_of(v, n, false) : values.max;
  cell.sum = values.sum;
  cell.count = values.count;
  cell.nan = values.nan;
  cell.pos_inf = values.pos_inf;
  cell.neg_inf = values.neg_inf;
  return cell;
}

// The end of the rows that share a cell with x[begin]: doubling strides, then a binary search.
template <typename X>
size_t cell_end(const CellGrid<X>& grid, std::span<const X> x, size_t begin) {
  const X first = x[begin];
  size_t inside = begin, stride = 1;
  while (inside + stride < x.size() && grid.same_cell(first, x[inside + stride])) {
    inside += stride;
    stride *= 2;
  }
  size_t outside = std::min(inside + stride, x.size());
  while (outside - inside > 1) {
    const size_t middle = inside + (outside - inside) / 2;
    (grid.same_cell(first, x[middle]) ? inside : outside) = middle;
  }
  return outside;
}

template <typename X>
void put(const CellGrid<X>& grid, bool points, const ChartCell<X>& cell, bool* open, std::vector<ChartCell<X>>* out) {
  if (*open && !points && grid.same_cell(out->back().x0, cell.x0)) append_cell(cell, &out->back());
  else out->push_back(cell);
  *open = true;
}

}  // namespace

CellGrid<int64_t>::CellGrid(int64_t lo, int64_t hi, uint32_t pixels) {
  const uint64_t range = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
  while (shift_ < 63 && (range >> (shift_ + 1)) >= pixels) ++shift_;
}
double CellGrid<int64_t>::width() const { return std::ldexp(1.0, shift_); }

CellGrid<double>::CellGrid(double lo, double hi, uint32_t pixels) {
  const double half = hi / 2 - lo / 2;  // the range itself may be beyond any double
  if (half > 0) exponent_ = std::max(std::ilogb(half / pixels) + 1, -1074);
}
double CellGrid<double>::width() const { return std::ldexp(1.0, exponent_); }
double CellGrid<double>::cell(double x) const { return std::floor(std::ldexp(x, -exponent_)); }

template <typename X>
void append_cell(const ChartCell<X>& from, ChartCell<X>* to) {
  if (to->rows() == 0) {
    *to = from;
    return;
  }
  to->x1 = from.x1;
  to->last = from.last;
  if (to->count == 0) {
    to->min = from.min;
    to->max = from.max;
  } else if (from.count > 0) {
    to->min = lesser(to->min, from.min);
    to->max = greater(to->max, from.max);
  }
  to->sum += from.sum;
  to->count += from.count;
  to->nan += from.nan;
  to->pos_inf += from.pos_inf;
  to->neg_inf += from.neg_inf;
}

template <typename X>
Status check_window(X lo, X hi, uint32_t pixels) {
  if (pixels < 1 || pixels > kChartPixelsMax)
    return Status(Code::kInvalid, fmt::format("pixels: {} is not within 1 and {}", pixels, kChartPixelsMax));
  if (!(lo <= hi)) return Status(Code::kInvalid, fmt::format("a chart from {} to {} holds nothing", lo, hi));
  return {};
}

template <typename X>
Status build_cells(ChartSource<X>* source, const CellGrid<X>& grid, bool points, std::vector<ChartCell<X>>* out) {
  bool open = false;  // the last cell is of this call: more rows may belong to it
  for (ChartPiece<X> piece;;) {
    auto more = source->next(grid, points, &piece);
    if (!more.ok()) return more.status();
    if (!*more) return {};
    if (piece.summary != nullptr) {
      put(grid, points, *piece.summary, &open, out);
      continue;
    }
    for (size_t begin = 0; begin < piece.x.size();) {
      const size_t end = points ? begin + 1 : cell_end(grid, piece.x, begin);
      put(grid, points, cell_of(piece.x.data() + begin, piece.values.data() + begin, end - begin), &open, out);
      begin = end;
    }
  }
}

template <typename X>
Result<Chart<X>> build_chart(ChartSource<X>* source, X lo, X hi, uint32_t pixels) {
  TRACKER_RETURN_IF_ERROR(check_window(lo, hi, pixels));
  Chart<X> chart;
  chart.points = source->rows() < uint64_t{2} * pixels;
  chart.cells.reserve(std::min(source->rows(), uint64_t{2} * pixels + 1));
  TRACKER_RETURN_IF_ERROR(build_cells(source, CellGrid<X>(lo, hi, pixels), chart.points, &chart.cells));
  return chart;
}

template void append_cell(const ChartCell<int64_t>&, ChartCell<int64_t>*);
template void append_cell(const ChartCell<double>&, ChartCell<double>*);
template Status check_window(int64_t, int64_t, uint32_t);
template Status check_window(double, double, uint32_t);
template Status build_cells(ChartSource<int64_t>*, const CellGrid<int64_t>&, bool, std::vector<ChartCell<int64_t>>*);
template Status build_cells(ChartSource<double>*, const CellGrid<double>&, bool, std::vector<ChartCell<double>>*);
template Result<Chart<int64_t>> build_chart(ChartSource<int64_t>*, int64_t, int64_t, uint32_t);
template Result<Chart<double>> build_chart(ChartSource<double>*, double, double, uint32_t);

}  // namespace tracker::internal
