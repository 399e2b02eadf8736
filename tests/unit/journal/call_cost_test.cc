// SPDX-License-Identifier: MIT
// Samples stand for the calls between them. Method: positions and ticks as a producer would give them.
#include <gtest/gtest.h>

#include "journal/call_cost.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kCall = 40;  // bytes of a record of one value

TEST(CallCostTest, ASampleStandsForTheBytesSinceTheOneBefore) {
  CallCost cost;
  uint64_t position = kCall;
  EXPECT_EQ(cost.charge(position, kCall, 80), 0u) << "nothing came before the first";
  position += 10 * kCall + kCall;
  EXPECT_EQ(cost.charge(position, kCall, 80), 10u * 80);
  position += kCall;
  EXPECT_EQ(cost.charge(position, kCall, 80), 0u) << "two slow calls one behind the other";
}

TEST(CallCostTest, OneInterruptedSampleStandsForNothing) {
  CallCost cost;
  uint64_t position = 0;
  uint64_t total = 0;
  for (int i = 0; i < 10; ++i) {
    position += 100 * kCall;
    total += cost.charge(position, kCall, i == 5 ? 10'000'000 : 80);
  }
  EXPECT_LE(total, 10u * 100 * 80);
  EXPECT_GE(total, 9u * 99 * 80);
}

TEST(CallCostTest, WhatOthersWroteIsNotCharged) {
  CallCost cost;
  cost.charge(kCall, kCall, 80);
  cost.skip(65536);  // a text
  EXPECT_EQ(cost.charge(kCall + 65536 + 2 * kCall, kCall, 80), 80u);
}

TEST(CallCostTest, ANewRingTakesWhatWasNotChargedWithIt) {
  CallCost cost;
  cost.charge(kCall, kCall, 80);
  cost.new_ring(4 * kCall);  // three calls were not charged yet
  EXPECT_EQ(cost.charge(2 * kCall, kCall, 80), 4u * 80);
}

TEST(CallCostTest, SamplesComeOftenFirstAndSeldomLater) {
  CallCost cost;
  EXPECT_EQ(cost.next_sample(100), 100 + kSampleBytesFirst);
  for (int i = 0; i < 10; ++i) cost.charge(static_cast<uint64_t>(i + 1) * kCall, kCall, 80);
  EXPECT_EQ(cost.next_sample(100), 100 + kSampleBytesMax);
}

}  // namespace
}  // namespace tracker::internal
