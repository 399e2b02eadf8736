// SPDX-License-Identifier: MIT
// Goal: levels are made and deleted with their segments, cost little, and a database without them reads the same.
// Method: the table of a database that is compacted, read through SQL. That charts from them are exact:
// query/step_chart_test.cc.
#include "storage/database/levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "storage/database/compaction.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

class LevelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_compaction_gather_for_testing(60'000'000'000);
    db_ = std::move(*WriterDb::create(folder_.path(), identity_));
  }
  std::string path() const { return db_path(folder_.path(), identity_); }

  // `falls`: each frame starts at step 0 again.
  void append(uint64_t frames, size_t rows, bool falls = false) {
    for (uint64_t i = 0; i < frames; ++i) {
      Frame frame = test_frame(identity_, db_->last_seq() + 1, 2, rows);
      if (falls)
        for (size_t row = 0; row < rows; ++row) frame.blocks[0].steps[row] = static_cast<int64_t>(row);
      ASSERT_TRUE(db_->append({record_of(frame)}, false).ok());
    }
  }
  void compact() {
    while (db_->compact(UINT64_MAX)) continue;
  }
  int64_t number(const char* sql) const {
    auto db = Sqlite::open(path(), SqliteOpen::kRead, 1000);
    return db->query_int(sql).value_or(-1);
  }
  // Rows of levels whose segment does not exist.
  int64_t orphans() const {
    return number(
        "SELECT count(*) FROM levels WHERE NOT EXISTS (SELECT 1 FROM segments WHERE segments.first_seq="
        "levels.first_seq AND segments.last_seq=levels.last_seq)");
  }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
  std::unique_ptr<WriterDb> db_;
};

TEST_F(LevelsTest, ASegmentWithEnoughRowsHasALevelASeries) {
  append(kCompactFramesMin, kLevelRowsMin / kCompactFramesMin);
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM levels"), 2);
  auto db = Sqlite::open(path(), SqliteOpen::kRead, 1000);
  int rows = 0;
  ASSERT_TRUE(read_levels(*db, 2, 1, 0, 1000, [&](uint64_t first, uint64_t last, std::string_view data) {
                EXPECT_EQ(first, 1u);
                EXPECT_EQ(last, kCompactFramesMin);
                auto level = decode_level(data);
                EXPECT_TRUE(level.ok());
                EXPECT_EQ(level->rows, kLevelRowsMin);
                EXPECT_EQ(level->x_last, static_cast<int64_t>(kLevelRowsMin) - 1);
                EXPECT_EQ(level->stride, 1u);
                ++rows;
                return Status();
              }).ok());
  EXPECT_EQ(rows, 1);
}

TEST_F(LevelsTest, ALongSegmentHasTwoLevelsASeriesAndAxis) {
  append(kCompactFramesMin, 700);
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM levels WHERE level IN (0,1)"), 2 * kLevels);
  EXPECT_EQ(number("SELECT count(*) FROM levels WHERE level IN (2,3)"), 2 * kLevels);
  EXPECT_EQ(number("SELECT count(*) FROM levels"), 2 * 2 * kLevels);
}

// Many series share a segment with fewer rows, and its times.
TEST_F(LevelsTest, OverTimesThereAreNoneWithFewerRows) {
  append(kCompactFramesMin, kTimeLevelRowsMin / kCompactFramesMin - 1);
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM levels WHERE level IN (2,3)"), 0);
  append(kCompactFramesMin, kTimeLevelRowsMin / kCompactFramesMin + 1);
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 2);
  EXPECT_GT(number("SELECT count(*) FROM levels WHERE level IN (2,3)"), 0);
}

TEST_F(LevelsTest, TimesThatFallAlongTheStepsHaveNone) {
  for (uint64_t i = 0; i < kCompactFramesMin; ++i) {
    Frame frame = test_frame(identity_, db_->last_seq() + 1, 2, 700);
    if (i == 3) frame.blocks[0].times_us[100] -= 1'000'000;
    ASSERT_TRUE(db_->append({record_of(frame)}, false).ok());
  }
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM levels WHERE level IN (0,1)"), 2 * kLevels);
  EXPECT_EQ(number("SELECT count(*) FROM levels WHERE level IN (2,3)"), 0);
}

