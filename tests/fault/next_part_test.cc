// SPDX-License-Identifier: MIT
// A run whose file is changed by another program, or whose disk fails an fsync, continues in the next part of its
// files: what comes is stored, what is missing is counted as lost, and no number of a frame is given twice. Method: a
// file is changed between two flushes, or after a kill and before the recovery, by way of each kind of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "query/tail/tail.h"
#include "storage/database/writer_db.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/frames_file.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/faulty_disk.h"
#include "support/said.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBefore = 1000, kAfter = 500;
constexpr int64_t kFlushMs = 20'000;

void log_steps(trk_run* run, int64_t from, int64_t to) {
  for (int64_t step = from; step < to; ++step)
    ASSERT_EQ(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step), TRK_OK);
}

// The file of part 1 in the only run of the store.
std::string part_one(const std::string& store) {
  for (const auto& entry : fs::recursive_directory_iterator(store))
    if (part_number(entry.path().filename().string()) == 1) return entry.path();
  return "";
}

void write_in_place(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary) << bytes;
}

struct Change {
  const char* name;
  std::function<void(const std::string& path)> body;
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

const Change kChanges[] = {
    {"ReplacedByACopy",
     [](const std::string& path) {
       fs::copy_file(path, path + ".copy");
       fs::rename(path + ".copy", path);
     }},
    {"ReplacedByOtherBytes",
     [](const std::string& path) {
       std::ofstream(path + ".other") << std::string(100'000, 'n');
       fs::rename(path + ".other", path);
     }},
    {"Cut", [](const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); }},
    {"Unlinked", [](const std::string& path) { fs::remove(path); }},
};

class NextPartTest : public ::testing::TestWithParam<std::tuple<Change, const char*>> {
 protected:
  void SetUp() override { ::setenv("TRACKER_STORE_FILES", std::get<1>(GetParam()), 1); }
  void TearDown() override { ::unsetenv("TRACKER_STORE_FILES"); }

  Sandbox sandbox_;
};

// Every point is stored or counted, each step from `first` on is there once.
void expect_accounted(ReadRun* read, int64_t first, int64_t last) {
  ASSERT_NE(read->view, nullptr);
  const History rows = rows_of(*read, "x");
  std::set<int64_t> steps(rows.steps.begin(), rows.steps.end());
  EXPECT_EQ(steps.size(), rows.size()) << "a step is there twice";
  for (int64_t step = first; step < last; ++step) ASSERT_TRUE(steps.contains(step)) << step;
  const LossAccount account = read->view->losses();
  EXPECT_EQ(account.logged, static_cast<uint64_t>(last));
  EXPECT_EQ(account.stored, rows.size());
  EXPECT_EQ(account.logged, account.stored + account.dropped);
}

std::vector<uint64_t> numbers_in(const std::string& store) {
  std::vector<uint64_t> out;
  auto reader = WriterReader::open(Store::open(store)->list_runs().at(0).writer_dbs().at(0));
  if (!reader.ok()) return out;
  SeqVisitor visitor([&out](uint64_t number) {
    out.push_back(number);
    return true;
  });
  LogPosition at;
  EXPECT_TRUE((*reader)->read(&at, (*reader)->snapshot()->end_of_log(), &visitor).ok());
  return out;
}

// Promise P1: A run whose file is removed, replaced, cut or restored continues in the next part; every point is stored
// or counted.
TEST_P(NextPartTest, AChangedFileIsLeftAndTheRunContinuesInTheNextPart) {
  const pid_t child = start_child([&] {
    redirect_stderr(sandbox_.shm() + "/stderr");
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    std::get<0>(GetParam()).body(part_one(sandbox_.store()));
    log_steps(run, kBefore, kBefore + kAfter);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    const trk_status status = status_of(run);
    CHILD_CHECK(status.points_logged == status.points_stored + status.points_dropped);
    CHILD_CHECK(status.store_parts == 2 && status.degraded == 0);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  EXPECT_THAT(lines_of(sandbox_.shm() + "/stderr"),
              ::testing::Contains(::testing::HasSubstr("the run continues in part 2 of this writer's files")).Times(1));
  ReadRun read = recover_and_read(sandbox_.store());
  expect_accounted(&read, kBefore, kBefore + kAfter);
  EXPECT_EQ(read.view->state(), RunState::kFinished);
  EXPECT_THAT(read.problems, ::testing::SizeIs(::testing::Le(2)));
  const std::vector<uint64_t> numbers = numbers_in(sandbox_.store());
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>())) << "a number is there twice";
}

TEST_P(NextPartTest, KilledAfterwardsEveryPointIsStoredOrCounted) {
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    std::get<0>(GetParam()).body(part_one(sandbox_.store()));
    log_steps(run, kBefore, kBefore + 1);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    log_steps(run, kBefore + 1, kBefore + kAfter);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  wait_child(child);
  ReadRun read = recover_and_read(sandbox_.store());
  expect_accounted(&read, kBefore, kBefore + kAfter);
  EXPECT_EQ(read.view->state(), RunState::kCrashed);
  EXPECT_THAT(sandbox_.journal_folders(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Of, NextPartTest,
                         ::testing::Combine(::testing::ValuesIn(kChanges), ::testing::Values("sqlite", "frames")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param);
                         });

class NextPartOfTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ::setenv("TRACKER_STORE_FILES", GetParam(), 1); }
  void TearDown() override { ::unsetenv("TRACKER_STORE_FILES"); }

