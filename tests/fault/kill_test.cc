// SPDX-License-Identifier: MIT
// F1. No acknowledged point is lost or doubled by kill -9. Method: 8 threads log at full speed and publish what was
// acknowledged in shared memory, SIGKILL comes at a random instant, another process recovers, and a plain model is
// compared row by row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/child.h"
#include "support/integrity.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int kThreads = 8;
constexpr uint64_t kStepsMax = 1u << 26;

// A logging thread's own record: calls that have returned, and which of them were dropped.
struct ThreadLedger {
  std::atomic<uint64_t> returned;
  std::atomic<uint64_t> dropped;
  std::atomic<uint64_t> other;  // results that are neither accepted nor dropped
  std::atomic<uint8_t> was_dropped[kStepsMax / 8];
};

struct Ledger {
  std::atomic<uint32_t> started;
  ThreadLedger threads[kThreads];
};

double value_of(int thread, int64_t step) { return static_cast<double>(step) * 8.0 + thread; }

void log_without_end(trk_run* run, int thread, ThreadLedger* mine, std::atomic<uint32_t>* started) {
  const std::string name = "thread/" + std::to_string(thread);
  trk_metric* metric = trk_metric_open(run, name.c_str(), TRK_NUL_TERMINATED, nullptr);
  started->fetch_add(1);
  for (uint64_t step = 0; step < kStepsMax; ++step) {
    const auto at = static_cast<int64_t>(step);
    const trk_code code = trk_metric_log_f64(metric, value_of(thread, at), at);
    if (code == TRK_LIMIT) {
      mine->was_dropped[step / 8].fetch_or(static_cast<uint8_t>(1u << step % 8), std::memory_order_relaxed);
      mine->dropped.fetch_add(1, std::memory_order_relaxed);
    } else if (code != TRK_OK) {
      mine->other.fetch_add(1);
    }
    mine->returned.store(step + 1, std::memory_order_release);
  }
}

int log_from_threads(const char* on_full, Ledger* ledger) {
  trk_run* run = open_run("r", on_full);
  CHILD_CHECK(run != nullptr);
  for (int t = 0; t < kThreads; ++t)
    std::thread(log_without_end, run, t, &ledger->threads[t], &ledger->started).detach();
  sleep_ms(600'000);
  return 0;
}

uint64_t dropped_in_store(const RunView& view, const std::string& metric) {
  for (const MetricInfo& info : view.metrics())
    if (info.name == metric) return info.dropped;
  return 0;
}

// Every call that returned is stored once or was dropped and counted; the one in flight may be either or nothing.
void compare(ReadRun& run, int thread, ThreadLedger& ledger) {
  const std::string name = "thread/" + std::to_string(thread);
  const uint64_t returned = ledger.returned.load();
  const uint64_t dropped = ledger.dropped.load();
  const History rows = rows_of(run, name);
  EXPECT_EQ(ledger.other.load(), 0u);
  size_t at = 0;
  for (uint64_t step = 0; step < returned; ++step) {
    if ((ledger.was_dropped[step / 8].load(std::memory_order_relaxed) >> step % 8 & 1) != 0) continue;
    ASSERT_LT(at, rows.size()) << name << " lacks step " << step << " of " << returned;
    ASSERT_EQ(rows.steps[at], static_cast<int64_t>(step)) << name << " row " << at << " of " << rows.size();
    ASSERT_EQ(rows.bits[at], bits_of(value_of(thread, rows.steps[at]))) << name << " step " << step;
    ++at;
  }
  if (at < rows.size()) {
    EXPECT_EQ(rows.steps[at], static_cast<int64_t>(returned)) << "only the call in flight may be there";
    ++at;
  }
  EXPECT_EQ(at, rows.size()) << name << " has rows that were not logged";
  const uint64_t counted = run.view == nullptr ? 0 : dropped_in_store(*run.view, name);
  EXPECT_GE(counted, dropped) << name;
  EXPECT_LE(counted, dropped + 1) << name;
}

// How long the next open took, in ns of wall time.
int64_t kill_and_compare(const char* on_full, int wait_us) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] { return log_from_threads(on_full, &*ledger); });
  while (ledger->started.load() < kThreads) ::usleep(200);
  ::usleep(static_cast<useconds_t>(wait_us));
  ::kill(child, SIGKILL);
  wait_child(child);
  const int64_t before = now_ns();
  ReadRun run = recover_and_read(sandbox.store());
  const int64_t took = now_ns() - before;
  EXPECT_EQ(run.runs, 1u);
  for (int t = 0; t < kThreads; ++t) compare(run, t, ledger->threads[t]);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  if (run.view != nullptr) {
    EXPECT_EQ(run.view->state(), RunState::kCrashed);
    EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
  }
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty()) << "recovery leaves no journal";
  return took;
}

class KillTest : public ::testing::TestWithParam<const char*> {};

// Promise P1: An accepted point survives SIGKILL, abort, a segfault, `_exit` and the kernel's out-of-memory kill.
// Promise P5: logged = stored + dropped + pending, by metric; the counts are stored with the run and shown.
TEST_P(KillTest, EveryAcknowledgedPointIsThereExactlyOnce) {
  std::mt19937_64 random(test_seed("kill"));
  const int kills = test_count(50);
  uint64_t worst_us = 0;
  int64_t longest_open_ns = 0;
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    // Most kills meet the first rings and commits; a few a run that has grown its rings and committed often.
    const int limit_us = i % 10 == 9 ? 150'000 : 20'000;
    const auto wait_us = static_cast<int>(random() % static_cast<uint64_t>(limit_us));
    SCOPED_TRACE("kill " + std::to_string(i) + " after " + std::to_string(wait_us) + " us");
    longest_open_ns = std::max(longest_open_ns, kill_and_compare(GetParam(), wait_us));
    worst_us = std::max<uint64_t>(worst_us, static_cast<uint64_t>(wait_us));
  }
  std::printf("%d kills, on_full=%s, up to %llu us after the start; the longest open %.0f ms\n", kills, GetParam(),
              static_cast<unsigned long long>(worst_us), static_cast<double>(longest_open_ns) / 1e6);
}

INSTANTIATE_TEST_SUITE_P(OnFull, KillTest, ::testing::Values("block", "wait", "drop"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tracker::internal
