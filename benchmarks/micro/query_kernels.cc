// SPDX-License-Identifier: MIT
// Question: what do the kernels behind charts cost a point? Informational, CPU time of this thread.
// Workload: 10,000,000 rows of noise, steps one apart; cells for 2,000 pixels, by rows and by summaries of 512 rows as
// segments keep them; each smoother over 1,000,000 points, a Gaussian over 4,000 cells.
#include <string>
#include <vector>

#include "harness.h"
#include "query/chart/chart.h"
#include "query/chart/smooth.h"

namespace {

using namespace tracker::internal;  // NOLINT(google-build-using-namespace): a program, no header

constexpr size_t kRows = 10'000'000;
constexpr size_t kSmoothed = 1'000'000;
constexpr size_t kSummaryRows = 512;
constexpr int kRounds = 15;

struct Rows {
  std::vector<int64_t> x;
  std::vector<double> values;
  Rows() {
    double value = 0.5;
    for (size_t i = 0; i < kRows; ++i) {
      value = value * 3.99 * (1 - value);
      x.push_back(static_cast<int64_t>(i));
      values.push_back(value);
    }
  }
};

class RowSource : public ChartSource<int64_t> {
 public:
  explicit RowSource(const Rows& rows) : rows_(rows) {}
  uint64_t rows() const override { return kRows; }
  Result<bool> next(const CellGrid<int64_t>&, bool, ChartPiece<int64_t>* out) override {
    constexpr size_t kPiece = 4096;
    const size_t count = std::min(kPiece, kRows - at_);
    *out = {{rows_.x.data() + at_, count}, {rows_.values.data() + at_, count}, nullptr};
    at_ += count;
    return count > 0;
  }

 private:
  const Rows& rows_;
  size_t at_ = 0;
};

class SummarySource : public ChartSource<int64_t> {
 public:
  SummarySource(const Rows& rows, const std::vector<ChartCell<int64_t>>& summaries)
      : rows_(rows), summaries_(summaries) {}
  uint64_t rows() const override { return kRows; }
  Result<bool> next(const CellGrid<int64_t>& grid, bool, ChartPiece<int64_t>* out) override {
    if (at_ == summaries_.size()) return false;
    const ChartCell<int64_t>& one = summaries_[at_++];
    *out = {};
    if (grid.same_cell(one.x0, one.x1)) {
      out->summary = &one;
    } else {
      const auto begin = static_cast<size_t>(one.x0);
      out->x = {rows_.x.data() + begin, one.rows()};
      out->values = {rows_.values.data() + begin, one.rows()};
    }
    return true;
  }

 private:
  const Rows& rows_;
  const std::vector<ChartCell<int64_t>>& summaries_;
  size_t at_ = 0;
};

template <typename F>
std::vector<double> ns_each(size_t count, F&& run) {
  std::vector<double> out;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t begin = bench::thread_cpu_ns();
    run();
    out.push_back(static_cast<double>(bench::thread_cpu_ns() - begin) / static_cast<double>(count));
  }
  return out;
}

uint64_t rows_of(const Chart<int64_t>& chart) {
  uint64_t rows = 0;
  for (const auto& cell : chart.cells) rows += cell.rows();
  return rows;
}

void charts(bench::Report* report, const Rows& rows) {
  constexpr int64_t kLast = static_cast<int64_t>(kRows) - 1;
  report->add({"chart of rows, 2,000 px", "ns/row", ns_each(kRows, [&] {
                 RowSource source(rows);
                 const auto chart = build_chart<int64_t>(&source, 0, kLast, 2000);
                 bench::Report::require(chart.ok() && rows_of(*chart) == kRows, "every row is in a cell");
               })});
  std::vector<ChartCell<int64_t>> summaries;
  for (size_t begin = 0; begin < kRows; begin += kSummaryRows) {
    ChartCell<int64_t> whole;
    for (size_t i = begin; i < std::min(kRows, begin + kSummaryRows); ++i) {
      const double v = rows.values[i];
      append_cell<int64_t>({rows.x[i], rows.x[i], v, v, v, v, v, 1, 0, 0, 0}, &whole);
    }
    summaries.push_back(whole);
  }
  std::vector<double> ms = ns_each(1'000'000, [&] {
    SummarySource source(rows, summaries);
    const auto chart = build_chart<int64_t>(&source, 0, kLast, 2000);
    bench::Report::require(chart.ok() && rows_of(*chart) == kRows, "every row is in a cell");
  });
  report->add({"chart of 10 M rows in summaries of 512, 2,000 px", "ms", ms});
}

void smoothers(bench::Report* report, const Rows& rows) {
  std::vector<double> x;
  for (size_t i = 0; i < kSmoothed; ++i) x.push_back(static_cast<double>(i));
  const SmoothInput input{x, {rows.values.data(), kSmoothed}, {}};
  const auto add = [&](const char* name, const Smoothing& smoothing) {
    report->add({name, "ns/row", ns_each(kSmoothed, [&] {
                   const auto y = smooth(smoothing, input);
                   bench::Report::require(y.ok() && y.value_or({}).size() == kSmoothed, "a value a row");
                 })});
  };
  add("time-weighted EMA", {Smoother::kEma, 250});
  add("TensorBoard EMA", {Smoother::kTensorBoard, 0.99});
  add("running mean of 1,000", {Smoother::kMean, 1000});
  add("Gaussian, sigma 10", {Smoother::kGaussian, 10});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("query_kernels", argc, argv);
  const Rows rows;
  charts(&report, rows);
  smoothers(&report, rows);
  return report.write();
}
