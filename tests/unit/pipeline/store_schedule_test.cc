// SPDX-License-Identifier: MIT
// When the store thread commits, calls fsync, gives a sign of life and tries again. Method: pure functions; the test's
// own clock.
#include <gtest/gtest.h>

#include "pipeline/store_schedule.h"

namespace tracker::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kBegan = TimePoint() + std::chrono::hours(1);

StoreTimes times_of_begin() {
  StoreTimes out;
  out.last_commit = out.last_sync = kBegan;
  return out;
}

TEST(StoreScheduleTest, WithoutAnUnsyncedRowNoFsyncIsDue) {
  EXPECT_EQ(sync_due(times_of_begin(), std::nullopt), std::nullopt);
}

TEST(StoreScheduleTest, TheFsyncStartsBeforeTheOldestRowIsASecondOldWhetherItIsCommittedOrWaits) {
  StoreTimes times = times_of_begin();
  times.last_sync = kBegan - seconds(1);
  EXPECT_EQ(sync_due(times, kBegan - milliseconds(300)), kBegan);
  times.last_sync = kBegan;
  EXPECT_EQ(sync_due(times, kBegan + milliseconds(100)), kBegan + milliseconds(950));
  times.unsynced = kBegan + milliseconds(50);
  EXPECT_EQ(sync_due(times, kBegan + milliseconds(100)), kBegan + milliseconds(900));
  EXPECT_EQ(sync_due(times, std::nullopt), kBegan + milliseconds(900));
}

TEST(StoreScheduleTest, WhoLogsMoreSeldomThanEachSecondHasAnFsyncWithEachCommit) {
  const StoreTimes times = times_of_begin();
  const TimePoint now = kBegan + seconds(5);
  EXPECT_TRUE(next_round(times, {}, {now - milliseconds(100), false, false}, now).durable);
}

TEST(StoreScheduleTest, ADiskHasAsLongToItselfAsItsLastFsyncTookUpToASecond) {
  StoreTimes times = times_of_begin();
  times.unsynced = kBegan - seconds(9);
  times.sync_took = milliseconds(400);
  EXPECT_EQ(sync_due(times, std::nullopt), kBegan + milliseconds(400));
  times.sync_took = seconds(30);
  EXPECT_EQ(sync_due(times, std::nullopt), kBegan + seconds(1));
}

TEST(StoreScheduleTest, AnFsyncAloneStartsLaterThanOneWithACommit) {
  StoreTimes times = times_of_begin();
  times.unsynced = kBegan;
  const TimePoint with_commit = kBegan + kSyncInterval - kSyncAhead;
  const TimePoint alone = kBegan + kSyncInterval - kSyncAheadAlone;
  const milliseconds tick(1);
  const StoreWork frame{kBegan + milliseconds(500), false, false};
  EXPECT_FALSE(next_round(times, {}, frame, with_commit - tick).durable);
  EXPECT_TRUE(next_round(times, {}, frame, with_commit).durable);
  EXPECT_FALSE(next_round(times, {}, {}, alone - tick).durable);
  EXPECT_TRUE(next_round(times, {}, {}, alone).durable);
  EXPECT_EQ(idle_time(times, {}, DiskRoom::kEnough, kBegan), alone - kBegan);
  EXPECT_EQ(idle_time(times, {}, DiskRoom::kEnough, alone + seconds(1)), Duration::zero());
}

TEST(StoreScheduleTest, AFlushAndTheEndAreDurableAtOnce) {
  const StoreTimes times = times_of_begin();
  EXPECT_FALSE(next_round(times, {}, {kBegan, false, false}, kBegan).durable);
  EXPECT_TRUE(next_round(times, {}, {kBegan, true, false}, kBegan).durable);
  EXPECT_TRUE(next_round(times, {}, {std::nullopt, true, false}, kBegan).durable);
  EXPECT_TRUE(next_round(times, {}, {std::nullopt, false, true}, kBegan).durable);
}

TEST(StoreScheduleTest, AnIdleRunGivesASignOfLifeEach15SecondsAndEachSecondWhileOtherRanksWait) {
  const StoreTimes times = times_of_begin();
  for (const bool is_awaited : {false, true}) {
    const StorePace pace{is_awaited, kBegan};
    const Duration interval = is_awaited ? Duration(kAwaitedHeartbeat) : Duration(kHeartbeatInterval);
    EXPECT_EQ(idle_time(times, pace, DiskRoom::kEnough, kBegan), interval);
    EXPECT_FALSE(next_round(times, pace, {}, kBegan + interval - milliseconds(1)).beat);
    EXPECT_TRUE(next_round(times, pace, {}, kBegan + interval).beat);
    EXPECT_EQ(heartbeat_interval(pace, kBegan + kRunAwaitMax), kHeartbeatInterval);
  }
}

TEST(StoreScheduleTest, AFullStoreIsCheckedEachSecondWhetherItHasRoomAgain) {
  EXPECT_EQ(idle_time(times_of_begin(), {}, DiskRoom::kNoPoints, kBegan), kDiskLookInterval);
}

TEST(StoreScheduleTest, ATransactionTakesAnyFirstFrameAndFurtherOnesUpToItsBound) {
  EXPECT_TRUE(batch_takes(0, 0, 2 * kCommitBytesMax));
  EXPECT_TRUE(batch_takes(1, kCommitBytesMax - 1, 1));
  EXPECT_FALSE(batch_takes(1, kCommitBytesMax, 1));
}

TEST(StoreScheduleTest, ACommitWithoutFsyncIsUnsyncedFromItsOldestRowOnUntilTheNextFsync) {
  StoreTimes times = times_of_begin();
  const TimePoint first = kBegan + milliseconds(100), second = kBegan + milliseconds(200);
  note_round({false, false}, {first, false, false}, second, second, &times);
  EXPECT_EQ(times.unsynced, first);
  EXPECT_EQ(times.last_commit, second);
  EXPECT_EQ(times.last_sync, kBegan);
  note_round({false, false}, {second, false, false}, second, second, &times);
  EXPECT_EQ(times.unsynced, first);
  note_round({true, false}, {}, second, second + milliseconds(30), &times);
  EXPECT_EQ(times.unsynced, std::nullopt);
  EXPECT_EQ(times.sync_took, milliseconds(30));
  EXPECT_EQ(times.last_sync, second + milliseconds(30));
  EXPECT_EQ(times.last_commit, times.last_sync);
}

TEST(StoreScheduleTest, ThePauseAfterAFailureDoublesToItsLargestAndBeginsAgainAfterASuccess) {
  RetryPause pause(milliseconds(100), milliseconds(300));
  for (const int expected : {100, 200, 300, 300}) EXPECT_EQ(pause.take(), milliseconds(expected));
  pause.reset();
  EXPECT_EQ(pause.take(), milliseconds(100));
}

}  // namespace
}  // namespace tracker::internal
