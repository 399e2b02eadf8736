// SPDX-License-Identifier: MIT
// A live run that another process has recovered is killed while it goes on behind that: nothing is there twice, and
// what a flush acknowledged is there. Method: a process without threads loses its locks and is recovered, then killed
// before each single system call of the flush that finds it out; databases and .frames files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/kill_at_call.h"
#include "support/no_threads.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int64_t kStored = 300, kRecovered = 600, kFlushed = 700, kLast = 800;

struct TakeoverStages {
  std::atomic<int> unlocked, recovered;
  std::atomic<int64_t> flushed;
};

void log_range(trk_run* run, int64_t from, int64_t to) {
  for (int64_t step = from; step < to; ++step)
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
}

void drop_all_locks() {
  for (const std::string& name : list_dir("/proc/self/fd").value_or({})) {
    char target[4096] = {};
    if (::readlink(("/proc/self/fd/" + name).c_str(), target, sizeof target - 1) <= 0) continue;
    if (!std::string(target).ends_with("/lock")) continue;
    struct flock lock{};
    lock.l_type = F_UNLCK;
    (void)::fcntl(std::atoi(name.c_str()), F_SETLK, &lock);
    (void)::fcntl(std::atoi(name.c_str()), F_OFD_SETLK, &lock);
  }
}

int recover_when_unlocked(const Sandbox& sandbox, TakeoverStages* stages) {
  become_user();
  while (stages->unlocked.load() == 0) ::usleep(100);
  const auto store = Store::open(sandbox.store());
  CHILD_CHECK(store.ok() && recover_dead_writers(*store).recovered.size() == 1);
  stages->recovered.store(1);
  return 0;
}

int expect_each_once(const Sandbox& sandbox, int64_t flushed) {
  become_user();
  ReadRun run = recover_and_read(sandbox.store());
  for (const std::string& problem : run.problems) std::fprintf(stderr, "%s\n", problem.c_str());
  CHILD_CHECK(run.view != nullptr && run.problems.empty());
  const History rows = rows_of(run, "x");
  const auto count = static_cast<int64_t>(rows.size());
  if (count < std::max(kRecovered, flushed) || count > kLast)
    std::fprintf(stderr, "%d rows, %d flushed\n", static_cast<int>(count), static_cast<int>(flushed));
  CHILD_CHECK(count >= std::max(kRecovered, flushed) && count <= kLast);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows.steps[i] != static_cast<int64_t>(i))
      std::fprintf(stderr, "row %zu of %zu has step %d\n", i, rows.size(), static_cast<int>(rows.steps[i]));
    CHILD_CHECK(rows.steps[i] == static_cast<int64_t>(i));
  }
  CHILD_CHECK(run.view->losses().stored == rows.size() && run.view->losses().dropped == 0);
  const auto report = verify_store(sandbox.store(), {});
  CHILD_CHECK(report.ok());
  for (const Finding& finding : report->findings)
    std::fprintf(stderr, "%s %s %s\n", finding.kind.c_str(), finding.path.c_str(), finding.what.c_str());
  CHILD_CHECK(report->findings.empty());
  return 0;
}

class TakenOverKillTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TakenOverKillTest, KilledBeforeAnySystemCallOfGoingOnNothingIsLostOrThereTwice) {
  SKIP_WHERE(kSanitized || exit_code_of(run_child([] { return forbid_threads() ? 0 : 1; })) != 0, kThreadLimit);
  const int stride = std::getenv("TRACKER_TEST_KILLS") != nullptr ? 1 : 7;
  int kills = 0;
  for (int at = 0; !HasFailure(); at += stride, ++kills) {
    SCOPED_TRACE("killed before system call " + std::to_string(at));
    Sandbox sandbox;
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    for (const std::string& folder : {sandbox.folder(), sandbox.shm()})
      std::filesystem::permissions(folder, std::filesystem::perms::all);
    Shared<TakeoverStages> stages;
    const pid_t recoverer = start_child([&] { return recover_when_unlocked(sandbox, &*stages); });
    trk_run* run = nullptr;
    const auto prepare = [&] {
      redirect_stderr(sandbox.folder() + "/stderr");
      CHILD_CHECK(forbid_threads());
      run = open_run("r", "block");
      CHILD_CHECK(run != nullptr);
      log_range(run, 0, kStored);
      CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
      log_range(run, kStored, kRecovered);
      drop_all_locks();
      stages->unlocked.store(1);
      while (stages->recovered.load() == 0) ::usleep(100);
    };
    const auto body = [&] {
      log_range(run, kRecovered, kFlushed);
      CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
      stages->flushed.store(kFlushed);
      log_range(run, kFlushed, kLast);
      return 0;
    };
    const bool killed = killed_at_call(at, body, prepare);
    EXPECT_EQ(exit_code_of(wait_child(recoverer)), 0);
    EXPECT_EQ(exit_code_of(run_child([&] { return expect_each_once(sandbox, stages->flushed.load()); })), 0);
    if (!killed) break;
  }
  EXPECT_GT(kills, 10) << "is ptrace allowed here?";
  std::printf("killed before %d system calls\n", kills);
}

INSTANTIATE_TEST_SUITE_P(StoreFiles, TakenOverKillTest, ::testing::Values("sqlite", "frames"));

}  // namespace
}  // namespace tracker::internal
