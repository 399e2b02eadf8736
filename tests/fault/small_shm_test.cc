// SPDX-License-Identifier: MIT
// A /dev/shm of 64 MB that others fill never kills anyone: no SIGBUS, and every point is stored or counted. Method: a
// tmpfs in a mount namespace, a full-speed logger, and a process beside it that fills and frees the rest again and
// again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "run/run.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/mounts.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int kThreads = 8;

struct Ledger {
  std::atomic<uint64_t> accepted[kThreads], dropped[kThreads];
  std::atomic<int> stop;
};

void log_at_full_speed(trk_run* run, int thread, Ledger* ledger) {
  const std::string name = "thread/" + std::to_string(thread);
  trk_metric* metric = trk_metric_open(run, name.c_str(), TRK_NUL_TERMINATED, nullptr);
  for (int64_t step = 0; ledger->stop.load(std::memory_order_relaxed) == 0; ++step) {
    const trk_code code = trk_metric_log_i64(metric, step, step);
    CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT);
    (code == TRK_OK ? ledger->accepted : ledger->dropped)[thread].fetch_add(1, std::memory_order_relaxed);
    // A new metric now and then: its definition needs room too.
    if (step % 100'000 == 99'999)
      (void)trk_log_i64(run, (name + "/" + std::to_string(step)).c_str(), TRK_NUL_TERMINATED, 1, step);
    if (step % 1000 == 999) ::usleep(100);
  }
}

int log_beside_a_filler(const Sandbox& sandbox, Ledger* ledger) {
  if (!mount_tmpfs(sandbox.shm(), "64m")) return kNoMounts;
  const pid_t filler = start_child([&] {
    while (ledger->stop.load() == 0) {
      const std::string file = fill_up(sandbox.shm());
      sleep_ms(100);
      remove_file(file);
      sleep_ms(20);
    }
    return 0;
  });
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(log_at_full_speed, run, t, ledger);
  sleep_ms(1500);
  ledger->stop = 1;
  for (std::thread& thread : threads) thread.join();
  CHILD_CHECK(exit_code_of(wait_child(filler)) == 0);
  CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
  const trk_status end = status_of(run);
  CHILD_CHECK(end.points_pending == 0 && end.points_logged == end.points_stored + end.points_dropped);
  return 0;
}

TEST(SmallShmTest, AFullSpeedLoggerBesideAProcessThatFillsItLivesAndCounts) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const int code = exit_code_of(run_child([&] { return log_beside_a_filler(sandbox, &*ledger); }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  ASSERT_EQ(code, 0);
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  for (int t = 0; t < kThreads; ++t)
    for (const MetricInfo& info : run.view->metrics()) {
      if (info.name != "thread/" + std::to_string(t)) continue;
      EXPECT_EQ(info.points, ledger->accepted[t].load());
      EXPECT_EQ(info.dropped, ledger->dropped[t].load());
    }
}

// The end of a run has its room from the beginning.
TEST(SmallShmTest, ARunEndsAsItShouldWhereNeitherTheStoreNorTheJournalHasRoomForTheEnd) {
  Sandbox sandbox;
  const std::string reason(kEndReasonBytesMax, 'r');
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.shm(), "64m")) return kNoMounts;
    CHILD_CHECK(write_file_atomic(sandbox.store(), "no folder").ok());
    const std::string filler = sandbox.shm() + "/filler";
    const int ended = run_child([&] {
      trk_run* run = open_run("r");
      CHILD_CHECK(run != nullptr && std::string(status_of(run).journal) == "shm");
      (void)fill_up(sandbox.shm());
      for (int64_t i = 0; i < 100; ++i) CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, i, i) == TRK_OK);
      CHILD_CHECK(trk_finish(run, 3, reason.c_str()) == TRK_TIMEOUT);
      return 0;
    });
    CHILD_CHECK(exit_code_of(ended) == 0);
    remove_file(sandbox.store());
    remove_file(filler);
    const int next = run_child([] { return trk_finish(open_run("next"), 0, nullptr) == TRK_OK ? 0 : 1; });
    CHILD_CHECK(exit_code_of(next) == 0);
    ReadRun run = recover_and_read(sandbox.store(), "r");
    CHILD_CHECK(run.view != nullptr && run.problems.empty() && rows_of(run, "x").size() == 100);
    std::fprintf(stderr, "%s: %s\n", run_state_name(run.view->state()), run.view->state_detail().c_str());
    CHILD_CHECK(run.view->state() == RunState::kFailed && run.view->state_detail() == "exit code 3: " + reason);
    return 0;
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
}

// If shm allows less than 2 MiB the journal is on disk, and in memory if that has no room either.
// Promise P1: Below 2 MiB of /dev/shm the journal is a file on a local disk, else private memory, and `status()` says
// so.
TEST(SmallShmTest, BelowItsMinimumTheJournalMovesToDiskThenToMemory) {
  Sandbox sandbox;
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.shm(), "15m")) return kNoMounts;
    trk_run* run = open_run("on-disk");
    CHILD_CHECK(run != nullptr && std::string(status_of(run).journal) == "disk");
    CHILD_CHECK((status_of(run).survives & TRK_SURVIVES_PROCESS) != 0 && path_exists(sandbox.store() + "/journal"));
    trk_free(run);
    if (!mount_tmpfs(sandbox.folder(), "12m")) return kNoMounts;
    run = open_run("in-memory");
    CHILD_CHECK(run != nullptr && std::string(status_of(run).journal) == "memory");
    CHILD_CHECK((status_of(run).survives & TRK_SURVIVES_PROCESS) == 0);
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace tracker::internal
