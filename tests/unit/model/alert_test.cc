// SPDX-License-Identifier: MIT
// Goal: alerts are bounded, and what is beyond is counted. Method: a clock that the test moves.
#include "model/alert.h"
#include "model/redact/payloads.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

constexpr int64_t kMinute = 60'000'000'000;

TEST(AlertTest, SixtyFindRoomInAMinuteThatBeginsWithTheFirst) {
  AlertRoom room;
  for (uint64_t i = 0; i < kAlertsAMinute; ++i) EXPECT_TRUE(room.take(5));
  EXPECT_FALSE(room.take(4 + kMinute));
  EXPECT_TRUE(room.take(5 + kMinute));
}

TEST(AlertTest, AThousandFindRoomInAll) {
  AlertRoom room;
  uint64_t taken = 0;
  for (int64_t i = 0; i < 1'100; ++i) taken += room.take(i * kMinute) ? 1 : 0;
  EXPECT_EQ(taken, kAlertsMax);
}

TEST(AlertTest, OfThoseWithoutRoomEachPowerOfTwoIsTold) {
  AlertRoom room;
  std::string recorded;
  for (int i = 1; i <= 20; ++i)
    if (room.count_dropped()) recorded += std::to_string(i) + " ";
  EXPECT_EQ(recorded, "1 2 4 8 16 ");
  EXPECT_EQ(room.dropped(), 20u);
}

TEST(AlertTest, LevelsAreKnownByNameInSmallAndCapitalLetters) {
  EXPECT_EQ(alert_level("WARN"), AlertLevel::kWarn);
  EXPECT_EQ(alert_level("error"), AlertLevel::kError);
  EXPECT_EQ(alert_level(""), AlertLevel::kInfo);
  EXPECT_FALSE(alert_level("warning"));
}

TEST(AlertTest, WhatIsTooLongIsCutBetweenCharacters) {
  uint64_t cut = 0;
  EXPECT_EQ(alert_part("aéé", 4, &cut), "aé");
  EXPECT_EQ(cut, 2u);
}

// What is masked in front of the cut moves up what is at it.
TEST(AlertTest, ASecretThatTheCutOfATitleOrATextMeetsIsNotStored) {
  const std::string secret = " postgres://admin:hunter2secret@db.example.com/x";
  const std::string begin = "-----BEGIN PRIVATE KEY-----", end = "-----END PRIVATE KEY-----";
  for (size_t at = 0; at < secret.size(); ++at) {
    const std::string key = begin + std::string(kAlertTextBytesMax - 100 - begin.size() - end.size() - at, 'k') + end;
    const std::string long_one = key + std::string(100, ' ') + secret;
    uint64_t redacted = 0;
    const Value payload = alert_payload(AlertLevel::kInfo, long_one, long_one, &redacted);
    for (const char* part : {"title", "text"})
      EXPECT_EQ(payload.text_or(part, "").find("admin:h"), std::string::npos) << part << " " << at;
  }
}

}  // namespace
}  // namespace tracker::internal
