// SPDX-License-Identifier: MIT
// F9. An inherited run is inert in a forked child, and forks cost the parent nothing. Method: a process that logs with
// 8 threads forks hundreds of children that use every verb and end in every way; none may live for a second, and the
// parent's run is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "journal/ring/wipe_memory.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/sandbox.h"

namespace {
bool g_in_child = false;
}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// What a child inherits from a run is left as it is on purpose (its locks and threads are the parent's): no leak.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();  // NOLINT(bugprone-reserved-identifier)
int __lsan_is_turned_off() { return g_in_child ? 1 : 0; }                      // NOLINT(bugprone-reserved-identifier)
#endif

namespace tracker::internal {
namespace {

constexpr int kThreads = 8;
std::atomic<bool> g_stop{false};

// Handles and ever new names: these take the run's locks, which a fork may catch while they are held.
void log_until_stopped(trk_run* run, int thread, std::atomic<int64_t>* returned) {
  const std::string name = "thread/" + std::to_string(thread);
  trk_metric* metric = trk_metric_open(run, name.c_str(), TRK_NUL_TERMINATED, nullptr);
  for (int64_t step = 0; !g_stop.load(std::memory_order_relaxed); ++step) {
    if (trk_metric_log_i64(metric, step, step) != TRK_OK) std::abort();
    returned->store(step + 1, std::memory_order_relaxed);
    if (step % 50 == 0)
      (void)trk_log_i64(run, ("new/" + std::to_string(thread) + "/" + std::to_string(step / 50 % 400)).c_str(),
                        TRK_NUL_TERMINATED, 1, step);
    if (step % 200 == 0) {
      const trk_value value{TRK_I64, 0, {.i64 = step}};
      (void)trk_config_set(run, name.c_str(), TRK_NUL_TERMINATED, &value);
      ::usleep(200);
    }
  }
}

// What a DataLoader worker might do. Every call must come back, whatever lock a thread of the parent held.
int use_inherited_run(trk_run* run, trk_metric* metric, int number) {
  g_in_child = true;
  const trk_value value{TRK_I64, 0, {.i64 = 1}};
  trk_status status = TRK_STATUS_INIT;
  CHILD_CHECK(trk_metric_log_f64(metric, 1e9, 1'000'000'000) == TRK_CLOSED);
  CHILD_CHECK(trk_log_i64(run, ("child/" + std::to_string(number)).c_str(), TRK_NUL_TERMINATED, 1, 1) == TRK_CLOSED);
  trk_metric* own = trk_metric_open(run, "opened in a child", TRK_NUL_TERMINATED, nullptr);
  CHILD_CHECK(own != nullptr && trk_metric_log_i64(own, 1, 1) == TRK_CLOSED);
  CHILD_CHECK(trk_log_text(run, "text", "from a child", TRK_NUL_TERMINATED, 1) == TRK_CLOSED);
  CHILD_CHECK(trk_config_set(run, "key", TRK_NUL_TERMINATED, &value) == TRK_CLOSED);
  CHILD_CHECK(trk_summary_set(run, "key", TRK_NUL_TERMINATED, &value) == TRK_CLOSED);
  CHILD_CHECK(trk_get_status(run, &status) == TRK_OK && status.recording == 0);
  (void)trk_flush(run, 1000);
  switch (number % 6) {
    case 0: ::_exit(0);
    case 1: std::exit(0);
    case 2: std::abort();
    case 3: CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_CLOSED); std::exit(0);
    case 4: trk_free(run); std::exit(0);
    default: ::raise(SIGKILL);
  }
  return 0;
}

// AddressSanitizer's allocator is not prepared for a fork: if a thread holds one of its locks, the child waits for ever
// in its first allocation. Other builds show whether one of ours hangs.
constexpr bool kForkLeavesAllocatorLocked = kAddressSanitizer;

// In a process of its own: threads and forks together.
int fork_while_threads_log(int forks, Shared<std::atomic<int64_t>[kThreads]>* returned) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(SIGABRT, SIG_DFL);
  trk_run* run = open_run("r", "block");
  CHILD_CHECK(run != nullptr);
  trk_metric* metric = trk_metric_open(run, "thread/0", TRK_NUL_TERMINATED, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(log_until_stopped, run, t, &(**returned)[t]);
  for (int i = 0; i < forks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(use_inherited_run(run, metric, i));
    int status = 0;
    const bool ended = wait_child_at_most(child, 5000 * kSlowDown, &status);  // one that hangs does so for ever
    CHILD_CHECK(ended || kForkLeavesAllocatorLocked);
    const int code = exit_code_of(status);
    if (code == 99) std::fprintf(stderr, "child %d failed\n", i);
    CHILD_CHECK(code != 99);
  }
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  // on a slow machine the backlog takes longer than finish() waits
  CHILD_CHECK(trk_flush(run, 20'000 * kSlowDown) == TRK_OK);
  const trk_code ended = trk_finish(run, 0, nullptr);
  CHILD_CHECK(ended == TRK_OK || ended == TRK_TIMEOUT);  // it waits 2 s for the disk; the next process stores the end
  return 0;
}

// Promise P8: An inherited run is inert in a forked child: no thread, no lock, no finalizer that waits; it says so
// once.
TEST(ForkTest, ChildrenOfALoggingProcessAreInertAndTheParentIsWhole) {
  Sandbox sandbox;
  Shared<std::atomic<int64_t>[kThreads]> returned;
  const int forks = kSlowDown < 10 ? test_count(500) : 20;  // a fork costs ThreadSanitizer a second
  const pid_t parent = start_child([&] { return fork_while_threads_log(forks, &returned); });
  int status = 0;
  ASSERT_TRUE(wait_child_at_most(parent, 120'000, &status));
  EXPECT_EQ(exit_code_of(status), 0);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(run.runs, 1u);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(run.view->state(), RunState::kFinished);
  for (int t = 0; t < kThreads; ++t) {
    const History rows = rows_of(run, "thread/" + std::to_string(t));
    ASSERT_EQ(static_cast<int64_t>(rows.size()), (*returned)[t].load());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
  }
  EXPECT_TRUE(run.view->text_metrics().empty());
}

// A fork while the store thread was inside SQLite could leave the child with one of SQLite's locks held for ever.
TEST(ForkTest, ChildrenForkedAtAnyMomentMayHaveRunsOfTheirOwn) {
  NEEDS(kThreadsInForkedChildren);
  Sandbox sandbox;
  const int forks = test_count(150);
  Shared<std::atomic<int64_t>> logged;
  const int status = run_child([&] {
    trk_run* run = open_run("parent");
    CHILD_CHECK(run != nullptr);
    // Commits without a pause.
    std::thread flusher([&] {
      for (int64_t step = 0; !g_stop.load(); ++step) {
        CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
        CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
        logged->store(step + 1);
      }
    });
    for (int i = 0; i < forks; ++i) {
      ::usleep(static_cast<useconds_t>(i * 137 % 3000));
      const pid_t child = ::fork();
      if (child == 0) {
        g_in_child = true;
        trk_run* own = open_run(("child-" + std::to_string(i)).c_str());
        CHILD_CHECK(own != nullptr && trk_log_i64(own, "x", TRK_NUL_TERMINATED, i, 1) == TRK_OK);
        CHILD_CHECK(trk_flush(own, 20'000) == TRK_OK);  // a busy disk may take longer than finish() waits
        CHILD_CHECK(trk_finish(own, 0, nullptr) == TRK_OK);
        ::_exit(0);
      }
      int ended = 0;
      CHILD_CHECK(wait_child_at_most(child, 30'000, &ended) && exit_code_of(ended) == 0);
    }
    g_stop = true;
    flusher.join();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->list_runs().size(), static_cast<size_t>(forks) + 1);
  ReadRun parent = recover_and_read(sandbox.store(), "parent");
  EXPECT_EQ(static_cast<int64_t>(rows_of(parent, "x").size()), logged->load());
  ReadRun last = recover_and_read(sandbox.store(), "child-" + std::to_string(forks - 1));
  EXPECT_EQ(rows_of(last, "x").size(), 1u);
}

// A commit that hangs on its disk must not keep a fork waiting.
TEST(ForkTest, AForkWaitsABoundedTimeForAStoreThreadThatIsInsideSqlite) {
  const ForkGate inside;  // as a store thread in an fsync that does not come back
  int64_t longest = 0;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = now_ns();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    longest = std::max(longest, now_ns() - before);
    wait_child(child);
  }
  EXPECT_GE(longest, std::chrono::nanoseconds(kForkWaitMax).count() * 9 / 10) << "it does wait";
  EXPECT_LT(longest, 10 * kSlowDown * std::chrono::nanoseconds(kForkWaitMax).count());
}

TEST(ForkTest, AChildThatOutlivesItsParentHoldsNoLock) {
  Sandbox sandbox;
  Shared<std::atomic<int>> child_of_child;
  const int status = run_child([&] {
    trk_run* run = open_run("r");
    CHILD_CHECK(run != nullptr && trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK);
    const pid_t child = ::fork();
    if (child == 0) {
      sleep_ms(30'000);
      ::_exit(0);
    }
    child_of_child->store(child);
    ::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), -1 - SIGKILL);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(rows_of(run, "x").size(), 1u);
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(run.view->state(), RunState::kCrashed);
  ::kill(child_of_child->load(), SIGKILL);
}

TEST(ForkTest, AChildMayHaveARunOfItsOwn) {
  NEEDS(kThreadsInForkedChildren);
  Sandbox sandbox;
  const int status = run_child([&] {
    trk_run* run = open_run("parent");
    CHILD_CHECK(run != nullptr && trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK);
    const pid_t child = ::fork();
    if (child == 0) {
      g_in_child = true;
      trk_run* own = open_run("child");
      CHILD_CHECK(own != nullptr && trk_log_i64(own, "x", TRK_NUL_TERMINATED, 2, 1) == TRK_OK);
      std::exit(0);
    }
    CHILD_CHECK(exit_code_of(wait_child(child)) == 0);
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 2) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  for (const auto& [id, points] : {std::pair<const char*, size_t>{"parent", 2}, {"child", 1}}) {
    ReadRun run = recover_and_read(sandbox.store(), id);
    ASSERT_NE(run.view, nullptr) << id;
    EXPECT_EQ(rows_of(run, "x").size(), points) << id;
    EXPECT_EQ(run.view->state(), RunState::kFinished) << id;
  }
}

// Handles and names that the parent had, and some that it had not; ids of series differ in the child.
int attach_and_log(trk_run* run, trk_metric* known, int number) {
  g_in_child = true;
  trk_error error = TRK_ERROR_INIT;
  trk_metric* early = trk_metric_open(run, "early", TRK_NUL_TERMINATED, nullptr);
  CHILD_CHECK(early != nullptr && trk_metric_log_i64(early, 0, 0) == TRK_CLOSED);
  CHILD_CHECK(trk_attach(run, &error) == TRK_OK);
  CHILD_CHECK(status_of(run).recording == 1);
  const std::string own = "own/" + std::to_string(number);
  CHILD_CHECK(trk_log_i64(run, own.c_str(), TRK_NUL_TERMINATED, number, 1) == TRK_OK);
  CHILD_CHECK(trk_metric_log_i64(early, number, number) == TRK_OK);
  CHILD_CHECK(trk_metric_log_i64(known, number, 1000 + number) == TRK_OK);
  CHILD_CHECK(trk_log_i64(run, "late", TRK_NUL_TERMINATED, number, number) == TRK_OK);
  CHILD_CHECK(trk_attach(run, &error) == TRK_INVALID);
  CHILD_CHECK(std::string_view(error.message).find("records the run already") != std::string_view::npos);
  CHILD_CHECK(trk_flush(run, 8'000) == TRK_OK);  // a busy disk may take longer than finish() waits
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
  trk_free(run);
  return 0;
}

// Promise P8: `attach()` in a forked child records there.
TEST(ForkTest, AChildThatAttachesRecordsIntoTheSameRunThroughItsOldHandles) {
  NEEDS(kThreadsInForkedChildren);
  Sandbox sandbox;
  const int forks = test_count(30);
  const int status = run_child([&] {
    trk_run* run = open_run("r", "block");
    CHILD_CHECK(run != nullptr);
    trk_metric* metric = trk_metric_open(run, "known", TRK_NUL_TERMINATED, nullptr);
    trk_error error = TRK_ERROR_INIT;
    CHILD_CHECK(trk_attach(run, &error) == TRK_INVALID && trk_attach(nullptr, &error) == TRK_INVALID);
    CHILD_CHECK(trk_log_i64(run, "late", TRK_NUL_TERMINATED, -1, -1) == TRK_OK);
    CHILD_CHECK(trk_metric_log_i64(metric, -1, 0) == TRK_OK);
    // Another thread makes names without a pause, so that forks find the lock of the names held.
    std::atomic<int64_t> unused{0};
    std::thread other(log_until_stopped, run, 0, &unused);
    for (int i = 0; i < forks; ++i) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(attach_and_log(run, metric, i));
      int ended = 0;
      CHILD_CHECK(wait_child_at_most(child, 10'000, &ended) && exit_code_of(ended) == 0);
    }
    g_stop = true;
    other.join();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(run.runs, 1u);
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(rows_of(run, "known").size(), static_cast<size_t>(forks) + 1);
  EXPECT_EQ(rows_of(run, "late").size(), static_cast<size_t>(forks) + 1);
  EXPECT_EQ(rows_of(run, "early").size(), static_cast<size_t>(forks));
  for (int i = 0; i < forks; ++i) EXPECT_EQ(rows_of(run, "own/" + std::to_string(i)).size(), 1u) << i;
}

TEST(ForkTest, AChildOfARunThatRecordsNothingIsToldSo) {
  Sandbox sandbox;
  const int status = run_child([] {
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.mode = "disabled";
    trk_run* run = nullptr;
    CHILD_CHECK(trk_init(&options, &run, nullptr) == TRK_OK);
    const pid_t child = ::fork();
    if (child == 0) {
      g_in_child = true;
      trk_error error = TRK_ERROR_INIT;
      CHILD_CHECK(trk_attach(run, &error) == TRK_INVALID);
      CHILD_CHECK(std::string_view(error.message).find("does not record this run") != std::string_view::npos);
      ::_exit(0);
    }
    return exit_code_of(wait_child(child));
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

}  // namespace
}  // namespace tracker::internal
