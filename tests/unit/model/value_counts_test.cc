// SPDX-License-Identifier: MIT
// Goal: a histogram's counts are those that its edges say, whatever the values are.
// Method: each value is compared with the edges one by one, on random arrays and on those where rounding goes wrong.
#include "model/value_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tracker::internal {
namespace {

template <typename Number>
std::vector<uint64_t> counted_one_by_one(const std::vector<Number>& values, const std::vector<double>& edges) {
  std::vector<uint64_t> counts(edges.size() - 1);
  for (const Number value : values)
    for (size_t bin = 0; bin < counts.size(); ++bin) {
      const bool is_below_end = bin + 1 == counts.size() ? value <= edges[bin + 1] : value < edges[bin + 1];
      if (value >= edges[bin] && is_below_end) ++counts[bin];
    }
  return counts;
}

// As NumPy's linspace makes them, so that the last edge is the largest value itself.
std::vector<double> even_edges(double low, double high, size_t bins) {
  std::vector<double> edges(bins + 1);
  for (size_t i = 0; i <= bins; ++i) edges[i] = low + (high - low) / static_cast<double>(bins) * static_cast<double>(i);
  edges.back() = high;
  return edges;
}

template <typename Number>
void expect_exact(const std::vector<Number>& values, const std::vector<double>& edges) {
  EXPECT_EQ(count_in_bins(values.data(), values.size(), edges), counted_one_by_one(values, edges));
}

TEST(ValueCountsTest, RandomValuesAndTheEdgesThemselvesAreInTheirBins) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    const double width = std::ldexp(1.0, static_cast<int>(random() % 600) - 300);
    const double middle = random() % 2 == 0 ? 0 : width * 1e6;
    std::uniform_real_distribution<double> number(middle - width, middle + width);
    std::vector<double> values(500);
    for (double& value : values) value = number(random);
    const ArraySummary summary = summarize_values(values.data(), values.size());
    const std::vector<double> edges = even_edges(summary.min, summary.max, 1 + random() % 100);
    for (const double edge : edges) {
      values.push_back(edge);
      values.push_back(std::nextafter(edge, summary.min));
      values.push_back(std::nextafter(edge, summary.max));
    }
    expect_exact(values, edges);
    const std::vector<float> floats(values.begin(), values.end());
    expect_exact(floats, edges);
  }
}

TEST(ValueCountsTest, WidthsBeyondDoubleAndNearNothingAreCounted) {
  constexpr double kMax = std::numeric_limits<double>::max(), kTiny = std::numeric_limits<double>::denorm_min();
  expect_exact<double>({-kMax, -1, 0, 1, kMax}, {-kMax, -kMax / 2, 0, kMax / 2, kMax});
  expect_exact<double>({0, kTiny, 2 * kTiny, 3 * kTiny}, {0, kTiny, 2 * kTiny, 3 * kTiny});
  EXPECT_EQ(count_in_bins(std::vector<double>{1, 1}.data(), 2, {1, 1}), std::vector<uint64_t>{2});
}

TEST(ValueCountsTest, EdgesAtUnequalDistancesAreCountedExactly) {
  expect_exact<double>({0, 0.5, 1, 2, 99, 100, 1e6}, {0, 1, 2, 100, 1e6});
}

TEST(ValueCountsTest, WhatIsNoNumberOrOutsideIsInNoBinAndTheSummaryNamesIt) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {NAN, kInf, -kInf, kInf, 2, -3, 7};
  EXPECT_EQ(count_in_bins(values.data(), values.size(), {-3, 0, 2}), (std::vector<uint64_t>{1, 1}));
  const ArraySummary summary = summarize_values(values.data(), values.size());
  EXPECT_EQ(summary.finite, 3u);
  EXPECT_EQ(summary.nan, 1u);
  EXPECT_EQ(summary.pos_inf, 2u);
  EXPECT_EQ(summary.neg_inf, 1u);
  EXPECT_EQ(summary.min, -3);
  EXPECT_EQ(summary.max, 7);
  EXPECT_EQ(summary.sum, 6);
}

TEST(ValueCountsTest, TheSumOfManyFloatsIsThatOfTheirDoubles) {
  const std::vector<float> values(1'000'000, 0.1f);
  EXPECT_NEAR(summarize_values(values.data(), values.size()).sum, 1e6 * static_cast<double>(0.1f), 1e-6);
}

}  // namespace
}  // namespace tracker::internal
