// SPDX-License-Identifier: MIT
// Samples stand for the calls between them. Method: positions and ticks as a producer would give them.
#include <gtest/gtest.h>

#include "journal/ring/call_cost.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kCall = 40;  // bytes of a record of one value

TEST(CallCostTest, ASampleStandsForTheBytesOfTheFastPath) {
  CallCost cost;
  EXPECT_EQ(cost.charge(10 * kCall), 0u) << "no sample yet: they wait";
  cost.sample(kCall, 80);
  EXPECT_EQ(cost.uncharged(10 * kCall), 10u * 80);
  EXPECT_EQ(cost.charge(10 * kCall), 10u * 80);
  EXPECT_EQ(cost.charge(10 * kCall), 0u) << "once";
  EXPECT_EQ(cost.uncharged(12 * kCall), 2u * 80) << "what no sample has followed yet";
}

TEST(CallCostTest, InterruptedSamplesStandForNothing) {
  CallCost cost;
  uint64_t position = 0, total = 0;
  for (int i = 0; i < 100; ++i) {
    position += 100 * kCall;
    cost.sample(kCall, i % 3 == 2 ? 10'000'000 : 80);
    total += cost.charge(position);
  }
  EXPECT_EQ(total, 100u * 100 * 80);
}

TEST(CallCostTest, OnlyTheLastSamplesCount) {
  CallCost cost;
  for (int i = 0; i < 100; ++i) cost.sample(kCall, 8000);
  for (size_t i = 0; i < kSamplesKept; ++i) cost.sample(kCall, 80);
  EXPECT_EQ(cost.charge(kCall), 80u);
}

TEST(CallCostTest, WhatOthersWroteIsNotCharged) {
  CallCost cost;
  cost.sample(kCall, 80);
  cost.skip(65536);  // a text
  EXPECT_EQ(cost.charge(65536 + kCall), 80u);
}

TEST(CallCostTest, ANewRingTakesWhatWasNotChargedWithIt) {
  CallCost cost;
  cost.new_ring(4 * kCall);
  cost.sample(kCall, 80);
  EXPECT_EQ(cost.charge(kCall), 5u * 80);
}

TEST(CallCostTest, SamplesComeOftenFirstAndSeldomLater) {
  CallCost cost;
  EXPECT_EQ(cost.next_sample(), kSampleBytesFirst);
  EXPECT_FALSE(cost.take_due(kSampleBytesFirst - 1));
  uint64_t position = 0;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(cost.take_due(position = cost.next_sample()));
  EXPECT_EQ(cost.next_sample(), position + kSampleBytesMax);
  EXPECT_NE(kSampleBytesMax % 4096, 0u);
}

}  // namespace
}  // namespace tracker::internal
