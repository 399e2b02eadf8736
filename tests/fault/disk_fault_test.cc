// SPDX-License-Identifier: MIT
// F16, F18. A disk that is full, over its quota, broken, read-only or slow, at init, in the middle and at the end: log
// calls stay short, what was accepted is stored when the disk is back, without a restart, and counts equal what is
// read. Method: libc's calls are taken over (support/faulty_disk.h), for the database and for .frames files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "storage/frames_file.h"
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

struct Tally {
  std::atomic<uint64_t> accepted, dropped;
  std::atomic<int64_t> longest_ns, p99_ns, p999_ns, init_ns, finish_ns;
  std::atomic<int64_t> good_p99_ns, good_p999_ns;  // with a disk that answers
};

// Logs x = 7 * step for so long; a nap each 20 steps. Steps that were dropped stand in the run's account.
void log_for(trk_run* run, int ms, Tally* tally) {
  std::vector<int64_t> times;
  times.reserve(1 << 20);
  const int64_t deadline = now_ns() + int64_t{ms} * 1'000'000;
  while (now_ns() < deadline) {
    const auto step = static_cast<int64_t>(tally->accepted.load() + tally->dropped.load());
    const int64_t before = now_ns();
    const trk_code code = trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 7, step);
    times.push_back(now_ns() - before);
    CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT);
    (code == TRK_OK ? tally->accepted : tally->dropped).fetch_add(1);
    if (step % 20 == 19) ::usleep(1000);
  }
  std::sort(times.begin(), times.end());
  tally->longest_ns = std::max(tally->longest_ns.load(), times.back());
  tally->p99_ns = times[times.size() - 1 - times.size() / 100];
  tally->p999_ns = times[times.size() - 1 - times.size() / 1000];
}

bool wait_degraded(trk_run* run, int32_t degraded) {
  const int64_t deadline = now_ns() + 20'000'000'000;
  while (status_of(run).degraded != degraded && now_ns() < deadline) sleep_ms(5);
  return status_of(run).degraded == degraded;
}

void expect_all(const Sandbox& sandbox, const Tally& tally, RunState state) {
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr) << ::testing::PrintToString(run.problems);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  const History rows = rows_of(run, "x");
  EXPECT_EQ(rows.size(), tally.accepted.load());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.bits[i], static_cast<uint64_t>(rows.steps[i]) * 7);
  EXPECT_TRUE(std::is_sorted(rows.steps.begin(), rows.steps.end(), std::less_equal<>())) << "no row twice";
  EXPECT_EQ(run.view->losses().dropped, tally.dropped.load());
  EXPECT_EQ(run.view->state(), state) << run_state_name(run.view->state());
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

