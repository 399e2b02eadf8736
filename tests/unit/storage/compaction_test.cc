// SPDX-License-Identifier: MIT
// Goal: what becomes a segment, what remains a frame, and when. Method: the tables of a database that is compacted step
// by step. That readers find the same rows is tested in tests/unit/query/view/compacted_test.cc, crashes in
// tests/fault/compaction_test.cc.
#include "storage/database/compaction.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "support/small_segments.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

// A section of a kind that readers skip, as a newer version may write it.
std::string with_unknown_section(std::string frame) {
  frame.resize(frame.size() - 4);
  frame += std::string("\xc8\0\0\0\0", 5);
  const auto size = static_cast<uint32_t>(frame.size() + 4);
  std::memcpy(frame.data() + 8, &size, sizeof size);
  const uint32_t crc = crc32c(frame);
  return frame.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

class CompactionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_compaction_gather_for_testing(60'000'000'000);
    db_ = std::move(*WriterDb::create(folder_.path(), identity_));
  }
  std::string path() const { return db_path(folder_.path(), identity_); }

  void append(uint64_t frames, size_t rows = 3) {
    std::vector<FrameRecord> records;
    for (uint64_t i = 1; i <= frames; ++i)
      records.push_back(record_of(test_frame(identity_, db_->last_seq() + i, 2, rows)));
    ASSERT_TRUE(db_->append(records, false).ok());
  }
  void append_newer() {
    FrameRecord record = record_of(test_frame(identity_, db_->last_seq() + 1));
    record.bytes = with_unknown_section(record.bytes);
    ASSERT_TRUE(db_->append({record}, false).ok());
  }
  void compact(uint64_t up_to = UINT64_MAX) {
    while (db_->compact(up_to)) continue;
  }
  Ranges rows(const char* sql) const {
    auto db = Sqlite::open(path(), SqliteOpen::kRead, 1000);
    auto found = db->prepare(sql);
    Ranges out;
    while (*found->step()) out.emplace_back(found->int_at(0), found->int_at(1));
    return out;
  }
  Ranges segments() const { return rows("SELECT first_seq, last_seq FROM segments ORDER BY first_seq"); }
  Ranges frames() const { return rows("SELECT min(seq), count(*) FROM frames"); }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
  std::unique_ptr<WriterDb> db_;
};

TEST_F(CompactionTest, FramesWaitUntilThereAreEnoughForASegment) {
  append(kCompactFramesMin - 1);
  EXPECT_FALSE(db_->compaction_due(UINT64_MAX));
  compact();
  EXPECT_EQ(segments(), Ranges());
  append(1);
  EXPECT_TRUE(db_->compaction_due(UINT64_MAX));
  compact();
  EXPECT_EQ(segments(), (Ranges{{1, kCompactFramesMin}}));
  EXPECT_EQ(frames()[0].second, 0);
  EXPECT_FALSE(db_->compaction_due(UINT64_MAX));
  EXPECT_EQ(stored_frames(path()), one_to(kCompactFramesMin));
}

TEST_F(CompactionTest, NothingIsTouchedAfterTheFrameThatAServerHasAcknowledged) {
  append(3 * kCompactFramesMin);
  compact(0);
  EXPECT_EQ(segments(), Ranges());
  EXPECT_FALSE(db_->compaction_due(0));
  EXPECT_TRUE(db_->compaction_due(kCompactFramesMin + 10));
  compact(kCompactFramesMin + 10);
  EXPECT_EQ(segments(), (Ranges{{1, kCompactFramesMin + 10}}));
  compact(3 * kCompactFramesMin - 1);
  for (const auto& [first, last] : segments()) EXPECT_LT(last, static_cast<int64_t>(3 * kCompactFramesMin));
  EXPECT_EQ(stored_frames(path()), one_to(3 * kCompactFramesMin));
}

TEST_F(CompactionTest, SegmentsOfALongRunAreFewAndEachPointIsRewrittenAFewTimes) {
  int steps = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    append(kCompactFramesMin);
    for (; db_->compaction_due(UINT64_MAX); ++steps)
      if (!db_->compact(UINT64_MAX)) break;
  }
  EXPECT_LT(segments().size(), 3 * kCompactionFactor);
  EXPECT_LT(steps, 200 + 200 / 6 + 200) << "one of frames, a few merges, and one check for more";
  EXPECT_EQ(stored_frames(path()), one_to(200 * kCompactFramesMin));
  ASSERT_TRUE(db_->finish().ok());
  EXPECT_EQ(segments(), (Ranges{{1, 200 * kCompactFramesMin}}));
}

