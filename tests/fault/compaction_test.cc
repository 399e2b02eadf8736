// SPDX-License-Identifier: MIT
// F2, F16. Compaction replaces what is stored: a process that is killed between any two of its writes, or whose disk
// fails there, loses nothing and doubles nothing, and the next one continues. Method: libc's calls are replaced
// (support/faulty_disk.h); a child compacts the same log again and again, and dies or fails some writes later each
// time, from a random one on; with TRACKER_TEST_KILLS one write later. Once as it is, and once with segments so small
// that they are merged.
// Memory: the resident set of a child that compacts a large log.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <random>

#include "storage/database/compaction.h"
#include "storage/database/writer_parts.h"
#include "storage/sqlite/sqlite.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/faulty_disk.h"
#include "support/integrity.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr int64_t kFrames = 200;
constexpr size_t kRows = 24;           // of a frame; enough in all for levels
constexpr uint64_t kSmallFrames = 12;  // of a segment

// From one write that is the last one to the next.
int stride(bool small) {
  if (std::getenv("TRACKER_TEST_KILLS") != nullptr) return 1;
  if (kSlowDown > 1) return 29;
  return small ? 8 : 3;  // three times as many writes, of three times as much
}

// Values that no encoder foresees, so that segments are of many pages.
Frame noisy_frame(const WriterIdentity& identity, uint64_t seq, size_t rows, size_t series = 4) {
  Frame frame = test_frame(identity, seq, series, rows);
  std::mt19937_64 noise(seq);
  for (auto& column : frame.blocks[0].values)
    for (uint64_t& bits : column) bits = bits_of(static_cast<double>(noise()));
  return frame;
}

class CompactionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto db = WriterDb::create(log_.path(), identity_);
    for (int64_t seq = 1; seq <= kFrames; ++seq)
      ASSERT_TRUE(
          (*db)->append({record_of(noisy_frame(identity_, static_cast<uint64_t>(seq), kRows))}, seq % 50 == 0).ok());
  }
  ~CompactionTest() override { set_compaction_frames_for_testing(UINT64_MAX); }
  std::string path() const { return db_path(folder_->path(), identity_); }

  // A new copy of the log, as its writer left it when it died.
  void copy_log() {
    folder_ = std::make_unique<TempFolder>();
    for (const char* suffix : {"", "-wal"})
      std::filesystem::copy_file(db_path(log_.path(), identity_) + suffix, path() + suffix);
  }

  // What a child does with it: steps, then the end.
  static bool compact(WriterDb* db) {
    while (db->compact(UINT64_MAX)) continue;
    return db->finish().ok();
  }

  void expect_whole(int at) const {
    ASSERT_EQ(stored_frames(path()), one_to(kFrames)) << "write " << at;
    auto snapshot = (*WriterReader::open(path()))->snapshot();
    ASSERT_TRUE(snapshot.ok() && snapshot->damage.empty()) << "write " << at;
    ASSERT_EQ(snapshot->points, static_cast<uint64_t>(kFrames) * kRows * 4) << "write " << at;
    ASSERT_EQ(snapshot->series[0].points, static_cast<uint64_t>(kFrames) * kRows) << "write " << at;
  }

  int64_t number(const char* sql) const {
    auto db = Sqlite::open(path(), SqliteOpen::kRead, 1000);
    return db.ok() ? db->query_int(sql).value_or(-1) : -1;
  }
  int64_t count(const char* table) const { return number((std::string("SELECT count(*) FROM ") + table).c_str()); }

  // Levels are those of the segments that are there; small segments may have none. A database that was left in the
  // middle of its last change of journal mode is not read this way.
  void expect_levels(int at) const {
    if (!small_ && count("segments") == 1 && count("frames") == 0) {
      ASSERT_EQ(count("levels"), 4) << "write " << at;
    } else if (number("SELECT count(*) FROM sqlite_master WHERE name='levels'") <= 0) {
      return;
    }
    ASSERT_EQ(number("SELECT count(*) FROM levels WHERE NOT EXISTS (SELECT 1 FROM segments WHERE segments.first_seq="
                     "levels.first_seq AND segments.last_seq=levels.last_seq)"),
              0)
        << "write " << at;
  }

  TempFolder log_;
  std::unique_ptr<TempFolder> folder_;
  WriterIdentity identity_ = test_identity();
  bool small_ = false;
};

class CompactionCutTest : public CompactionTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    CompactionTest::SetUp();
    small_ = std::string(GetParam()) == "small_segments";
    if (small_) set_compaction_frames_for_testing(kSmallFrames);
    std::mt19937_64 random(test_seed("compaction"));
    first_ = static_cast<int>(random() % static_cast<uint64_t>(stride(small_)));
  }
  int first_ = 0;  // write that is the last one
};

TEST_P(CompactionCutTest, KilledBetweenAnyTwoWritesNothingIsLostOrDoubledAndTheNextOneGoesOn) {
  int at = first_;
  for (bool killed = true; killed; at += stride(small_)) {
    copy_log();
    const int status = run_child([&] {
      set_faulty_folder(folder_->path());
      auto db = WriterDb::open_or_create(folder_->path(), identity_);
      faulty_disk().writes_left = at;
      return db.ok() && compact(db->get()) ? 0 : 1;
    });
    killed = WIFSIGNALED(status);
    ASSERT_TRUE(killed || exit_code_of(status) == 0);
    expect_whole(at);
    expect_levels(at);
    auto db = WriterDb::open_or_create(folder_->path(), identity_);
    ASSERT_TRUE(db.ok() && compact(db->get())) << "write " << at;
    expect_whole(at);
    expect_levels(at);
    // On a slow machine a step ends by its time, and what is then left may be too little for the next one.
    ASSERT_LT(count("frames"), static_cast<int64_t>(kCompactFramesMin)) << "write " << at;
    ASSERT_GE(count("segments"), 1) << "write " << at;
    ASSERT_TRUE(damaged_databases(folder_->path()).empty()) << "write " << at;
  }
  std::printf("%d writes\n", at);
  EXPECT_GT(at, 50);
}