TEST_F(LevelsTest, NoiseTakesWiderCellsSoThatAPointCostsATwentiethOfAByte) {
  std::mt19937_64 noise(1);
  for (uint64_t i = 0; i < kCompactFramesMin; ++i) {
    Frame frame = test_frame(identity_, db_->last_seq() + 1, 2, 400);
    for (auto& column : frame.blocks[0].values)
      for (uint64_t& bits : column) bits = bits_of(std::ldexp(static_cast<double>(noise()), -64));
    ASSERT_TRUE(db_->append({record_of(frame)}, false).ok());
  }
  compact();
  const int64_t rows = kCompactFramesMin * 400;
  const int64_t bytes = number("SELECT sum(length(data)) FROM levels WHERE level IN (0,1)");
  EXPECT_GT(bytes, 2 * rows / 50);
  EXPECT_LE(bytes, 2 * rows / static_cast<int64_t>(kLevelRowsAByte));
  EXPECT_LE(number("SELECT sum(length(data)) FROM levels WHERE level IN (2,3)"),
            2 * rows / static_cast<int64_t>(kTimeLevelRowsAByte));
}

TEST_F(LevelsTest, AShortSegmentHasNoneAndItsDatabaseNoTable) {
  append(kCompactFramesMin, kLevelRowsMin / kCompactFramesMin - 1);
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_master WHERE name='levels'"), 0);
}

TEST_F(LevelsTest, StepsThatRepeatOrFallHaveNone) {
  append(kCompactFramesMin, 100, true);
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_master WHERE name='levels'"), 0);
}

TEST_F(LevelsTest, WhereSegmentsAreMergedTheLevelsOfTheOldOnesGo) {
  for (int i = 0; i < 5; ++i) {
    append(kCompactFramesMin, 170);
    compact();
  }
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 5);
  EXPECT_EQ(number("SELECT count(DISTINCT first_seq) FROM levels WHERE level IN (0,1)"), 5);
  EXPECT_EQ(number("SELECT count(DISTINCT first_seq) FROM levels WHERE level IN (2,3)"), 5);
  ASSERT_TRUE(db_->finish().ok());
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM levels"), 2 * 2 * kLevels);
  EXPECT_EQ(orphans(), 0);
}

TEST_F(LevelsTest, SegmentsThatRiseButOverlapLoseTheirsWhenTheyAreMerged) {
  for (int i = 0; i < 2; ++i) {
    for (uint64_t k = 0; k < kCompactFramesMin; ++k) {
      Frame frame = test_frame(identity_, db_->last_seq() + 1, 2, 70);
      for (int64_t& step : frame.blocks[0].steps) step -= i * static_cast<int64_t>(kCompactFramesMin) * 70;
      ASSERT_TRUE(db_->append({record_of(frame)}, false).ok());
    }
    compact();
  }
  EXPECT_EQ(number("SELECT count(*) FROM levels"), 2 * 2);
  ASSERT_TRUE(db_->finish().ok());
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM levels"), 0);
}

TEST_F(LevelsTest, ADatabaseOfAnOlderVersionGetsThemWithItsNextSegment) {
  append(kCompactFramesMin, 70);
  compact();
  ASSERT_TRUE(Sqlite::open(path(), SqliteOpen::kWrite, 1000)->exec("DROP TABLE levels").ok());
  EXPECT_EQ(stored_frames(path()), one_to(kCompactFramesMin));
  append(kCompactFramesMin, 70);
  compact();
  EXPECT_EQ(number("SELECT count(*) FROM levels"), 2);
  ASSERT_TRUE(db_->finish().ok());
  EXPECT_EQ(number("SELECT count(*) FROM segments"), 1);
  EXPECT_EQ(orphans(), 0);
}

}  // namespace
}  // namespace tracker::internal