  Sandbox sandbox_;
};

// Promise P3: Frames that a failed fsync may have lost are stored again under their numbers, and count once.
TEST_P(NextPartOfTest, FramesThatAFailedFsyncMayHaveLostAreStoredAgainAndCountOnce) {
  const pid_t child = start_child([&] {
    set_faulty_folder(sandbox_.folder());
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    log_steps(run, kBefore, kBefore + 1);
    sleep_ms(250);  // committed, and not yet fsynced
    log_steps(run, kBefore + 1, kBefore + 2);
    faulty_disk().fsync_errno = EIO;
    (void)trk_flush(run, 300);
    log_steps(run, kBefore + 2, kBefore + kAfter);
    faulty_disk().fsync_errno = 0;
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    CHILD_CHECK(status_of(run).store_parts >= 2);
    CHILD_CHECK(status_of(run).points_stored == kBefore + kAfter);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  ReadRun read = recover_and_read(sandbox_.store());
  EXPECT_THAT(read.problems, ::testing::IsEmpty());
  expect_accounted(&read, 0, kBefore + kAfter);
  EXPECT_EQ(read.view->losses().dropped, 0u);
}

TEST_P(NextPartOfTest, AFileRestoredToAnEarlierStateIsLeftAndWhatWentIsCounted) {
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore / 2);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    const std::string path = part_one(sandbox_.store());
    std::vector<std::pair<std::string, std::string>> kept;
    for (const char* suffix : {"", "-wal"})
      if (fs::exists(path + suffix)) kept.emplace_back(path + suffix, *read_file(path + suffix, 64 << 20));
    log_steps(run, kBefore / 2, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    for (const auto& [file, bytes] : kept) write_in_place(file, bytes);
    log_steps(run, kBefore, kBefore + kAfter);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  ReadRun read = recover_and_read(sandbox_.store());
  expect_accounted(&read, kBefore, kBefore + kAfter);
}

// Promise P5: A file that cannot be read at recovery stays as it is; the next part takes the waiting rows, and the lost
// ones are counted.
TEST_P(NextPartOfTest, AFileThatCannotBeReadAtRecoveryIsLeftAsItIsAndWhatItHeldIsCounted) {
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    log_steps(run, kBefore, kBefore + kAfter);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  wait_child(child);
  const std::string path = part_one(sandbox_.store()), other(100'000, 'n');
  fs::remove(path + "-wal");
  write_in_place(path, other);
  ReadRun read = recover_and_read(sandbox_.store());
  EXPECT_THAT(sandbox_.journal_folders(), ::testing::IsEmpty());
  EXPECT_EQ(*read_file(path, 1 << 20), other);
  ASSERT_NE(read.view, nullptr);
  const LossAccount account = read.view->losses();
  EXPECT_EQ(account.logged, static_cast<uint64_t>(kBefore + kAfter));
  EXPECT_EQ(account.logged, account.stored + account.dropped);
  EXPECT_EQ(account.stored, rows_of(read, "x").size());
}

INSTANTIATE_TEST_SUITE_P(Of, NextPartOfTest, ::testing::Values("sqlite", "frames"),
                         [](const auto& test) { return std::string(test.param); });

// The rows of x that came since the last call, as `tracker tail` reads them.
class Tail {
 public:
  explicit Tail(std::string store) : store_(std::move(store)) {}
  void take() {
    const auto folders = Store::open(store_)->list_runs();
    ASSERT_EQ(folders.size(), 1u);
    if (view_ == nullptr) {
      auto view = RunView::open(folders[0]);
      ASSERT_TRUE(view.ok()) << view.status().to_string();
      view_ = std::move(*view);
      cursor_ = tail_begin(*view_, kQuery);
    }
    ASSERT_TRUE(view_->refresh().ok());
    for (bool more = true; more;) {
      auto batch = read_tail(view_.get(), kQuery, &cursor_);
      ASSERT_TRUE(batch.ok()) << batch.status().to_string();
      more = batch->more;
      for (const TailedMetric& metric : batch->metrics)
        for (const int64_t step : metric.rows.steps) ++seen_[step];
    }
  }
  // Rows before step `from` may have come again.
  void expect_each_once(const std::vector<int64_t>& steps, int64_t from = 0) const {
    std::vector<int64_t> missed, twice;
    for (const int64_t step : steps)
      if (!seen_.contains(step)) missed.push_back(step);
    for (const auto& [step, times] : seen_)
      if (times != 1 && step >= from) twice.push_back(step);
    EXPECT_THAT(missed, ::testing::IsEmpty());
    EXPECT_THAT(twice, ::testing::IsEmpty());
  }

 private:
  const TailQuery kQuery{{"x"}, 64};  // fewer than a segment has
  const std::string store_;
  std::unique_ptr<RunView> view_;
  TailCursor cursor_;
  std::map<int64_t, int> seen_;  // how often, by step
};

// How a part of a live run is changed, by another process and by the run itself.
struct TailedChange {
  const char* name;
  std::function<void(const std::string& path)> outside = [](const std::string&) {};
  std::function<void()> inside = [] {};
  bool has_wal = false;  // only a database can be changed so
};
void PrintTo(const TailedChange& change, std::ostream* out) { *out << change.name; }

std::unique_ptr<Sqlite> g_parked;  // a reader that stays in a transaction

void park(const std::string& path) {
  auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
  ASSERT_TRUE(db.ok());
  g_parked = std::make_unique<Sqlite>(std::move(*db));
  ASSERT_TRUE(g_parked->exec("BEGIN; SELECT count(*) FROM frames").ok());
}

// As a process does that considers the writer dead.
void append_foreign_frame(const std::string& path) {
  auto reader = WriterReader::open(path);
  ASSERT_TRUE(reader.ok());
  const WriterIdentity identity = (*reader)->identity();
  const Value note = Value::Map{{"kind", "foreign"}};
  const FrameRecord frame =
      record_of(event_frame(identity, (*reader)->snapshot()->last_seq + 1, EventType::kNote, note));
  const std::string folder = parent_path(path);
  if (path.ends_with(".frames")) {
    ASSERT_TRUE((*FramesFile::open_or_create(folder, identity))->append({frame}, true).ok());
  } else {
    ASSERT_TRUE((*WriterDb::open_or_create(folder, identity))->append({frame}, true).ok());
  }
}

void fail_fsyncs() {
  faulty_disk().fsync_errno = EIO;
  faulty_disk().wal_sync_errno = EIO;
}

const TailedChange kTailedChanges[] = {
    {"ReplacedByACopy", kChanges[0].body},
    {"ReplacedByOtherBytes", kChanges[1].body},
    {"Cut", kChanges[2].body},
    {"Unlinked", kChanges[3].body},
    {"WalUnlinked", [](const std::string& path) { fs::remove(path + "-wal"); }, [] {}, true},
    {"Pinned", park, [] {}, true},
    {"ForeignFrames", append_foreign_frame},
    {"FailedFsync", [](const std::string&) {}, fail_fsyncs},
};

class TailedPartTest : public ::testing::TestWithParam<std::tuple<TailedChange, const char*>> {
 protected:
  static constexpr uint64_t kSmallLimit = 128u << 10;
  enum Stage { kLogs, kStored, kChanged, kNearEnd };

  void SetUp() override {
    ::setenv("TRACKER_STORE_FILES", std::get<1>(GetParam()), 1);
    set_wal_bytes_max_for_testing(kSmallLimit);
  }
  void TearDown() override {
    ::unsetenv("TRACKER_STORE_FILES");
    set_wal_bytes_max_for_testing(kWalBytesMax);
    g_parked.reset();
  }

  Sandbox sandbox_;
};

// Bug: the place of a reader counted the points of the parts that can be read alone, so that a reader skipped as many
// rows of the next part as were in the part that went.
TEST_P(TailedPartTest, AReaderSeesEachRowOnce) {
  const TailedChange& change = std::get<0>(GetParam());
  if (change.has_wal && std::get<1>(GetParam()) != std::string_view("sqlite")) return;
  Shared<std::atomic<int>> stage;
  const pid_t child = start_child([&] {
    set_faulty_folder(sandbox_.folder());
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    *stage = kStored;
    while (*stage == kStored) sleep_ms(1);
    log_steps(run, kBefore, kBefore + 1);
    sleep_ms(250);  // committed, and not yet fsynced
    change.inside();
    for (int64_t step = kBefore + 1; step < kBefore + kAfter; step += 10) {
      if (step > kBefore + kAfter / 2) *stage = kNearEnd;
      log_steps(run, step, std::min(step + 10, kBefore + kAfter));
      (void)trk_flush(run, faulty_disk().fsync_errno != 0 ? 300 : kFlushMs);
      faulty_disk().fsync_errno = faulty_disk().wal_sync_errno = 0;
    }
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    CHILD_CHECK(status_of(run).store_parts >= 2);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  while (*stage == kLogs) sleep_ms(1);
  Tail tail(sandbox_.store());
  tail.take();
  change.outside(part_one(sandbox_.store()));
  *stage = kChanged;
  while (*stage == kChanged) tail.take();
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  tail.take();
  ReadRun read = recover_and_read(sandbox_.store());
  tail.take();
  const History rows = rows_of(read, "x");
  EXPECT_GE(rows.size(), static_cast<size_t>(kAfter) - 1);
  tail.expect_each_once(rows.steps);
}

INSTANTIATE_TEST_SUITE_P(Of, TailedPartTest,
                         ::testing::Combine(::testing::ValuesIn(kTailedChanges), ::testing::Values("sqlite", "frames")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param);
                         });

// The reader may have seen what recovery stores in the next part: the content of the part is unknown.
TEST_P(NextPartOfTest, AReaderOfAPartThatRecoveryCannotReadSeesAllRowsOfTheNextOne) {
  constexpr int64_t kManyBefore = 200 * kBefore;  // more than rings hold
  Shared<std::atomic<int>> stage;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r");
    for (int64_t step = 0; step < kManyBefore; step += kBefore) {
      log_steps(run, step, step + kBefore);
      CHILD_CHECK(step % (20 * kBefore) != 0 || trk_flush(run, kFlushMs) == TRK_OK);
    }
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    *stage = 1;
    while (*stage == 1) sleep_ms(1);
    for (int64_t step = kManyBefore; step < kManyBefore + 20 * kAfter; ++step)  // in columns that stay large
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED,
                              static_cast<int64_t>(static_cast<uint64_t>(step) * 0x9E3779B97F4A7C15), step) == TRK_OK);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  while (*stage == 0) sleep_ms(1);
  Tail tail(sandbox_.store());
  tail.take();
  *stage = 2;
  wait_child(child);
  const std::string path = part_one(sandbox_.store());
  fs::remove(path + "-wal");
  write_in_place(path, std::string(100'000, 'n'));
  ReadRun read = recover_and_read(sandbox_.store());
  ASSERT_NE(read.view, nullptr);
  tail.take();
  const History rows = rows_of(read, "x");
  ASSERT_GT(rows.size(), 0u);
  EXPECT_GT(rows.steps.front(), 0);
  tail.expect_each_once(rows.steps, kManyBefore);
}

// Bug: of two failed fsyncs in a row the second one's part forgot what the first one's had to store again.
TEST(NextPartOfADatabaseTest, OfSeveralFailedFsyncsInARowNothingIsLostAndPartsAreFew) {
  Sandbox sandbox;
  const pid_t child = start_child([&] {
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    log_steps(run, kBefore, kBefore + 1);
    sleep_ms(250);  // committed, and not yet fsynced
    faulty_disk().wal_sync_errno = EIO;
    for (int64_t step = kBefore + 1; step < kBefore + kAfter; ++step) {
      log_steps(run, step, step + 1);
      if (step % 10 == 0) sleep_ms(50);
    }
    (void)trk_flush(run, 500);
    CHILD_CHECK(status_of(run).degraded == 1);
    CHILD_CHECK((status_of(run).survives & TRK_SURVIVES_POWER) == 0);
    faulty_disk().wal_sync_errno = 0;
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    const trk_status status = status_of(run);
    CHILD_CHECK(status.store_parts >= 3 && status.store_parts < 12);
    CHILD_CHECK(status.points_stored == kBefore + kAfter);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  ReadRun read = recover_and_read(sandbox.store());
  EXPECT_THAT(read.problems, ::testing::IsEmpty());
  expect_accounted(&read, 0, kBefore + kAfter);
  EXPECT_EQ(read.view->losses().dropped, 0u);
}

TEST(NextPartOfADatabaseTest, TheWalOfThePartThatIsLeftIsFsynced) {
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([&] {
              set_faulty_folder(sandbox.folder());
              trk_run* run = open_run("r");
              log_steps(run, 0, kBefore);
              CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
              const std::string path = part_one(sandbox.store());
              fs::copy_file(path, path + ".copy");
              fs::rename(path + ".copy", path);
              log_steps(run, kBefore, kBefore + kAfter);
              CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
              CHILD_CHECK(faulty_disk().wal_fsyncs == 1);
              CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
              return 0;
            })),
            0);
}

TEST(NextPartOfADatabaseTest, AWalThatGoesIsNoticedBeforeTheNextCommit) {
  Sandbox sandbox;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    fs::remove(part_one(sandbox.store()) + "-wal");
    log_steps(run, kBefore, kBefore + kAfter);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    CHILD_CHECK(status_of(run).store_parts == 2);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  ReadRun read = recover_and_read(sandbox.store());
  expect_accounted(&read, kBefore, kBefore + kAfter);
}

// SQLite drops the commits after the damage, and with the next checkpoint their bytes.
TEST(NextPartOfADatabaseTest, ADatabaseWhoseWalIsDamagedIsLeftAsItIsByRecovery) {
  Sandbox sandbox;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r");
    for (int64_t at = 0; at < kBefore; at += 100) {
      log_steps(run, at, at + 100);
      CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    }
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  wait_child(child);
  const std::string wal = part_one(sandbox.store()) + "-wal";
  std::string bytes = *read_file(wal, 64 << 20);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_in_place(wal, bytes);
  ReadRun read = recover_and_read(sandbox.store());
  EXPECT_THAT(read.problems, ::testing::Contains(::testing::HasSubstr("-wal is damaged")));
  EXPECT_EQ(*read_file(wal, 64 << 20), bytes);
  expect_accounted(&read, 0, kBefore);  // the rings still hold what SQLite drops
  EXPECT_EQ(read.view->writers().at(0).parts, 2);
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

TEST(NextPartOfADatabaseTest, ADatabaseOfANewerVersionIsLeftToANewerTracker) {
  Sandbox sandbox;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r");
    log_steps(run, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  wait_child(child);
  const std::string path = part_one(sandbox.store());
  ASSERT_TRUE(Sqlite::open(path, SqliteOpen::kWrite, 1000)->exec("PRAGMA user_version=99").ok());
  const auto report = recover_dead_writers(*Store::open(sandbox.store()));
  EXPECT_EQ(report.worst, Code::kVersion);
  EXPECT_EQ(parts_of(path).size(), 1u);
  EXPECT_THAT(sandbox.journal_folders(), ::testing::SizeIs(1));
}

}  // namespace
}  // namespace tracker::internal