TEST_P(CompactionCutTest, ADiskThatFailsAtAnyWriteOfItCostsNothingAndIsTriedAgain) {
  for (const int error : {ENOSPC, EIO}) {
    bool failed = true;
    for (int at = first_; failed; at += stride(small_)) {
      copy_log();
      const int status = run_child([&] {
        set_faulty_folder(folder_->path());
        auto db = WriterDb::open_or_create(folder_->path(), identity_);
        FaultyDisk& disk = faulty_disk();
        disk.errno_then = error;
        disk.writes_left = at;
        const bool well = compact(db->get());
        const bool any = disk.faults > 0;
        disk.writes_left = -1;
        disk.write_errno = disk.fsync_errno = 0;
        if (well == any && !well) return 1;  // only a disk that fails may make it fail
        if (!well && !compact(WriterDb::open_or_create(folder_->path(), identity_)->get())) return 2;
        return any ? 3 : 0;
      });
      failed = exit_code_of(status) == 3;
      ASSERT_TRUE(failed || exit_code_of(status) == 0) << exit_code_of(status) << ", write " << at;
      expect_whole(at);
      expect_levels(at);
      ASSERT_TRUE(damaged_databases(folder_->path()).empty()) << "write " << at;
    }
    EXPECT_LT(count("frames"), static_cast<int64_t>(kCompactFramesMin));
  }
}

INSTANTIATE_TEST_SUITE_P(Segments, CompactionCutTest, ::testing::Values("as_they_are", "small_segments"),
                         [](const auto& test) { return std::string(test.param); });

// Else the small segments above would prove no more than the others.
TEST_F(CompactionTest, SmallSegmentsAreMerged) {
  set_compaction_frames_for_testing(kSmallFrames);
  copy_log();
  auto db = WriterDb::open_or_create(folder_->path(), identity_);
  bool merged = false;
  for (int64_t before = 0, now = 0; (*db)->compact(UINT64_MAX); before = now) {
    now = count("segments");
    merged = merged || now < before;
  }
  EXPECT_TRUE(merged);
}

TEST_F(CompactionTest, AStepThatFailedDoesNotKeepFramesFromBeingStored) {
  copy_log();
  const int status = run_child([&] {
    set_faulty_folder(folder_->path());
    auto db = WriterDb::open_or_create(folder_->path(), identity_);
    CHILD_CHECK((*db)->compaction_due(UINT64_MAX));
    faulty_disk().write_errno = ENOSPC;
    CHILD_CHECK(!(*db)->compact(UINT64_MAX));
    CHILD_CHECK(!(*db)->compaction_due(UINT64_MAX));  // not again and again while the disk is full
    faulty_disk().write_errno = 0;
    for (uint64_t seq = kFrames + 1; seq <= kFrames + 5; ++seq)
      CHILD_CHECK((*db)->append({record_of(noisy_frame(identity_, seq, kRows))}, true).ok());
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_EQ(stored_frames(path()), one_to(kFrames + 5));
}

TEST_F(CompactionTest, TheFileShrinksByWhatSegmentsSave) {
  copy_log();
  auto db = WriterDb::open_or_create(folder_->path(), identity_);
  ASSERT_TRUE(db.ok());
  const auto before = std::filesystem::file_size(path());
  std::vector<FrameRecord> records;
  for (uint64_t seq = kFrames + 1; seq <= kFrames + 300; ++seq)
    records.push_back(record_of(test_frame(identity_, seq, 4, 500)));
  ASSERT_TRUE((*db)->append(records, true).ok());
  ASSERT_TRUE((*db)->finish().ok());
  if (kSlowDown == 1) {  // finish() has only so much time for it
    EXPECT_LT(std::filesystem::file_size(path()), before + 500'000) << "300 frames of 16 kB each";
  }
  EXPECT_EQ(stored_frames(path()), one_to(kFrames + 300));
}

uint64_t rss_peak() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Frames as the drain makes them at its limits: one series a row, the most memory a point; and 20 series a row.
TEST_F(CompactionTest, ItTakesAFewMebibytesWhateverWaits) {
  NEEDS(kNoSanitizer);
  for (const size_t series : {size_t{1}, size_t{20}}) {
    TempFolder folder;
    const int status = run_child([&] {
      auto db = WriterDb::create(folder.path(), identity_);
      for (uint64_t seq = 1; seq <= 60; ++seq)
        CHILD_CHECK(
            (*db)->append({record_of(noisy_frame(identity_, seq, series == 1 ? 65'536 : 20'000, series))}, false).ok());
      const uint64_t before = rss_peak();
      CHILD_CHECK(compact(db->get()));
      const uint64_t more = rss_peak() - before;
      std::fprintf(stderr, "%zu series: %.1f MiB beyond what appending took\n", series,
                   static_cast<double>(more) / (1 << 20));
      return more < (24u << 20) ? 0 : 1;
    });
    EXPECT_EQ(exit_code_of(status), 0);
  }
}

}  // namespace
}  // namespace tracker::internal
