// SPDX-License-Identifier: MIT
// Goal: metrics side by side have at each step what was logged last there, and gaps are no values.
// Method: small histories whose join is plain to see, and random ones against a map.
#include "query/table/align.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "support/child.h"

namespace tracker::internal {
namespace {

using Steps = std::vector<int64_t>;

History history(const Steps& steps, const std::vector<double>& values) {
  History out;
  out.steps = steps;
  for (const double value : values) out.bits.push_back(bits_of(value));
  out.times_us.assign(steps.size(), 0);
  out.sources.push_back({});
  return out;
}
Steps ints(const PackedColumn& column) { return {column.as<int64_t>(), column.as<int64_t>() + column.rows}; }
std::vector<double> reals(const PackedColumn& column) {
  return {column.as<double>(), column.as<double>() + column.rows};
}
std::vector<int> flags(const PackedColumn& column) {
  return {column.as<uint8_t>(), column.as<uint8_t>() + column.rows};
}

TEST(AlignTest, TheStepsOfATableAreThoseOfAnyMetric) {
  const AlignedTable table = align_by_step({"a", "b"}, {history({0, 1, 5}, {1, 2, 3}), history({1, 3}, {7, 8})});
  EXPECT_EQ(ints(table.steps), (Steps{0, 1, 3, 5}));
  EXPECT_EQ(flags(table.columns[0].present), (std::vector<int>{1, 1, 0, 1}));
  EXPECT_EQ(reals(table.columns[1].values), (std::vector<double>{0, 7, 8, 0}));
}

TEST(AlignTest, MetricsOfTheSameStepsHaveNoGapsAndAreNotCopied) {
  History a = history({0, 1}, {1, 2});
  const void* memory = a.bits.data();
  std::vector<History> both;
  both.push_back(std::move(a));
  both.push_back(history({0, 1}, {3, 4}));
  const AlignedTable table = align_by_step({"a", "b"}, std::move(both));
  EXPECT_FALSE(table.columns[0].present);
  EXPECT_EQ(table.columns[0].values.data, memory);
}

TEST(AlignTest, RowsWithoutAStepAreLeftOut) {
  History a = history({2, 0, 0}, {1, 2, 3});
  a.has_step = {1, 0, 0};
  const AlignedTable table = align_by_step({"a"}, {a});
  EXPECT_EQ(ints(table.steps), (Steps{2}));
}

TEST(AlignTest, AMetricAsXSortsTheStepsThatHaveIt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const History x = history({0, 1, 2, 3, 4}, {5, 1, nan, 1, -3});
  const AlignedTable table = align_by_x({"a"}, {history({0, 1, 2, 3, 9}, {10, 11, 12, 13, 19})}, "x", x);
  EXPECT_EQ(reals(table.x), (std::vector<double>{1, 1, 5}));
  EXPECT_EQ(ints(table.steps), (Steps{1, 3, 0}));
  EXPECT_EQ(reals(table.columns[0].values), (std::vector<double>{11, 13, 10}));
  const PackedHistory sorted = sort_by_x("a", history({3, 0, 3}, {1, 2, 3}), "x", x);  // all rows, steps repeat
  EXPECT_EQ(reals(sorted.x), (std::vector<double>{1, 1, 5}));
  EXPECT_EQ(reals(sorted.values), (std::vector<double>{1, 3, 2}));
}

TEST(AlignTest, RandomMetricsJoinAsAMapWould) {
  std::mt19937_64 random(test_seed("AlignTest"));
  for (int round = 0; round < 50; ++round) {
    std::vector<History> histories;
    std::map<int64_t, std::map<size_t, double>> model;
    for (size_t i = 0; i < 3; ++i) {
      Steps steps;
      std::vector<double> values;
      for (int64_t step = -20; step < 20; ++step) {
        if (random() % 3 == 0) continue;
        steps.push_back(step);
        values.push_back(static_cast<double>(random() % 100));
        model[step][i] = values.back();
      }
      histories.push_back(history(steps, values));
    }
    const AlignedTable table = align_by_step({"a", "b", "c"}, histories);
    ASSERT_EQ(table.steps.rows, model.size());
    size_t row = 0;
    for (const auto& [step, values] : model) {
      EXPECT_EQ(ints(table.steps)[row], step);
      for (size_t i = 0; i < 3; ++i) {
        const AlignedColumn& column = table.columns[i];
        ASSERT_EQ(!column.present || flags(column.present)[row] != 0, values.contains(i));
        if (values.contains(i)) {
          EXPECT_EQ(reals(column.values)[row], values.at(i));
        }
      }
      ++row;
    }
  }
}

}  // namespace
}  // namespace tracker::internal
