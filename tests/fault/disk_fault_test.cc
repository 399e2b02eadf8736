// SPDX-License-Identifier: MIT
// F16, F18. A disk that is full, over its quota, broken, read-only or slow, at init, in the middle and at the end: log
// calls stay short, what was accepted is stored when the disk is back, without a restart, and counts equal what is
// read, also by a second process while it lasts. Method: libc's calls are taken over (support/faulty_disk.h), for the
// database and for .frames files, and more is logged than the journal holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "journal/ring/place.h"
#include "pipeline/writer.h"
#include "run/run.h"
#include "storage/frames/frames_file.h"
#include "support/account_reader.h"
#include "support/child.h"
#include "support/faulty_disk.h"
#include "support/integrity.h"
#include "support/said.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

struct Fault {
  const char* name;
  int write_errno;
  int fsync_errno;
  int short_writes;
};

constexpr Fault kFaults[] = {{"Enospc", ENOSPC, 0, 0},    {"Edquot", EDQUOT, 0, 0},      {"Eio", EIO, EIO, 0},
                             {"Erofs", EROFS, EROFS, 0},  {"Estale", ESTALE, ESTALE, 0}, {"FsyncEio", 0, EIO, 0},
                             {"ShortWrite", ENOSPC, 0, 1}};

void begin(const Fault& fault) {
  faulty_disk().short_writes = fault.short_writes;
  faulty_disk().write_errno = fault.write_errno;
  faulty_disk().fsync_errno = fault.fsync_errno;
}

void heal() {
  faulty_disk().write_errno = 0;
  faulty_disk().fsync_errno = 0;
  faulty_disk().fsync_ms = 0;
}

constexpr uint64_t kDropsMin = 20;

struct Tally {
  std::atomic<uint64_t> accepted, dropped;
  std::atomic<int64_t> longest_ns, finish_ns;
};

// Of a step; nothing that columns make small, so that a journal is full soon.
int64_t value_of(int64_t step) {
  auto bits = static_cast<uint64_t>(step) + 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return static_cast<int64_t>(bits ^ bits >> 31);
}

// Logs the next step of x. Dropped steps are in the run's account.
void log_next(trk_run* run, Tally* tally) {
  const auto step = static_cast<int64_t>(tally->accepted.load() + tally->dropped.load());
  const trk_code code = trk_log_i64(run, "x", TRK_NUL_TERMINATED, value_of(step), step);
  CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT);
  (code == TRK_OK ? tally->accepted : tally->dropped).fetch_add(1);
}

// Logs at full speed until the journal has been full for many calls: losses are counted then, not only zeros.
void log_until_dropped(trk_run* run, Tally* tally) {
  const uint64_t enough = tally->dropped + kDropsMin;
  const int64_t deadline = now_ns() + 60'000'000'000;
  while (tally->dropped < enough && now_ns() < deadline) log_next(run, tally);
  CHILD_CHECK(tally->dropped >= enough);
}

// Logs for so long; a nap each 20 steps.
void log_for(trk_run* run, int ms, Tally* tally) {
  const int64_t deadline = now_ns() + int64_t{ms} * 1'000'000;
  for (uint64_t calls = 1; now_ns() < deadline; ++calls) {
    const int64_t before = now_ns();
    log_next(run, tally);
    tally->longest_ns = std::max(tally->longest_ns.load(), now_ns() - before);
    if (calls % 20 == 0) ::usleep(1000);
  }
}

bool wait_degraded(trk_run* run, int32_t degraded) {
  const int64_t deadline = now_ns() + 20'000'000'000;
  while (status_of(run).degraded != degraded && now_ns() < deadline) sleep_ms(5);
  return status_of(run).degraded == degraded;
}

