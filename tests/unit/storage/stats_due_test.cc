// SPDX-License-Identifier: MIT
// Goal: the rows of `series` are written as often as readers need and no more. Method: the rule at the edges of its
// numbers, and a database that is appended to until a second connection sees that they were written.
#include "storage/log/stats_due.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/sqlite/sqlite.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

TEST(StatsDueTest, MuchThatIsDurableWaitsLessThanLittleOrWhatIsNot) {
  EXPECT_TRUE(stats_due(true, kStatsPointsMin, kStatsIntervalNs));
  EXPECT_FALSE(stats_due(true, kStatsPointsMin, kStatsIntervalNs - 1));
  EXPECT_FALSE(stats_due(true, kStatsPointsMin - 1, kStatsIntervalNs));
  EXPECT_FALSE(stats_due(false, kStatsPointsMin, kStatsIntervalNs));
  for (const bool durable : {false, true}) {
    EXPECT_TRUE(stats_due(durable, 1, kStatsIntervalAlwaysNs));
    EXPECT_FALSE(stats_due(durable, 1, kStatsIntervalAlwaysNs - 1));
  }
  EXPECT_FALSE(stats_due(false, UINT64_MAX, kStatsIntervalAlwaysNs - 1));
}

TEST(StatsDueTest, ADatabaseWritesTheRowsOfSeriesByThatRule) {
  const TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  uint64_t seq = 0;
  // The frame up to which the rows are written, after an append of so many points.
  const auto written_after = [&](size_t points, bool durable) {
    EXPECT_TRUE((*db)->append({record_of(test_frame(identity, ++seq, 1, points))}, durable).ok());
    auto other = Sqlite::open(db_path(folder.path(), identity), SqliteOpen::kRead, 1000);
    return other->query_int("SELECT value FROM meta WHERE key = 'stats_seq'").value_or(-1);
  };
  ASSERT_EQ(written_after(1, false), 1) << "none were there";
  const int64_t begun = monotonic_ns();
  // On a machine that was stopped meanwhile they are due anyway.
  const auto expect_as_before = [&begun](int64_t found, int64_t due_after_ns, const char* why) {
    EXPECT_TRUE(found == 1 || monotonic_ns() - begun >= due_after_ns) << why << ": frame " << found;
  };
  expect_as_before(written_after(kStatsPointsMin - 1, true), kStatsIntervalAlwaysNs, "a point less than much");
  while (monotonic_ns() - begun < kStatsIntervalNs) ::usleep(10'000);
  expect_as_before(written_after(0, true), kStatsIntervalAlwaysNs, "still a point less");
  expect_as_before(written_after(1, false), kStatsIntervalAlwaysNs, "not durable");
  EXPECT_EQ(written_after(0, true), 5);
}

}  // namespace
}  // namespace tracker::internal