TEST_F(CompactionTest, AFrameOfANewerVersionStaysAFrameAndIsNeverMergedOver) {
  append(kCompactFramesMin);
  compact();
  append(10);
  append_newer();
  append(kCompactFramesMin + 20);
  compact();
  ASSERT_TRUE(db_->finish().ok());
  const int64_t newer = kCompactFramesMin + 11, last = newer + kCompactFramesMin + 20;
  EXPECT_EQ(frames(), (Ranges{{newer, 1}}));
  EXPECT_EQ(segments().back(), (std::pair<int64_t, int64_t>{newer + 1, last}));
  EXPECT_EQ(segments().front().first, 1);
  EXPECT_EQ(stored_frames(path()), one_to(last));
}

TEST_F(CompactionTest, AShortRunStaysAFewFrames) {
  append(kCompactFramesAtEnd - 1);
  ASSERT_TRUE(db_->finish().ok());
  EXPECT_EQ(segments(), Ranges());
  EXPECT_EQ(stored_frames(path()), one_to(kCompactFramesAtEnd - 1));
}

TEST_F(CompactionTest, AWriterThatComesBackGoesOnWhereItWas) {
  append(kCompactFramesMin);
  compact();
  append(20);
  db_.reset();
  db_ = std::move(*WriterDb::open_or_create(folder_.path(), identity_));
  append(kCompactFramesMin - 20);
  EXPECT_TRUE(db_->compaction_due(UINT64_MAX));
  compact();
  EXPECT_EQ(segments(), (Ranges{{1, kCompactFramesMin}, {kCompactFramesMin + 1, 2 * kCompactFramesMin}}));
}

TEST_F(CompactionTest, SeriesCoverWhatASegmentHolds) {
  append(kCompactFramesMin);
  auto before = (*WriterReader::open(path()))->snapshot();
  compact();
  auto after = (*WriterReader::open(path()))->snapshot();
  ASSERT_TRUE(before.ok() && after.ok());
  ASSERT_EQ(after->series.size(), before->series.size());
  for (size_t i = 0; i < after->series.size(); ++i) {
    EXPECT_EQ(after->series[i].points, before->series[i].points);
    EXPECT_EQ(after->series[i].sum, before->series[i].sum);
    EXPECT_EQ(after->series[i].last_bits, before->series[i].last_bits);
  }
}

// So a row that is logged meanwhile waits for one segment, never for the backlog: between two steps the writer checks
// its queue.
TEST_F(CompactionTest, AStepTakesOneSegmentHoweverMuchWaitsAndRowsAreStoredBetweenTwo) {
  constexpr uint64_t kBacklog = 40;
  constexpr size_t kRows = 20'000;  // of two series at 8 bytes each, and as much again for steps and times
  for (uint64_t i = 0; i < kBacklog; ++i) append(1, kRows);
  const auto bytes_of = [](int64_t waiting) { return static_cast<uint64_t>(waiting) * kRows * 2 * sizeof(double); };
  int steps = 0;
  for (bool more = true; more; ++steps) {
    const Ranges before = frames();
    const size_t segments_before = segments().size();
    more = db_->compact(UINT64_MAX);
    const int64_t taken = before[0].second - frames()[0].second;
    EXPECT_LE(bytes_of(taken), kCompactionBytesMax + bytes_of(1)) << "in one step";
    EXPECT_LE(segments().size(), segments_before + 1);
    if (steps > 10) continue;
    append(1);
    EXPECT_EQ(stored_frames(path()), one_to(static_cast<int64_t>(db_->last_seq())));
  }
  EXPECT_GT(steps, 3) << "the backlog is more than a step takes";
}

// Further ones are merged when the file is opened the next time.
TEST(ManySegmentsTest, SoManySmallSegmentsAreConsideredAndNothingIsLost) {
  set_compaction_gather_for_testing(60'000'000'000);
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  constexpr uint64_t kSegments = kTailSegmentsMax + 6;
  const std::string path = make_small_segments(folder.path(), identity, kSegments);
  const auto number = [&path](const char* sql) {
    auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
    return db.ok() ? db->query_int(sql).value_or(-1) : -1;
  };
  auto db = WriterDb::open_or_create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  while ((*db)->compact(UINT64_MAX)) continue;
  EXPECT_EQ(number("SELECT count(*) FROM segments WHERE last_seq<=6"), 6);
  EXPECT_EQ(number("SELECT first_seq FROM segments WHERE last_seq>6 ORDER BY last_seq LIMIT 1"), 7);
  EXPECT_LT(number("SELECT count(*) FROM segments"), static_cast<int64_t>(kSegments) / 2);
  EXPECT_EQ(stored_frames(path).size(), kSegments);
  set_compaction_gather_for_testing(kCompactionGatherNs);
}

}  // namespace
}  // namespace tracker::internal