void expect_all(const Sandbox& sandbox, const Tally& tally, std::optional<RunState> state) {
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr) << ::testing::PrintToString(run.problems);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  const History rows = rows_of(run, "x");
  EXPECT_EQ(rows.size(), tally.accepted.load());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.bits[i], static_cast<uint64_t>(value_of(rows.steps[i])));
  EXPECT_TRUE(std::is_sorted(rows.steps.begin(), rows.steps.end(), std::less_equal<>())) << "no row twice";
  EXPECT_EQ(run.view->losses().dropped, tally.dropped.load());
  if (state) {
    EXPECT_EQ(run.view->state(), *state) << run_state_name(run.view->state());
  }
  EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
}

class DiskFaultTest : public ::testing::TestWithParam<std::tuple<const char*, Fault>> {
 protected:
  const char* files() const { return std::get<0>(GetParam()); }
  const Fault& fault() const { return std::get<1>(GetParam()); }
  void enter(const Sandbox& sandbox) const {
    ::setenv("TRACKER_STORE_FILES", files(), 1);
    redirect_stderr(sandbox.shm() + "/stderr");
    set_faulty_folder(sandbox.folder());
  }
  Shared<Tally> tally_;
};

// Promise P4: Nothing raises because of the disk or a bad value inside a log call.
TEST_P(DiskFaultTest, InTheMiddleOfARunItCostsOneLineAndWhatTheJournalHasNoRoomFor) {
  Sandbox sandbox;
  const int status = run_child([&] {
    enter(sandbox);
    AccountReader reader(sandbox.store());
    trk_run* run = open_run("r");
    log_for(run, 100, &*tally_);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    CHILD_CHECK(std::string(status_of(run).store_files) == files());
    begin(fault());
    log_for(run, 700, &*tally_);
    CHILD_CHECK(wait_degraded(run, 1) && faulty_disk().faults > 0);
    log_until_dropped(run, &*tally_);
    const trk_status bad = status_of(run);
    CHILD_CHECK(bad.points_stored + bad.points_pending == tally_->accepted && bad.points_dropped == tally_->dropped);
    CHILD_CHECK(reader.agrees_with(bad));
    CHILD_CHECK((bad.survives & TRK_SURVIVES_PROCESS) != 0 && (bad.survives & TRK_SURVIVES_POWER) == 0);
    CHILD_CHECK(trk_flush(run, 200) == TRK_TIMEOUT);
    heal();
    CHILD_CHECK(trk_flush(run, 30'000) == TRK_OK && wait_degraded(run, 0));
    log_for(run, 100, &*tally_);
    CHILD_CHECK(trk_flush(run, 30'000) == TRK_OK && status_of(run).points_stored == tally_->accepted);
    (void)trk_finish(run, 0, nullptr);  // of two million points a busy machine does not compact all within its bound
    CHILD_CHECK(reader.agrees_with(status_of(run)));
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
  const std::vector<std::string> said = lines_of(sandbox.shm() + "/stderr");
  // A failed fsync ends the part, too.
  EXPECT_EQ(said.size(), fault().write_errno == 0 ? 4u : 3u)
      << "each is said once: the fault, that points are dropped, that it is over\n"
      << ::testing::PrintToString(said);
  EXPECT_LT(tally_->longest_ns.load(), int64_t{500'000'000} * kSlowDown);
  expect_all(sandbox, *tally_, RunState::kFinished);
}

TEST_P(DiskFaultTest, AtInitTheRunBeginsInMemoryAndIsStoredWhenTheDiskIsBack) {
  Sandbox sandbox;
  const int status = run_child([&] {
    enter(sandbox);
    begin(fault());
    trk_run* run = open_run("r");
    CHILD_CHECK(run != nullptr);
    log_for(run, 300, &*tally_);
    CHILD_CHECK(wait_degraded(run, 1) && status_of(run).points_stored == 0);
    heal();
    CHILD_CHECK(trk_flush(run, 30'000) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
  expect_all(sandbox, *tally_, RunState::kFinished);
}

TEST_P(DiskFaultTest, AtFinishTheRunEndsInTimeAndTheNextProcessStoresIt) {
  Sandbox sandbox;
  const int status = run_child([&] {
    enter(sandbox);
    trk_run* run = open_run("r");
    log_for(run, 100, &*tally_);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    begin(fault());
    log_for(run, 100, &*tally_);
    const int64_t before = now_ns();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_TIMEOUT);
    tally_->finish_ns = now_ns() - before;
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
  EXPECT_LT(tally_->finish_ns.load(), 10'000'000'000 * kSlowDown);
  expect_all(sandbox, *tally_, RunState::kFinished);
}

INSTANTIATE_TEST_SUITE_P(Disks, DiskFaultTest,
                         ::testing::Combine(::testing::Values("sqlite", "frames"), ::testing::ValuesIn(kFaults)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + std::get<1>(test.param).name;
                         });

class FullJournalTest : public ::testing::TestWithParam<const char*> {};

// Regression: the end itself found no room in a full journal, and such a run was called crashed.
// Promise P1: The end of a run is stored by recovery, with exit code and reason, whatever was full or stuck.
TEST_P(FullJournalTest, AtFinishItIsStoredByTheNextProcessWithTheCountOfWhatWasDropped) {
  Sandbox sandbox;
  Shared<Tally> tally;
  const int status = run_child([&] {
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    redirect_stderr(sandbox.shm() + "/stderr");
    set_faulty_folder(sandbox.folder());
    AccountReader reader(sandbox.store());
    trk_run* run = open_run("r");
    log_for(run, 100, &*tally);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    begin(kFaults[0]);
    log_until_dropped(run, &*tally);
    CHILD_CHECK(reader.agrees_with(status_of(run)));
    const int64_t before = now_ns();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_TIMEOUT);
    tally->finish_ns = now_ns() - before;
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
  EXPECT_LT(tally->finish_ns.load(), 10'000'000'000 * kSlowDown);
  expect_all(sandbox, *tally, RunState::kFinished);
}

// Letters that no compression makes smaller than six bits each.
std::string dense_text(size_t size, int64_t seed) {
  std::string text(size, ' ');
  for (size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>('0' + (value_of(seed * 1'000'003 + static_cast<int64_t>(i)) & 63));
  }
  return text;
}

// Its exit code and the reason too, of which the first 4 KiB are kept. Texts too large for a ring waited in memory,
// more of them than a spill file has room for, be it empty.
TEST_P(FullJournalTest, ARunThatFailedSaysWhyAndWhatWasInMemoryAloneIsCounted) {
  Sandbox sandbox;
  Shared<Tally> tally;
  const std::string reason = "ValueError: " + std::string(kEndReasonBytesMax, 'x');
  constexpr int kTexts = 28;
  static_assert(kTexts * 1'000'000 / 8 * 6 > kSpillBytesMax);
  const int status = run_child([&] {
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    redirect_stderr(sandbox.shm() + "/stderr");
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r");
    const std::string text = dense_text(1'000'000, 0);
    CHILD_CHECK(trk_log_text(run, "note", text.data(), text.size(), 0) == TRK_OK);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    begin(kFaults[0]);
    log_until_dropped(run, &*tally);
    for (int i = 1; i <= kTexts; ++i) {
      const std::string dense = dense_text(text.size(), i);
      const trk_code code = trk_log_text(run, "note", dense.data(), dense.size(), i);
      CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT);  // points and rings may have what is left: it is counted
    }
    CHILD_CHECK(trk_finish(run, 7, reason.c_str()) == TRK_TIMEOUT);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
  expect_all(sandbox, *tally, RunState::kFailed);
  const ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(run.view->state_detail(), "exit code 7: " + reason.substr(0, kEndReasonBytesMax) + " (and 12 bytes more)");
  const LossAccount account = run.view->losses();
  EXPECT_GE(account.texts.stored, 1u);
  EXPECT_GE(account.texts.dropped, 1u);
  EXPECT_EQ(account.texts.stored + account.texts.dropped, 1u + kTexts);
}

// Regression: the caller wrote the end into a journal on that disk, and waited as long as the disk did.
TEST(JournalOnADiskTest, WhereTheDiskStandsStillFinishWaitsNoLongerThanItsTime) {
  Sandbox sandbox;
  Shared<Tally> tally;
  const int status = run_child([&] {
    redirect_stderr(sandbox.shm() + "/stderr");
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r", nullptr, "disk");
    CHILD_CHECK(std::string(status_of(run).journal) == "disk");
    log_for(run, 100, &*tally);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    faulty_disk().write_ms = 12'000;
    const int64_t before = now_ns();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_TIMEOUT);
    tally->finish_ns = now_ns() - before;
    ::_exit(0);  // with the threads that are blocked in a write
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
  EXPECT_GT(tally->finish_ns.load(), 1'000'000'000);
  EXPECT_LT(tally->finish_ns.load(), 10'000'000'000 * kSlowDown);
}

INSTANTIATE_TEST_SUITE_P(Disks, FullJournalTest, ::testing::Values("sqlite", "frames"),
                         [](const auto& test) { return std::string(test.param); });

// After a failed fsync the kernel takes the pages for clean and may drop them.
TEST(FramesFsyncTest, AFailedFsyncEndsThePartAndItsLastFramesAreKeptForTheNextOne) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  set_faulty_folder(folder.path());
  auto file = FramesFile::open_or_create(folder.path(), identity);
  ASSERT_TRUE(file.ok() && (*file)->append({test_record(identity, 1)}, true).ok());
  ASSERT_TRUE((*file)->append({test_record(identity, 2)}, false).ok());
  faulty_disk().fsync_errno = EIO;
  EXPECT_EQ((*file)->append({}, true).code(), Code::kIo);
  heal();
  EXPECT_EQ((*file)->change(), PartChange::kSyncFailed);
  EXPECT_FALSE((*file)->append({test_record(identity, 3)}, true).ok()) << "it is not touched again";
  const auto kept = (*file)->not_durable();
  ASSERT_TRUE(kept.ok() && kept->size() == 1);
  EXPECT_EQ(kept->front().bytes, test_record(identity, 2).bytes);
}

class SlowDiskTest : public ::testing::TestWithParam<const char*> {};

// F18. Every fsync takes 5 s. A call that the scheduler delays is one of the longest, so only a wait for an fsync
// fails.
TEST_P(SlowDiskTest, CallsStayShortAndNothingIsLostWhileEachFsyncTakesFiveSeconds) {
  Sandbox sandbox;
  Shared<Tally> tally;
  const int status = run_child([&] {
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r");
    log_for(run, 4000, &*tally);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    faulty_disk().fsync_ms = 5000;
    faulty_disk().fsyncs = 0;
    tally->longest_ns = 0;
    log_for(run, 11'000, &*tally);
    CHILD_CHECK(faulty_disk().fsyncs >= 2 && status_of(run).degraded == 0);
    CHILD_CHECK(status_of(run).points_dropped == tally->dropped);
    CHILD_CHECK(status_of(run).points_logged == tally->accepted + tally->dropped);
    faulty_disk().fsync_ms = 0;
    CHILD_CHECK(trk_flush(run, 30'000) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_LT(tally->longest_ns.load(), 2'500'000'000) << "no call waits for an fsync";
  EXPECT_EQ(tally->dropped.load(), 0u) << "at 20,000 calls a second the spill file has room for minutes";
  expect_all(sandbox, *tally, RunState::kFinished);
}

TEST_P(SlowDiskTest, FinishKeepsItsBoundWhileEachFsyncTakesFiveSeconds) {
  Sandbox sandbox;
  Shared<Tally> tally;
  const int status = run_child([&] {
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    set_faulty_folder(sandbox.folder());
    faulty_disk().fsync_ms = 5000;
    trk_run* run = open_run("r");
    log_for(run, 500, &*tally);
    const int64_t before = now_ns();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_TIMEOUT);
    tally->finish_ns = now_ns() - before;
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_LT(tally->finish_ns.load(), 10'000'000'000 * kSlowDown);
  EXPECT_LT(tally->longest_ns.load(), 2'500'000'000) << "no call waits for an fsync";
  expect_all(sandbox, *tally, RunState::kFinished);
}

INSTANTIATE_TEST_SUITE_P(Disks, SlowDiskTest, ::testing::Values("sqlite", "frames"),
                         [](const auto& test) { return std::string(test.param); });

// P1: what a container's death and a power loss may cost. Medians: one late round on a busy machine does not show the
// rhythm.
constexpr int64_t kCommitEachMs = 100, kFsyncEachMs = 1000;
int64_t milliseconds(std::chrono::milliseconds time) { return time.count(); }

int64_t median_distance_ms(const std::vector<int64_t>& times_ns) {
  CHILD_CHECK(times_ns.size() >= 4);
  std::vector<int64_t> distances;
  for (size_t i = 1; i < times_ns.size(); ++i) distances.push_back((times_ns[i] - times_ns[i - 1]) / 1'000'000);
  std::nth_element(distances.begin(), distances.begin() + static_cast<int64_t>(distances.size() / 2), distances.end());
  return distances[distances.size() / 2];
}

// Promise P1: The death of the container costs at most 100 ms, a loss of power 1 s and one fsync: commits come each 100
// ms, and an fsync starts before its rows are 1 s old.
TEST(CommitRhythmTest, CommitsComeTenTimesASecondWithAnFsyncEachSecond) {
  Sandbox sandbox;
  const int status = run_child([&] {
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r");
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 0, 0) == TRK_OK && trk_flush(run, 20'000) == TRK_OK);
    std::vector<int64_t> commits, fsyncs;
    uint64_t stored = status_of(run).points_stored;
    int synced = faulty_disk().fsyncs.load();
    const int64_t deadline = now_ns() + 7'000'000'000LL;
    for (int64_t step = 1; now_ns() < deadline; ++step) {
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
      if (const uint64_t now = status_of(run).points_stored; std::exchange(stored, now) != now)
        commits.push_back(now_ns());
      // A commit may need several of them, one after the other.
      const int now = faulty_disk().fsyncs.load();
      if (std::exchange(synced, now) != now && (fsyncs.empty() || now_ns() - fsyncs.back() > 300'000'000))
        fsyncs.push_back(now_ns());
      sleep_ms(1);
    }
    const int64_t commit_ms = median_distance_ms(commits), fsync_ms = median_distance_ms(fsyncs);
    std::fprintf(stderr, "a commit each %lld ms, an fsync each %lld ms\n", static_cast<long long>(commit_ms),
                 static_cast<long long>(fsync_ms));
    CHILD_CHECK(commit_ms <= 5 * kCommitEachMs * kSlowDown);
    CHILD_CHECK(fsync_ms <= 5 * kFsyncEachMs * kSlowDown);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

// Nothing follows that would wake the thread that stores.
TEST(CommitRhythmTest, WhatIsLoggedLastBeforeAPauseIsSyncedWithinASecond) {
  Sandbox sandbox;
  const int status = run_child([&] {
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r");
    std::vector<int64_t> waited_ms;
    for (int64_t step = 0; step < 5; ++step) {
      CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);  // the next fsync is a second away
      const int synced = faulty_disk().fsyncs.load();
      const int64_t logged_ns = now_ns();
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
      while (faulty_disk().fsyncs.load() == synced) sleep_ms(1);
      waited_ms.push_back((now_ns() - logged_ns) / 1'000'000);
    }
    std::nth_element(waited_ms.begin(), waited_ms.begin() + 2, waited_ms.end());
    std::fprintf(stderr, "an fsync %lld ms after the last call\n", static_cast<long long>(waited_ms[2]));
    // What is ahead is counted from the drain before the call, so that it may be less by that.
    CHILD_CHECK(waited_ms[2] <= 5 * milliseconds(kSyncInterval) * kSlowDown);
    CHILD_CHECK(waited_ms[2] >= milliseconds(kSyncInterval - kSyncAheadAlone - 2 * kDrainInterval));
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

}  // namespace
}  // namespace tracker::internal
