// SPDX-License-Identifier: MIT
// P11: no reader of ours holds a read transaction longer than 250 ms, however long its log and slow its visitor.
// Method: a visitor that needs 2 ms a frame; another process commits and checkpoints the WAL, which SQLite does only up
// to the oldest transaction: the measure is how long a commit waits for that.
#include "storage/database/log_scan.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "storage/database/compaction.h"
#include "storage/database/writer_db.h"
#include "storage/writer/writer_reader.h"
#include "support/child.h"
#include "support/small_segments.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kFrames = 500;

struct Checkpoints {
  std::atomic<int> done, ready, stop;
  std::atomic<int64_t> longest_ns;
};

struct WalState {
  int pages = 0, checkpointed = 0;
};

WalState checkpoint(sqlite3* db) {
  WalState wal;
  CHILD_CHECK(sqlite3_wal_checkpoint_v2(db, nullptr, SQLITE_CHECKPOINT_PASSIVE, &wal.pages, &wal.checkpointed) ==
              SQLITE_OK);
  return wal;
}

int commit_and_checkpoint(const std::string& path, Checkpoints* out) {
  sqlite3* db = nullptr;
  CHILD_CHECK(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
  CHILD_CHECK(sqlite3_busy_timeout(db, 1000) == SQLITE_OK);  // a reader that opens the file may rebuild the index
  checkpoint(db);
  out->ready = 1;
  while (out->stop.load() == 0) {
    const int64_t begun_ns = monotonic_ns();
    CHILD_CHECK(sqlite3_exec(db, "INSERT OR REPLACE INTO meta VALUES('poke', 1)", nullptr, nullptr, nullptr) ==
                SQLITE_OK);
    const int wanted = checkpoint(db).pages;
    while (out->stop.load() == 0 && checkpoint(db).checkpointed < wanted) ::usleep(200);
    if (out->stop.load() != 0) break;
    out->longest_ns = std::max(out->longest_ns.load(), monotonic_ns() - begun_ns);
    ++out->done;
  }
  return 0;
}

class SlowVisitor : public LogVisitor {
 public:
  Result<bool> frame(const FrameView&) override {
    ::usleep(2000);
    ++frames;
    return true;
  }
  Result<bool> segment(SegmentView*, PointRange*) override { return true; }
  uint64_t frames = 0;
};

// Reaches the limit kTransactionNsMax.
// Promise P11: No reader of ours holds a transaction over 250 ms.
TEST(LogScanTest, ASlowReaderOfALongLogHoldsNoTransactionOverAQuarterOfASecond) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  {
    auto db = WriterDb::create(folder.path(), identity);
    ASSERT_TRUE(db.ok()) << db.status().to_string();
    for (uint64_t seq = 1; seq <= kFrames; ++seq) ASSERT_TRUE((*db)->append({test_record(identity, seq)}, false).ok());
  }
  const std::string path = db_path(folder.path(), identity);
  Shared<Checkpoints> checkpoints;
  const pid_t child = start_child([&] { return commit_and_checkpoint(path, checkpoints.operator->()); });
  while (checkpoints->ready.load() == 0) sleep_ms(1);

  auto reader = WriterReader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  auto snapshot = (*reader)->snapshot();
  ASSERT_TRUE(snapshot.ok());
  LogPosition at;
  SlowVisitor visitor;
  std::vector<LogDamage> damage;
  const int64_t begun_ns = monotonic_ns();
  ASSERT_TRUE((*reader)->read(&at, {snapshot->last_seq, snapshot->points}, &visitor, &damage).ok());
  const int64_t took_ns = monotonic_ns() - begun_ns;
  checkpoints->stop = 1;
  EXPECT_EQ(exit_code_of(wait_child(child)), 0);

  EXPECT_EQ(visitor.frames, kFrames);
  EXPECT_TRUE(damage.empty());
  EXPECT_GE(took_ns, int64_t{kFrames} * 2'000'000);
  EXPECT_GE(checkpoints->done.load(), 3);
}

class CountingVisitor : public LogVisitor {
 public:
  Result<bool> frame(const FrameView& frame) override {
    points += frame.points();
    return true;
  }
  Result<bool> segment(SegmentView*, PointRange* wanted) override {
    points += wanted->last - wanted->first;
    ++segments;
    return true;
  }
  uint64_t points = 0, segments = 0;
};

// As on a machine so busy that listing the segments takes the whole time of a round.
TEST(LogScanTest, AReaderWhoseRoundsAreOverAtOnceReadsEverything) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  set_compaction_gather_for_testing(1);
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok()) << db.status().to_string();
  const auto append = [&](uint64_t from, uint64_t to) {
    for (uint64_t seq = from; seq <= to; ++seq) ASSERT_TRUE((*db)->append({test_record(identity, seq)}, false).ok());
  };
  append(1, 100);
  while ((*db)->compact(UINT64_MAX)) continue;
  append(101, 110);
  auto reader = WriterReader::open((*db)->path());
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  auto snapshot = (*reader)->snapshot();
  ASSERT_TRUE(snapshot.ok());
  LogPosition at;
  CountingVisitor visitor;
  std::vector<LogDamage> damage;
  set_log_round_for_testing(0);
  EXPECT_TRUE((*reader)->read(&at, {snapshot->last_seq, snapshot->points}, &visitor, &damage).ok());
  set_log_round_for_testing(kLogRoundNs);
  EXPECT_EQ(at.seq, snapshot->last_seq);
  EXPECT_EQ(visitor.points, snapshot->points);
  EXPECT_GE(visitor.segments, 1u);
  EXPECT_TRUE(damage.empty());
}

// 256, kSegmentsListed, are listed at once.
TEST(LogScanTest, MoreSegmentsThanAreListedAtOnceAreAllRead) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  constexpr uint64_t kSegments = 256 + 3;
  const std::string path = make_small_segments(folder.path(), identity, kSegments);
  auto reader = WriterReader::open(path);
  ASSERT_TRUE(reader.ok());
  LogPosition at;
  CountingVisitor visitor;
  std::vector<LogDamage> damage;
  ASSERT_TRUE((*reader)->read(&at, {kSegments, kSegments}, &visitor, &damage).ok());
  EXPECT_TRUE(damage.empty()) << damage[0].what;
  EXPECT_EQ(visitor.segments, kSegments);
  EXPECT_EQ(visitor.points, kSegments);
}

}  // namespace
}  // namespace tracker::internal
