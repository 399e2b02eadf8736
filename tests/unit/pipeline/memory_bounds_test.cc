// SPDX-License-Identifier: MIT
// What may wait in memory for the disk. Method: pure functions at their bounds.
#include <gtest/gtest.h>

#include "pipeline/disk_limit.h"
#include "pipeline/memory_bounds.h"

namespace tracker::internal {
namespace {

LargeValue value_of(EventType type, size_t bytes) { return {type, bytes, false, 0, UINT64_MAX}; }

TEST(MemoryBoundsTest, TheQueueIsFullAtItsOwnBoundOrWhenAllTogetherIs) {
  EXPECT_FALSE(queue_is_full({kQueueBytesMax, 0, 0}));
  EXPECT_TRUE(queue_is_full({kQueueBytesMax + 1, 0, 0}));
  const size_t journal = kWaitingBytesMax - kWaitingBytesEach - 1;
  EXPECT_FALSE(queue_is_full({kWaitingBytesEach + 1, 0, journal}));
  EXPECT_TRUE(queue_is_full({kWaitingBytesEach + 1, 1, journal}));
  EXPECT_FALSE(queue_is_full({kWaitingBytesEach, 0, 2 * kWaitingBytesMax})) << "so much is for frames whatever waits";
}

TEST(MemoryBoundsTest, ATextNeedsSharedRoomAboveItsOwnAndAConfigValueDoesNot) {
  const WaitingBytes full{kQueueBytesMax, kWaitingBytesEach, kWaitingBytesMax};
  EXPECT_EQ(may_take_large(value_of(EventType::kText, 1), full), LargeAnswer::kNoSharedRoom);
  EXPECT_EQ(may_take_large(value_of(EventType::kMedia, 1), full), LargeAnswer::kNoSharedRoom);
  EXPECT_EQ(may_take_large(value_of(EventType::kConfig, 1), full), LargeAnswer::kTake);
  EXPECT_EQ(may_take_large(value_of(EventType::kText, 1), {0, kWaitingBytesEach, 0}), LargeAnswer::kTake);
  EXPECT_EQ(may_take_large(value_of(EventType::kText, kWaitingBytesEach), {0, 0, kWaitingBytesMax}),
            LargeAnswer::kTake);
}

TEST(MemoryBoundsTest, NoLargeValueGoesAboveTheBoundOfAll) {
  for (const EventType type : {EventType::kText, EventType::kConfig, EventType::kConsole}) {
    LargeValue value = value_of(type, 1);
    value.at_end = true;
    EXPECT_EQ(may_take_large(value, {0, kLargeBytesMax - 1, 0}), LargeAnswer::kTake);
    EXPECT_EQ(may_take_large(value, {0, kLargeBytesMax, 0}), LargeAnswer::kNoRoom);
  }
}

TEST(MemoryBoundsTest, LinesOfOutputLeaveRoomForTextsUntilTheEnd) {
  LargeValue line = value_of(EventType::kConsole, 1000);
  const WaitingBytes waiting{0, kConsoleWaitingBytesMax - 1000, 0};
  EXPECT_EQ(may_take_large(line, waiting), LargeAnswer::kTake);
  line.overhead = 1;
  EXPECT_EQ(may_take_large(line, waiting), LargeAnswer::kNoRoom);
  line.at_end = true;
  EXPECT_EQ(may_take_large(line, waiting), LargeAnswer::kTake);
}

TEST(MemoryBoundsTest, AtMaxDiskAConfigValueMayUseAPartOfTheReserveAndATextNone) {
  constexpr uint64_t kReserve = (kDiskReserve - kDiskEndReserve) / 2;
  LargeValue text = value_of(EventType::kText, 100), config = value_of(EventType::kConfig, kReserve + 100);
  text.disk_credit = config.disk_credit = 100;
  EXPECT_EQ(may_take_large(text, {}), LargeAnswer::kTake);
  EXPECT_EQ(may_take_large(config, {}), LargeAnswer::kTake);
  text.disk_credit = config.disk_credit = 99;
  EXPECT_EQ(may_take_large(text, {}), LargeAnswer::kNoRoom);
  EXPECT_EQ(may_take_large(config, {}), LargeAnswer::kNoRoom);
}

}  // namespace
}  // namespace tracker::internal
