// SPDX-License-Identifier: MIT
// Goal: cells are exact at every zoom, whatever the values, the order of magnitude of x and the form in which a store
// hands out its rows.
// Method: random rows with NaN, infinities, zeros of both signs and bursts of steps, held against a model that reads
// every row by itself; sources that give points in random pieces, or summaries.
#include "query/chart/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "support/child.h"

namespace tracker::internal {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename X>
struct Data {
  std::vector<X> x;
  std::vector<double> values;
};

template <typename X>
ChartCell<X> brute_cell(const Data<X>& data, size_t begin, size_t end) {
  ChartCell<X> cell{
      data.x[begin], data.x[end - 1], data.values[begin], data.values[end - 1], kNan, kNan, 0, 0, 0, 0, 0};
  for (size_t i = begin; i < end; ++i) {
    const double v = data.values[i];
    if (std::isnan(v)) ++cell.nan;
    else if (std::isinf(v)) ++(v > 0 ? cell.pos_inf : cell.neg_inf);
    else {
      const bool first = cell.count == 0;
      if (first || v < cell.min || (v == cell.min && std::signbit(v))) cell.min = v;
      if (first || v > cell.max || (v == cell.max && !std::signbit(v))) cell.max = v;
      cell.sum += v;
      ++cell.count;
    }
  }
  return cell;
}

template <typename X>
std::vector<ChartCell<X>> brute_cells(const Data<X>& data, size_t begin, size_t end, const CellGrid<X>& grid,
                                      bool points) {
  std::vector<ChartCell<X>> out;
  for (size_t i = begin; i < end;) {
    size_t last = i + 1;
    while (!points && last < end && grid.same_cell(data.x[i], data.x[last])) ++last;
    out.push_back(brute_cell(data, i, last));
    i = last;
  }
  return out;
}

uint64_t bits(double v) { return std::isnan(v) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(v); }

template <typename X>
void expect_same(const std::vector<ChartCell<X>>& got, const std::vector<ChartCell<X>>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const ChartCell<X>&a = got[i], &b = wanted[i];
    ASSERT_EQ(a.x0, b.x0) << i;
    ASSERT_EQ(a.x1, b.x1) << i;
    ASSERT_EQ(bits(a.first), bits(b.first)) << i;
    ASSERT_EQ(bits(a.last), bits(b.last)) << i;
    ASSERT_EQ(bits(a.min), bits(b.min)) << i;
    ASSERT_EQ(bits(a.max), bits(b.max)) << i;
    ASSERT_EQ(a.count, b.count) << i;
    ASSERT_EQ(a.nan, b.nan) << i;
    ASSERT_EQ(a.pos_inf, b.pos_inf) << i;
    ASSERT_EQ(a.neg_inf, b.neg_inf) << i;
    ASSERT_NEAR(a.sum, b.sum, 1e-9 * static_cast<double>(1 + b.count)) << i;
  }
}

// Rows [begin, end) in pieces of random length; with `summaries` those that fit into a cell are summed up first.
template <typename X>
class PieceSource : public ChartSource<X> {
 public:
  PieceSource(const Data<X>& data, size_t begin, size_t end, uint64_t seed, bool summaries)
      : data_(data), at_(begin), end_(end), random_(seed), summaries_(summaries) {}
  uint64_t rows() const override { return end_ - at_; }
  Result<bool> next(const CellGrid<X>& grid, bool points_only, ChartPiece<X>* out) override {
    if (at_ == end_) return false;
    const size_t count = std::min<size_t>(end_ - at_, 1 + random_() % 700);
    *out = {};
    if (summaries_ && !points_only && grid.same_cell(data_.x[at_], data_.x[at_ + count - 1])) {
      summary_ = brute_cell(data_, at_, at_ + count);
      out->summary = &summary_;
    } else {
      out->x = {data_.x.data() + at_, count};
      out->values = {data_.values.data() + at_, count};
    }
    at_ += count;
    return true;
  }

 private:
  const Data<X>& data_;
  size_t at_, end_;
  std::mt19937_64 random_;
  bool summaries_;
  ChartCell<X> summary_;
};

double random_value(std::mt19937_64& random) {
  switch (random() % 12) {
    case 0: return kNan;
    case 1: return random() % 2 == 0 ? kInf : -kInf;
    case 2: return random() % 2 == 0 ? 0.0 : -0.0;
    default: return static_cast<double>(random() % 2001) / 1000 - 1;
  }
}

template <typename X>
Data<X> random_data(std::mt19937_64& random, size_t rows, X start, uint64_t gap_max) {
  Data<X> out;
  X x = start;
  for (size_t i = 0; i < rows; ++i) {
    out.x.push_back(x);
    out.values.push_back(random_value(random));
    x += static_cast<X>(random() % 50 == 0 ? random() % (gap_max * 100) + 1 : random() % gap_max + 1);
  }
  return out;
}

