// SPDX-License-Identifier: MIT
// Goal: the resolved view keeps the last row of each step, in the order of steps, for any order of rows.
// Method: small cases, and random rows against a std::map that is filled row by row.
#include "query/rows/resolve.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tracker::internal {
namespace {

using Order = std::vector<size_t>;

TEST(ResolveTest, RisingStepsAreTheirOwnResolvedView) {
  EXPECT_TRUE(is_resolved({}, {}));
  EXPECT_TRUE(is_resolved({INT64_MIN, -1, 0, INT64_MAX}, {}));
  EXPECT_FALSE(is_resolved({0, 1, 1}, {}));
  EXPECT_FALSE(is_resolved({2, 1}, {}));
  EXPECT_FALSE(is_resolved({0, 0}, {1, 0}));
}

TEST(ResolveTest, AFallBeyondTheFirstChunkIsSeen) {
  std::vector<int64_t> steps(10'000);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<int64_t>(i);
  EXPECT_TRUE(is_resolved(steps, {}));
  steps[4097] = steps[4096];
  EXPECT_FALSE(is_resolved(steps, {}));
}

TEST(ResolveTest, TheLastRowOfAStepWins) {
  EXPECT_EQ(resolved_order({5, 5, 5}, {}), (Order{2}));
  EXPECT_EQ(resolved_order({0, 1, 2, 1, 2, 3}, {}), (Order{0, 3, 4, 5}));
}

TEST(ResolveTest, RowsWithoutAStepFollowInTheirOrder) {
  EXPECT_EQ(resolved_order({3, 0, 1, 0}, {1, 0, 1, 0}), (Order{2, 0, 1, 3}));
}

TEST(ResolveTest, AnyOrderOfRowsGivesWhatAMapWouldHold) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> steps(random() % 200);
    const auto span = static_cast<int64_t>(random() % 100 + 1);
    for (size_t i = 0; i < steps.size(); ++i)
      steps[i] = random() % 8 == 0 || i == 0 ? static_cast<int64_t>(random()) % span : steps[i - 1] + 1;
    std::map<int64_t, size_t> model;
    for (size_t i = 0; i < steps.size(); ++i) model[steps[i]] = i;
    Order expected;
    for (const auto& [step, row] : model) expected.push_back(row);
    ASSERT_EQ(resolved_order(steps, {}), expected);
  }
}

}  // namespace
}  // namespace tracker::internal
