// SPDX-License-Identifier: MIT
// Goal: no value can hide in a plot, whatever the number of points, and odd values are marked.
// Method: histories made by hand; single spikes at random places.
#include "cli/output/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cli/output/text.h"

namespace tracker::internal {
namespace {

History history_of(const std::vector<double>& values) {
  History out;
  for (size_t i = 0; i < values.size(); ++i) {
    out.steps.push_back(static_cast<int64_t>(i));
    out.times_us.push_back(0);
    out.bits.push_back(bits_of(values[i]));
  }
  out.sources.push_back({});
  return out;
}

TEST(PlotTest, ARampRisesFromTheLowestToTheHighestDot) {
  EXPECT_EQ(sparkline(history_of({0, 1, 2, 3, 4, 5, 6, 7}), 4), "⣀⠤⠒⠉");
}

TEST(PlotTest, AConstantIsALineInTheMiddle) { EXPECT_EQ(sparkline(history_of({5, 5, 5, 5}), 2), "⠤⠤"); }

TEST(PlotTest, NothingIsBlank) { EXPECT_EQ(sparkline(history_of({}), 3), "   "); }

TEST(PlotTest, ASpikeOfOnePointInAMillionReachesTheTopWhereverItIs) {
  History history = history_of(std::vector<double>(1'000'000, 0.0));
  const std::string flat = sparkline(history_of(std::vector<double>(10, 0.0)), 20);
  std::mt19937 random(7);
  for (int round = 0; round < 5; ++round) {
    const size_t at = random() % history.bits.size();
    history.bits[at] = bits_of(1.0);
    const auto columns = plot_columns(history, 40);
    const size_t column = at * 40 / (history.bits.size() - 1);
    EXPECT_EQ(columns[std::min<size_t>(column, 39)].max, 1.0) << at;
    EXPECT_NE(sparkline(history, 20), flat);
    history.bits[at] = bits_of(0.0);
  }
}

TEST(PlotTest, NanAndInfinitiesAreMarks) {
  EXPECT_EQ(sparkline(history_of({0, 0, NAN, 0, 0, INFINITY, 0, -INFINITY}), 4), "⠤×↑↓");
}

TEST(PlotTest, OnlyNanIsOnlyMarks) { EXPECT_EQ(sparkline(history_of({NAN, NAN}), 1), "×"); }

TEST(PlotTest, ValuesAndStepsAtTheEdgesOfTheirTypesDoNotOverflow) {
  History history = history_of({-1.7976931348623157e308, 1.7976931348623157e308});
  history.steps = {INT64_MIN, INT64_MAX};
  EXPECT_EQ(sparkline(history, 1), "⡸");
  EXPECT_EQ(chart(history, 40, 3).size(), 5u);
}

TEST(PlotTest, RowsWithoutStepsAreDrawnByTheirNumber) {
  History history = history_of({0, 1, 2, 3, 4, 5, 6, 7});
  history.steps.assign(8, 0);
  history.has_step.assign(8, 0);
  EXPECT_EQ(sparkline(history, 4), "⣀⠤⠒⠉");
  EXPECT_NE(chart(history, 40, 2).back().find("row 0"), std::string::npos);
}

StepCells cells_of(const History& history, size_t rows_of_each) {
  StepCells out;
  for (size_t row = 0; row < history.size(); ++row) {
    const double value = to_double(history.type, history.bits[row]);
    ChartCell<int64_t> one{history.steps[row], history.steps[row], value, value, value, value, 0, 0, 0, 0, 0};
    if (std::isnan(value)) one.nan = 1;
    else if (std::isinf(value)) ++(value > 0 ? one.pos_inf : one.neg_inf);
    else one.count = 1;
    if (one.count == 0) one.min = one.max = NAN;
    if (row % rows_of_each == 0) out.push_back(one);
    else append_cell(one, &out.back());
  }
  return out;
}

TEST(PlotTest, CellsOfOneRowAreDrawnAsTheRow) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<double> values;
  for (int i = 0; i < 500; ++i) values.push_back(static_cast<double>(random() % 9));
  for (int i = 0; i < 20; ++i) values[random() % values.size()] = i % 2 == 0 ? NAN : INFINITY;
  const History history = history_of(values);
  EXPECT_EQ(sparkline(cells_of(history, 1), 20), sparkline(history, 20));
  EXPECT_EQ(chart(cells_of(history, 1), 60, 8), chart(history, 60, 8));
  EXPECT_EQ(sparkline(StepCells(), 3), "   ");
}

TEST(PlotTest, NothingHidesInACellOfManyRows) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  History history = history_of(std::vector<double>(100'000, 0.0));
  const std::string flat = sparkline(cells_of(history, 50), 20);
  for (int i = 0; i < 20; ++i) {
    const size_t at = random() % history.size();
    history.bits[at] = bits_of(1.0);
    EXPECT_NE(sparkline(cells_of(history, 50), 20), flat) << at;
    history.bits[at] = bits_of(std::nan(""));
    EXPECT_NE(sparkline(cells_of(history, 50), 20).find(kNanMark), std::string::npos) << at;
    history.bits[at] = bits_of(0.0);
  }
}

TEST(PlotTest, AChartHasLabelledAxesAndFitsItsWidth) {
  const auto lines = chart(history_of({0, 10, NAN, 5}), 24, 3);
  ASSERT_EQ(lines.size(), 6u);
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 24u) << line;
  EXPECT_TRUE(lines[0].starts_with("10 ┤")) << lines[0];
  EXPECT_TRUE(lines[2].starts_with(" 0 ┤")) << lines[2];
  EXPECT_NE(lines[4].find("×"), std::string::npos);
  EXPECT_EQ(lines[5], "    step 0             3");
}

// Bug: 65.335 to 65.338 % filled the whole height.
TEST(PlotTest, WhatMovesByLessThanOnePerCentIsFlatButInAChartWithLabels) {
  EXPECT_EQ(sparkline(history_of({65.335, 65.338, 65.336, 65.337}), 2), "⠤⠤");
  EXPECT_EQ(sparkline(history_of({-100, -99.5, -99, -100}), 2), "⠤⠤");
  EXPECT_NE(sparkline(history_of({100, 102, 100, 102}), 2), "⠤⠤");
  EXPECT_EQ(sparkline(history_of({65.335, NAN, 65.338, 65.336}), 2), "×⠤");
  EXPECT_TRUE(chart(history_of({65.335, 65.338}), 30, 3)[0].starts_with("65.338 ┤"));
}

}  // namespace
}  // namespace tracker::internal
