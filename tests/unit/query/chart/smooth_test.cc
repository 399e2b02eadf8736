// SPDX-License-Identifier: MIT
// Goal: each smoother is the formula that its header gives, on points and on cells.
// Method: values worked out by hand; the sums written out as they are in the formula, on random rows.
#include "query/chart/smooth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/child.h"

namespace tracker::internal {
namespace {

using Doubles = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Doubles run(Smoother kind, double window, const Doubles& x, const Doubles& values,
            const std::vector<uint64_t>& counts = {}) {
  const auto out = smooth({kind, window}, {x, values, counts});
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.value_or({});
}

void expect_near(const Doubles& got, const Doubles& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else if (std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], 1e-12 * (1 + std::fabs(wanted[i]))) << i;
    }
  }
}

TEST(SmoothTest, TimeWeightedEmaByHand) {
  // h = 1, distances 1 and 2: s = 4; 4/2 + 8 = 10, w = 1.5; 10/4 + 2 = 4.5, w = 1.375.
  expect_near(run(Smoother::kEma, 1, {0, 1, 3}, {4, 8, 2}), {4, 10 / 1.5, 4.5 / 1.375});
}

TEST(SmoothTest, TimeWeightedEmaOfCellsWeighsByTheirCounts) {
  // Cells of 2 and 1 values with sums 6 and 9, one half-life apart: (3 + 9) / (1 + 1).
  expect_near(run(Smoother::kEma, 10, {0, 10}, {6, 9}, {2, 1}), {3, 6});
  expect_near(run(Smoother::kEma, 10, {0, 5, 10}, {6, 0, 9}, {2, 0, 1}), {3, kNan, 6});
}

TEST(SmoothTest, TensorBoardEmaByHand) {
  // a = 0.5: s = 2, 1 - 0.5 = 0.5 -> 4; s = 1 + 4 = 5, 0.75 -> 6.667; s = 2.5 + 1 = 3.5, 0.875 -> 4.
  expect_near(run(Smoother::kTensorBoard, 0.5, {0, 1, 100}, {4, 8, 2}), {4, 5 / 0.75, 4});
  expect_near(run(Smoother::kTensorBoard, 0.9, {0, 1, 2}, {0.1, 0.1, 0.1}), {0.1, 0.1, 0.1});
}

TEST(SmoothTest, RunningMeanByHandIncludesBothEdgesOfItsWindow) {
  expect_near(run(Smoother::kMean, 2, {0, 1, 2, 4}, {1, 2, 6, 10}), {1.5, 3, 4, 10});
}

TEST(SmoothTest, GaussianByHand) {
  const double g = std::exp(-0.5);
  expect_near(run(Smoother::kGaussian, 2, {0, 2}, {1, 3}), {(1 + 3 * g) / (1 + g), (g + 3) / (g + 1)});
}

// Bug: the square of such a width was 0, and each value 0/0.
TEST(SmoothTest, AGaussianNarrowerThanAnySquareLeavesEachValueAsItIs) {
  expect_near(run(Smoother::kGaussian, 1e-300, {0, 1, 2}, {1, 3, 5}), {1, 3, 5});
  expect_near(run(Smoother::kGaussian, 5e-324, {0, 1, 2}, {1, 3, 5}), {1, 3, 5});
}

TEST(SmoothTest, WhatIsNotFinitePassesThroughAndCountsForNothing) {
  const Doubles x{0, 1, 2, 3}, values{4, kNan, kInf, 8}, clean_x{0, 3}, clean{4, 8};
  for (const auto& [kind, window] : std::vector<std::pair<Smoother, double>>{
           {Smoother::kEma, 2}, {Smoother::kTensorBoard, 0.7}, {Smoother::kGaussian, 2}, {Smoother::kMean, 6}}) {
    const Doubles with = run(kind, window, x, values), without = run(kind, window, clean_x, clean);
    expect_near(with, {without[0], kNan, kInf, without[1]});
  }
}

TEST(SmoothTest, AHugeValueLeavesTheRunningMeanUnharmedOnceItHasGone) {
  Doubles x, values;
  for (int i = 0; i < 100; ++i) {
    x.push_back(i);
    values.push_back(i == 10 ? 1e300 : 0.5);
  }
  const Doubles mean = run(Smoother::kMean, 8, x, values);
  for (size_t i = 15; i < mean.size(); ++i) EXPECT_EQ(mean[i], 0.5) << i;
}

// The formulas as written, each value by itself.
Doubles model(Smoother kind, double h, const Doubles& x, const Doubles& v, const std::vector<uint64_t>& n) {
  Doubles out;
  for (size_t i = 0; i < x.size(); ++i) {
    double s = 0, w = 0;
    for (size_t j = 0; j < (kind == Smoother::kEma ? i + 1 : x.size()); ++j) {
      const double d = x[j] - x[i];
      double weight = 0;
      if (kind == Smoother::kEma) weight = std::exp2(d / h);
      if (kind == Smoother::kGaussian && std::fabs(d) <= 5 * h) weight = std::exp(-d * d / (2 * h * h));
      if (kind == Smoother::kMean && std::fabs(d) <= h / 2) weight = 1;
      if (n[j] == 0) continue;
      s += weight * v[j];
      w += weight * static_cast<double>(n[j]);
    }
    out.push_back(n[i] == 0 ? kNan : s / w);
  }
  return out;
}

TEST(SmoothTest, RandomCellsEqualTheFormulas) {
  std::mt19937_64 random(test_seed("SmoothTest"));
  for (int round = 0; round < 20; ++round) {
    Doubles x, values;
    std::vector<uint64_t> counts;
    double at = -50;
    for (int i = 0; i < 300; ++i) {
      at += static_cast<double>(random() % 8) / 2;
      x.push_back(at);
      counts.push_back(random() % 4);
      values.push_back(counts.back() == 0 ? 0 : static_cast<double>(random() % 1000) / 7 - 50);
    }
    for (const Smoother kind : {Smoother::kEma, Smoother::kGaussian, Smoother::kMean}) {
      const double window = 0.5 + static_cast<double>(random() % 100);
      expect_near(run(kind, window, x, values, counts), model(kind, window, x, values, counts));
    }
  }
}

TEST(SmoothTest, WindowsThatMeanNothingAreRefused) {
  for (const double bad : {0.0, -1.0, kNan, kInf}) {
    EXPECT_EQ(smooth({Smoother::kEma, bad}, {}).status().code(), Code::kInvalid);
    EXPECT_EQ(smooth({Smoother::kGaussian, bad}, {}).status().code(), Code::kInvalid);
    EXPECT_EQ(smooth({Smoother::kMean, bad}, {}).status().code(), Code::kInvalid);
  }
  for (const double bad : {1.0, -0.1, kNan}) EXPECT_FALSE(smooth({Smoother::kTensorBoard, bad}, {}).ok());
  EXPECT_EQ(run(Smoother::kTensorBoard, 0, {0, 1}, {3, 4}), (Doubles{3, 4}));
}

// Reaches the limit kGaussianPairsMax.
TEST(SmoothTest, AGaussianOverTooManyPairsIsRefusedBeforeItIsWorkedOut) {
  const Doubles x(70'000, 0.0), values(70'000, 1.0);  // 4.9e9 pairs
  const auto out = smooth({Smoother::kGaussian, 1}, {x, values, {}});
  EXPECT_EQ(out.status().code(), Code::kLimit);
}

}  // namespace
}  // namespace tracker::internal