TEST_P(DiskFaultTest, InTheMiddleOfARunItCostsOneLineAndNothingElse) {
  Sandbox sandbox;
  const int status = run_child([&] {
    enter(sandbox);
    trk_run* run = open_run("r");
    log_for(run, 100, &*tally_);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    CHILD_CHECK(std::string(status_of(run).store_files) == files());
    begin(fault());
    log_for(run, 700, &*tally_);
    CHILD_CHECK(wait_degraded(run, 1) && faulty_disk().faults > 0);
    const trk_status bad = status_of(run);
    CHILD_CHECK(bad.points_stored + bad.points_pending == tally_->accepted && bad.points_dropped == tally_->dropped);
    CHILD_CHECK((bad.survives & TRK_SURVIVES_PROCESS) != 0 && (bad.survives & TRK_SURVIVES_POWER) == 0);
    CHILD_CHECK(trk_flush(run, 200) == TRK_TIMEOUT);
    heal();
    CHILD_CHECK(trk_flush(run, 30'000) == TRK_OK && wait_degraded(run, 0));
    log_for(run, 100, &*tally_);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK && status_of(run).points_stored == tally_->accepted);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
  EXPECT_EQ(lines_of(sandbox.shm() + "/stderr").size(), 2u) << "it is said once, and once that it is over";
  EXPECT_LT(tally_->longest_ns.load(), 60'000'000 * kSlowDown);
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
  EXPECT_LT(tally_->finish_ns.load(), 2'500'000'000 * kSlowDown);
  expect_all(sandbox, *tally_, RunState::kFinished);
}

INSTANTIATE_TEST_SUITE_P(Disks, DiskFaultTest,
                         ::testing::Combine(::testing::Values("sqlite", "frames"), ::testing::ValuesIn(kFaults)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + std::get<1>(test.param).name;
                         });

// After a failed fsync the kernel takes the pages for clean and may drop them: they must be written again.
TEST(FramesFsyncTest, WhatAFailedFsyncMayHaveLostIsWrittenAgain) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  set_faulty_folder(folder.path());
  auto file = FramesFile::open_or_create(folder.path(), identity);
  ASSERT_TRUE(file.ok() && (*file)->append({test_record(identity, 1)}, true).ok());
  const auto durable = std::filesystem::file_size((*file)->path());
  ASSERT_TRUE((*file)->append({test_record(identity, 2)}, false).ok());
  faulty_disk().fsync_errno = EIO;
  EXPECT_EQ((*file)->append({test_record(identity, 3)}, true).code(), Code::kIo);
  const auto written = std::filesystem::file_size((*file)->path());
  std::filesystem::resize_file((*file)->path(), durable);  // the pages are gone
  std::filesystem::resize_file((*file)->path(), written);
  EXPECT_EQ(stored_frames((*file)->path()), one_to(1));
  heal();
  ASSERT_TRUE((*file)->append({test_record(identity, 3), test_record(identity, 4)}, true).ok());
  EXPECT_EQ(stored_frames((*file)->path()), one_to(4));
  ASSERT_TRUE((*file)->finish().ok());
  EXPECT_EQ(stored_frames(db_path(folder.path(), identity)), one_to(4));
}

class SlowDiskTest : public ::testing::TestWithParam<const char*> {};

// F18. Every fsync takes 5 s. Held against the same loop before it in the same process: a machine with other work slows
// both, and a call that is put aside by the scheduler is one of the longest, so of the longest only a wait for an fsync
// is told.
TEST_P(SlowDiskTest, CallsStayShortAndNothingIsLostWhileEachFsyncTakesFiveSeconds) {
  Sandbox sandbox;
  Shared<Tally> tally;
  const int status = run_child([&] {
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r");
    log_for(run, 2000, &*tally);
    tally->good_p99_ns = tally->p99_ns.load();
    tally->good_p999_ns = tally->p999_ns.load();
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
  std::printf("%llu calls, longest %.3f ms, p99 %lld ns (good disk %lld), p99.9 %lld ns (%lld), %llu dropped\n",
              static_cast<unsigned long long>(tally->accepted + tally->dropped),
              static_cast<double>(tally->longest_ns.load()) / 1e6, static_cast<long long>(tally->p99_ns.load()),
              static_cast<long long>(tally->good_p99_ns.load()), static_cast<long long>(tally->p999_ns.load()),
              static_cast<long long>(tally->good_p999_ns.load()),
              static_cast<unsigned long long>(tally->dropped.load()));
  EXPECT_LT(tally->p99_ns.load(), 5 * tally->good_p99_ns.load() + int64_t{20'000} * kSlowDown);
  EXPECT_LT(tally->p999_ns.load(), 5 * tally->good_p999_ns.load() + int64_t{200'000} * kSlowDown);
  EXPECT_LT(tally->longest_ns.load(), 2'500'000'000) << "no call waits for an fsync";
  EXPECT_EQ(tally->dropped.load(), 0u) << "at 20,000 calls a second the spill file has room for minutes";
  expect_all(sandbox, *tally, RunState::kFinished);
}

TEST_P(SlowDiskTest, InitAndFinishKeepTheirBoundsWhileEachFsyncTakesFiveSeconds) {
  Sandbox sandbox;
  Shared<Tally> tally;
  const int status = run_child([&] {
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    set_faulty_folder(sandbox.folder());
    faulty_disk().fsync_ms = 5000;
    int64_t before = now_ns();
    trk_run* run = open_run("r");
    tally->init_ns = now_ns() - before;
    log_for(run, 500, &*tally);
    before = now_ns();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_TIMEOUT);
    tally->finish_ns = now_ns() - before;
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_LT(tally->init_ns.load(), int64_t{500'000'000} * kSlowDown);
  EXPECT_LT(tally->finish_ns.load(), 2'500'000'000 * kSlowDown);
  EXPECT_LT(tally->longest_ns.load(), 2'500'000'000) << "no call waits for an fsync";
  expect_all(sandbox, *tally, RunState::kFinished);
}

INSTANTIATE_TEST_SUITE_P(Disks, SlowDiskTest, ::testing::Values("sqlite", "frames"),
                         [](const auto& test) { return std::string(test.param); });

// P1: what a container's death and a power loss may cost. Half of what is promised is allowed to a busy machine.
TEST(CommitRhythmTest, CommitsComeTenTimesASecondWithAnFsyncEachSecond) {
  Sandbox sandbox;
  const int status = run_child([&] {
    set_faulty_folder(sandbox.folder());
    trk_run* run = open_run("r");
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 0, 0) == TRK_OK && trk_flush(run, 20'000) == TRK_OK);
    const int before = faulty_disk().fsyncs.load();
    int commits = 0;
    uint64_t stored = status_of(run).points_stored;
    const int64_t deadline = now_ns() + 4'000'000'000LL;
    for (int64_t step = 1; now_ns() < deadline; ++step) {
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
      const uint64_t now = status_of(run).points_stored;
      if (now != stored) ++commits;
      stored = now;
      sleep_ms(1);
    }
    const int fsyncs = faulty_disk().fsyncs.load() - before;
    std::printf("%d commits, %d fsyncs in 4 s\n", commits, fsyncs);
    CHILD_CHECK(commits >= 20);
    CHILD_CHECK(fsyncs >= 2);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

}  // namespace
}  // namespace tracker::internal
