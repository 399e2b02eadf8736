// SPDX-License-Identifier: MIT
// A kill -9 while /dev/shm is full. Threads that find no room for a ring share one in private memory, and status()
// shows that the process is not survived: what was in it and was not committed is counted as lost, to the last point,
// and everything else is stored. Method: a tmpfs of 64 MB in a mount namespace, a process that fills it (and frees it
// again) before the threads of another one start, SIGKILL at a random instant or at a chosen one, and the threads' own
// records compared with what recovery finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "support/child.h"
#include "support/conditions.h"
#include "support/mounts.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int kThreads = 8;

// What one killed process has noted.
struct Ledger {
  std::atomic<uint64_t> accepted, dropped;
  std::atomic<uint32_t> started, survives;
  std::atomic<int> opened, full, stop;
};

// What was found of it.
struct Found {
  uint64_t stored = 0, lost = 0, dropped = 0;
  std::vector<std::string> problems;
};

Found recover(const Sandbox& sandbox) {
  Found out;
  ReadRun run = recover_and_read(sandbox.store());
  CHILD_CHECK(run.view != nullptr);
  const LossAccount account = run.view->losses();
  CHILD_CHECK(account.pending == 0 && account.logged == account.stored + account.dropped);
  out.stored = account.stored;
  for (const auto& [reason, count] : account.by_reason) (reason == "ring full" ? out.dropped : out.lost) += count;
  out.problems = std::move(run.problems);
  return out;
}

void log_at_full_speed(trk_run* run, int thread, Ledger* ledger) {
  const std::string name = "thread/" + std::to_string(thread);
  trk_metric* metric = trk_metric_open(run, name.c_str(), TRK_NUL_TERMINATED, nullptr);
  ledger->started.fetch_add(1);
  for (int64_t step = 0;; ++step) {
    const trk_code code = trk_metric_log_i64(metric, step, step);
    CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT);
    (code == TRK_OK ? ledger->accepted : ledger->dropped).fetch_add(1, std::memory_order_relaxed);
    if (step % 1000 == 999) ::usleep(100);
  }
}

int log_without_end(Ledger* ledger) {
  redirect_stderr("/dev/null");
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  ledger->opened = 1;
  while (ledger->full.load() == 0) ::usleep(200);
  for (int t = 0; t < kThreads; ++t) std::thread(log_at_full_speed, run, t, ledger).detach();
  for (;;) sleep_ms(1000);
}

