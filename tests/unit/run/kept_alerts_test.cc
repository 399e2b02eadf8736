// SPDX-License-Identifier: MIT
// Goal: of the alerts of removed files the last ones are said again, the others are counted, none is said twice.
#include "pipeline/kept_alerts.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

std::vector<Event> alerts(int64_t from, int64_t to) {
  std::vector<Event> out;
  for (int64_t i = from; i < to; ++i) out.push_back({EventType::kAlert, false, 0, i, ""});
  return out;
}

TEST(KeptAlertsTest, WhatTheFilesStillHoldIsNotSaidAgain) {
  KeptAlerts kept;
  kept.add(alerts(0, 5));
  const auto [again, gone] = kept.since(3);
  EXPECT_EQ(again, alerts(3, 5));
  EXPECT_EQ(gone, 0u);
  EXPECT_TRUE(kept.since(5).first.empty());
  EXPECT_TRUE(kept.since(6).first.empty()) << "another process has stored more";
}

TEST(KeptAlertsTest, OfVeryManyTheLastAreHeldAndTheOthersCounted) {
  constexpr int64_t kMany = kAlertsHeldMax + 10;
  KeptAlerts kept;
  for (int64_t i = 0; i < kMany; ++i) kept.add(alerts(i, i + 1));
  const auto [again, gone] = kept.since(0);
  EXPECT_EQ(again, alerts(10, kMany));
  EXPECT_EQ(gone, 10u);
}

TEST(KeptAlertsTest, RemovedAgainOnlyWhatWasSaidAgainCounts) {
  KeptAlerts kept;
  kept.add(alerts(0, kAlertsHeldMax + 10));
  kept.set_stored(kept.since(0).first.size());
  kept.add(alerts(100, 101));
  const auto [again, gone] = kept.since(0);
  EXPECT_EQ(again.size(), kAlertsHeldMax);
  EXPECT_EQ(again.back(), alerts(100, 101)[0]);
  EXPECT_EQ(gone, 1u);
}

}  // namespace
}  // namespace tracker::internal