double distance(int64_t a, int64_t b) {
  return static_cast<double>(static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
}
double distance(double a, double b) { return b - a; }

template <typename X>
void check_zoom(const Data<X>& data, X lo, X hi, uint32_t pixels, std::mt19937_64& random) {
  const auto begin = static_cast<size_t>(std::lower_bound(data.x.begin(), data.x.end(), lo) - data.x.begin());
  const auto end = static_cast<size_t>(std::upper_bound(data.x.begin(), data.x.end(), hi) - data.x.begin());
  const CellGrid<X> grid(lo, hi, pixels);
  const bool points = end - begin < size_t{2} * pixels;
  for (const bool summaries : {false, true}) {
    PieceSource<X> source(data, begin, end, random(), summaries);
    const auto chart = build_chart<X>(&source, lo, hi, pixels);
    ASSERT_TRUE(chart.ok());
    EXPECT_EQ(chart->points, points);
    expect_same(chart->cells, brute_cells(data, begin, end, grid, points));
    EXPECT_LE(chart->cells.size(), size_t{2} * pixels + 1);
    const double pixel = distance(lo, hi) / pixels;
    for (const ChartCell<X>& cell : chart->cells)
      ASSERT_LE(distance(cell.x0, cell.x1), pixel * (1 + 1e-9) + (points ? 1 : 0));
  }
}

// Promise P10: Nothing is sampled: no spike is hidden at any zoom, exports are complete.
TEST(ChartTest, CellsEqualTheModelAtEveryZoomOverSteps) {
  const uint64_t seed = test_seed("ChartTest");
  std::mt19937_64 random(seed);
  for (const int64_t start : {int64_t{0}, int64_t{-100'000}, INT64_MAX - 40'000'000, INT64_MIN}) {
    const Data<int64_t> data = random_data<int64_t>(random, 20'000, start, 1 + random() % 30);
    const auto range = static_cast<uint64_t>(data.x.back()) - static_cast<uint64_t>(data.x.front());
    check_zoom(data, data.x.front(), data.x.back(), 100, random);
    check_zoom(data, INT64_MIN, INT64_MAX, 50, random);
    for (uint64_t width = range; width > 0; width /= 3) {
      const auto offset = random() % (range - width + 1);
      const auto lo = static_cast<int64_t>(static_cast<uint64_t>(data.x.front()) + offset);
      check_zoom(data, lo, static_cast<int64_t>(static_cast<uint64_t>(lo) + width),
                 1 + static_cast<uint32_t>(random() % 300), random);
    }
  }
}

TEST(ChartTest, CellsEqualTheModelAtEveryZoomOverAMetric) {
  std::mt19937_64 random(test_seed("ChartTest over a metric"));
  Data<double> data = random_data<double>(random, 20'000, -5000, 3);
  for (double& x : data.x) x = x * 0.37 + (x > 0 ? 1e-3 : 0);
  for (double width = data.x.back() - data.x.front(); width > 1e-6; width /= 4) {
    const double lo = data.x[random() % data.x.size()];
    check_zoom(data, lo, lo + width, 1 + static_cast<uint32_t>(random() % 200), random);
  }
  check_zoom(data, -1e308, 1e308, 10, random);
  check_zoom(data, data.x[7], data.x[7], 10, random);
}

TEST(ChartTest, AppendingRowsChangesOnlyTheLastCell) {
  std::mt19937_64 random(test_seed("ChartTest appending"));
  const Data<int64_t> data = random_data<int64_t>(random, 30'000, 0, 3);
  PieceSource<int64_t> shorter(data, 0, 29'000, 1, false), longer(data, 0, 30'000, 2, false);
  const auto before = build_chart<int64_t>(&shorter, 0, 200'000, 500);
  auto after = build_chart<int64_t>(&longer, 0, 200'000, 500);
  ASSERT_GT(after->cells.size(), before->cells.size());
  after->cells.resize(before->cells.size() - 1);
  auto same = before->cells;
  same.pop_back();
  expect_same(after->cells, same);
}

TEST(ChartTest, PanningMovesCellsWithoutChangingThem) {
  std::mt19937_64 random(test_seed("ChartTest panning"));
  const Data<int64_t> data = random_data<int64_t>(random, 30'000, 0, 2);
  PieceSource<int64_t> here(data, 0, 20'000, 1, false), there(data, 5'000, 30'000, 2, false);
  const auto a = build_chart<int64_t>(&here, data.x[0], data.x[0] + 60'000, 500);
  const auto b = build_chart<int64_t>(&there, data.x[0] + 1'234, data.x[0] + 61'234, 500);
  size_t shared = 0;
  for (const auto& cell : b->cells)
    for (const auto& other : a->cells) shared += cell.x0 == other.x0 && cell.x1 == other.x1 ? 1 : 0;
  EXPECT_GT(shared, std::min(a->cells.size(), b->cells.size()) / 3);
}

TEST(ChartTest, BadWindowsAreNamed) {
  const Data<int64_t> none;
  PieceSource<int64_t> source(none, 0, 0, 0, false);
  EXPECT_EQ(build_chart<int64_t>(&source, 5, 4, 10).status().message(), "a chart from 5 to 4 holds nothing");
  EXPECT_EQ(build_chart<int64_t>(&source, 0, 4, 0).status().code(), Code::kInvalid);
  EXPECT_EQ(build_chart<int64_t>(&source, 0, 4, kChartPixelsMax + 1).status().code(), Code::kInvalid);
  EXPECT_TRUE(build_chart<int64_t>(&source, 0, 4, kChartPixelsMax).ok());
  const Data<double> reals;
  PieceSource<double> real_source(reals, 0, 0, 0, false);
  EXPECT_EQ(build_chart<double>(&real_source, kNan, 4, 10).status().code(), Code::kInvalid);
}

}  // namespace
}  // namespace tracker::internal