int fill_and_free(const Sandbox& sandbox, Ledger* ledger, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto nap_at_most = [&](int us) { ::usleep(static_cast<useconds_t>(random() % us)); };
  while (ledger->stop.load() == 0) {
    const bool opened = ledger->opened.load() != 0;
    const std::string file = fill_up(sandbox.shm());
    if (opened) ledger->full = 1;
    nap_at_most(100'000);
    remove_file(file);
    nap_at_most(20'000);
  }
  return 0;
}

int kill_at_random(const Sandbox& sandbox, uint64_t seed) {
  std::mt19937_64 random(seed);
  Shared<Ledger> ledger;
  const pid_t filler = start_child([&] { return fill_and_free(sandbox, &*ledger, seed + 1); });
  const pid_t logger = start_child([&] { return log_without_end(&*ledger); });
  while (ledger->started.load() < kThreads) ::usleep(200);
  ::usleep(static_cast<useconds_t>(random() % 100'000));
  ::kill(logger, SIGKILL);
  wait_child(logger);
  ledger->stop = 1;
  CHILD_CHECK(exit_code_of(wait_child(filler)) == 0);
  const Found found = recover(sandbox);
  const uint64_t accepted = ledger->accepted.load(), dropped = ledger->dropped.load();
  std::printf("seed %lu: %lu accepted, %lu refused, %lu stored, %lu lost in memory, %lu dropped\n", seed, accepted,
              dropped, found.stored, found.lost, found.dropped);
  for (const std::string& problem : found.problems) std::printf("  %s\n", problem.c_str());
  std::fflush(stdout);
  // A call that the process died in may be counted and not noted, one a thread.
  CHILD_CHECK(found.stored + found.lost >= accepted && found.stored + found.lost <= accepted + kThreads);
  CHILD_CHECK(found.dropped >= dropped && found.dropped <= dropped + kThreads);
  CHILD_CHECK(found.problems.size() == (found.lost > 0 ? 1 : 0));
  CHILD_CHECK(sandbox.journal_folders().empty());  // nothing of it is damaged
  return 0;
}

// Promise P5: Threads without a ring are not said to survive the process; what a kill takes of theirs is counted.
TEST(SmallShmKillTest, WhatWasAcceptedIsStoredOrCountedAsLost) {
  const uint64_t seed = test_seed("SmallShmKillTest");
  std::mt19937_64 random(seed);
  for (int i = test_count(10); i > 0; --i) {
    Sandbox sandbox;
    const uint64_t own = random();
    const int code = exit_code_of(run_child([&] {
      if (!mount_tmpfs(sandbox.shm(), "64m")) return kNoMounts;
      return kill_at_random(sandbox, own);
    }));
    SKIP_WHERE(code == kNoMounts, kMounts);
    ASSERT_EQ(code, 0);
  }
}

// One thread has the run's first ring, a second one comes when there is no room, and the disk takes nothing: all that
// the second one logs is in memory alone.
int log_beside_a_full_tmpfs(const Sandbox& sandbox, Ledger* ledger) {
  redirect_stderr(sandbox.folder() + "/said");
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  CHILD_CHECK(trk_log_i64(run, "first", TRK_NUL_TERMINATED, 1, 1) == TRK_OK && trk_flush(run, 20'000) == TRK_OK);
  CHILD_CHECK(status_of(run).survives == (TRK_SURVIVES_PROCESS | TRK_SURVIVES_CONTAINER | TRK_SURVIVES_POWER));
  const std::string file = fill_up(sandbox.shm());
  std::thread([&] {
    CHILD_CHECK(trk_log_i64(run, "second", TRK_NUL_TERMINATED, 1, 1) == TRK_OK);
    CHILD_CHECK((status_of(run).survives & TRK_SURVIVES_PROCESS) == 0);
  }).join();
  sleep_ms(300);
  CHILD_CHECK((status_of(run).survives & TRK_SURVIVES_PROCESS) == 0);
  remove_file(file);
  // No thread logs there any more: the ring is left all the same.
  const int64_t deadline = now_ns() + 10'000'000'000;
  while ((status_of(run).survives & TRK_SURVIVES_PROCESS) == 0 && now_ns() < deadline) sleep_ms(5);
  ledger->survives = status_of(run).survives;
  for (int64_t step = 2; step <= 100; ++step)
    std::thread([&] { CHILD_CHECK(trk_log_i64(run, "second", TRK_NUL_TERMINATED, step, step) == TRK_OK); }).join();
  ::raise(SIGKILL);
  return 0;
}

TEST(SmallShmKillTest, TheRingInMemoryIsSaidAndIsLeftWhenThereIsRoom) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.shm(), "64m")) return kNoMounts;
    CHILD_CHECK(run_child([&] { return log_beside_a_full_tmpfs(sandbox, &*ledger); }) == SIGKILL);
    const Found found = recover(sandbox);
    CHILD_CHECK(found.stored == 101 && found.lost == 0 && found.problems.empty());
    return 0;
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
  EXPECT_NE(ledger->survives.load() & TRK_SURVIVES_PROCESS, 0u);
  EXPECT_THAT(lines_of(sandbox.folder() + "/said"),
              ::testing::Contains(::testing::HasSubstr("no room for a further ring")).Times(1));
}

}  // namespace
}  // namespace tracker::internal
