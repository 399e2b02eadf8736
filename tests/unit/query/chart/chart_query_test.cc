// SPDX-License-Identifier: MIT
// Goal: charts of stored runs have the resolved rows on the axis asked for, and smoothed curves do not depend on where
// the window begins.
// Method: runs built by hand, charts held against histories.
#include "query/chart/chart_query.h"

#include <cmath>
#include <limits>

#include "support/read_test.h"

namespace tracker::internal {
namespace {

class ChartQueryTest : public ReadTest {
 protected:
  ChartResult chart(const ChartQuery& query) {
    auto result = query_chart(open().get(), query);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? std::move(*result) : ChartResult();
  }
  template <typename X>
  static std::vector<X> ends(const ChartResult& result) {
    std::vector<X> out;
    for (const auto& cell : std::get<Chart<X>>(result.chart).cells) out.push_back(cell.x1);
    return out;
  }
  void log_noise(int64_t rows) {
    auto writer = builder_.writer(run_);
    double value = 0.5;
    for (int64_t step = 0; step < rows; ++step) {
      value = value * 3.99 * (1 - value);
      writer.log("loss", step, step % 97 == 0 ? std::numeric_limits<double>::quiet_NaN() : value);
      if (step % 1000 == 0) writer.commit();
    }
    writer.finish();
  }
};

TEST_F(ChartQueryTest, RepeatedStepsShowTheLastRowAndRowsWithoutAStepAreCounted) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 2, 1).log("loss", 0, 2).log("loss", 2, 3).log("loss", std::nullopt, 9).finish();
  const ChartResult result = chart({.metric = "loss"});
  EXPECT_EQ(ends<int64_t>(result), (Steps{0, 2}));
  EXPECT_EQ(std::get<Chart<int64_t>>(result.chart).cells[1].last, 3);
  EXPECT_EQ(result.left_out, 1u);
}

TEST_F(ChartQueryTest, TimeAndMetricsAreAxesToo) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1, 500).log("epoch", 0, 7, 500).log("loss", 1, 2, 300).log("epoch", 1, 3, 300);
  writer.log("loss", 2, 3, 900).finish();
  EXPECT_EQ(ends<int64_t>(chart({.metric = "loss", .axis = ChartAxis::kTime})), (Steps{300, 500, 900}));
  const ChartResult result = chart({.metric = "loss", .axis = ChartAxis::kMetric, .x_metric = "epoch"});
  EXPECT_EQ(ends<double>(result), (Doubles{3, 7}));
  EXPECT_EQ(result.left_out, 1u);
}

TEST_F(ChartQueryTest, AWindowHoldsBothItsEndsAndMayHoldNothing) {
  builder_.writer(run_).log("loss", 0, 1).log("loss", 5, 2).log("loss", 9, 3).finish();
  EXPECT_EQ(ends<int64_t>(chart({.metric = "loss", .lo_int = 0, .hi_int = 5})), (Steps{0, 5}));
  EXPECT_EQ(ends<int64_t>(chart({.metric = "loss", .lo_int = 6, .hi_int = 8})), Steps());
  EXPECT_EQ(ends<int64_t>(chart({.metric = "loss", .lo_int = 100})), Steps());
  EXPECT_EQ(ends<int64_t>(chart({.metric = "loss", .hi_int = -1})), Steps());
  EXPECT_EQ(query_chart(open().get(), {.metric = "loss", .lo_int = 5, .hi_int = 4}).status().code(), Code::kInvalid);
  EXPECT_EQ(query_chart(open().get(), {.metric = "los"}).status().code(), Code::kNotFound);
}

TEST_F(ChartQueryTest, ASmoothedWindowShowsTheCurveOfTheWhole) {
  log_noise(6000);
  for (const auto& [kind, window] : std::vector<std::pair<Smoother, double>>{
           {Smoother::kEma, 40}, {Smoother::kTensorBoard, 0.95}, {Smoother::kGaussian, 20}, {Smoother::kMean, 61}}) {
    const ChartResult part =
        chart({.metric = "loss", .lo_int = 3000, .hi_int = 3100, .pixels = 500, .smoothing = {kind, window}});
    auto history = open()->history("loss");
    Doubles x(history->steps.begin(), history->steps.end());
    const auto whole = smooth({kind, window}, {x, doubles(*history), {}});
    ASSERT_EQ(part.smoothed.size(), 101u);
    for (size_t i = 0; i < part.smoothed.size(); ++i) {
      if (std::isnan(doubles(*history)[3000 + i])) {
        EXPECT_TRUE(std::isnan(part.smoothed[i]));
      } else {
        EXPECT_NEAR(part.smoothed[i], (*whole)[3000 + i], 2e-3) << i;  // 2^-10 of the weight lies further left
      }
    }
  }
}

TEST_F(ChartQueryTest, ACurveOnCellsIsCloseToThatOnPoints) {
  log_noise(6000);
  for (const auto& [kind, window] :
       std::vector<std::pair<Smoother, double>>{{Smoother::kEma, 400}, {Smoother::kGaussian, 200}}) {
    const ChartResult cells =
        chart({.metric = "loss", .lo_int = 2000, .hi_int = 5999, .pixels = 100, .smoothing = {kind, window}});
    ASSERT_FALSE(std::get<Chart<int64_t>>(cells.chart).points);
    auto history = open()->history("loss");
    Doubles x(history->steps.begin(), history->steps.end());
    const auto points = smooth({kind, window}, {x, doubles(*history), {}});
    const Steps at = ends<int64_t>(cells);
    ASSERT_EQ(cells.smoothed.size(), at.size());
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] % 97 == 0) continue;  // the row is NaN, the cell is not
      EXPECT_NEAR(cells.smoothed[i], (*points)[static_cast<size_t>(at[i])], 0.02);
    }
  }
}

TEST_F(ChartQueryTest, ANarrowWindowIsTakenOnPoints) {
  log_noise(6000);
  const ChartResult narrow =
      chart({.metric = "loss", .pixels = 100, .smoothing = {Smoother::kEma, 3}});  // cells are 32 steps wide
  auto history = open()->history("loss");
  Doubles x(history->steps.begin(), history->steps.end());
  const auto points = smooth({Smoother::kEma, 3}, {x, doubles(*history), {}});
  const Steps at = ends<int64_t>(narrow);
  for (size_t i = 0; i < at.size(); ++i) {
    const auto row = static_cast<size_t>(at[i]);
    if (row % 97 == 0) continue;
    EXPECT_NEAR(narrow.smoothed[i], (*points)[row], 1e-9);
  }
}

}  // namespace
}  // namespace tracker::internal
