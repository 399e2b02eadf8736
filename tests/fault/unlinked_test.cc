// SPDX-License-Identifier: MIT
// A logout or a job's epilogue that unlinks parts of the journal of a live run costs nothing but a second. Method:
// another process removes files while a child logs; two seconds later it is killed, and every acknowledged point must
// be there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "support/child.h"
#include "support/quiet_run.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

struct Ledger {
  std::atomic<int64_t> returned;
  std::atomic<int64_t> refused;
  std::atomic<bool> finished;
};

int log_slowly(Ledger* ledger, int nap_us) {
  trk_run* run = open_run("r", "block");  // a starved drain thread is none of this test's business
  CHILD_CHECK(run != nullptr);
  trk_metric* metric = trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr);
  for (int64_t step = 0;; ++step) {
    if (trk_metric_log_i64(metric, step * 3, step) != TRK_OK) ledger->refused.fetch_add(1);
    if (step % 1000 == 0) (void)trk_log_i64(run, ("late/" + std::to_string(step)).c_str(), TRK_NUL_TERMINATED, 1, step);
    ledger->returned.store(step + 1);
    if (nap_us > 0) ::usleep(static_cast<useconds_t>(nap_us));
  }
}

void remove_from(const Sandbox& sandbox, const std::string& what) {
  if (what == "root") {
    remove_under_a_writer(sandbox.journals());
    return;
  }
  for (const std::string& folder : sandbox.journal_folders()) {
    if (what == "folder") remove_under_a_writer(folder);
    auto names = list_dir(folder);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>())
      if (name.starts_with(what) || what == "files") remove_file(join_path(folder, name));
  }
}

class UnlinkedTest : public ::testing::TestWithParam<const char*> {};

// Promise P1: Rings, definitions, lock, spill file and folder that a logout unlinks are replaced within a second.
TEST_P(UnlinkedTest, WhatIsUnlinkedIsReplacedAndAKillAfterwardsLosesNothing) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] { return log_slowly(&*ledger, 100); });
  while (ledger->returned.load() < 2000) ::usleep(1000);
  for (int times = 0; times < 2; ++times) {
    remove_from(sandbox, GetParam());
    sleep_ms(2300);
    // A recoverer that looks meanwhile finds a live process.
    const ReadRun live = recover_and_read(sandbox.store());
    ASSERT_NE(live.view, nullptr);
    EXPECT_EQ(live.view->state(), RunState::kRunning);
  }
  ::kill(child, SIGKILL);
  wait_child(child);
  EXPECT_EQ(ledger->refused.load(), 0);
  const int64_t returned = ledger->returned.load();
  ReadRun run = recover_and_read(sandbox.store());
  const History rows = rows_of(run, "x");
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_GE(static_cast<int64_t>(rows.size()), returned);
  EXPECT_LE(static_cast<int64_t>(rows.size()), returned + 1);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
  EXPECT_EQ(rows_of(run, "late/" + std::to_string((returned - 1) / 1000 * 1000)).size(), 1u)
      << "definitions are complete";
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

std::atomic<bool> g_is_stopped{false};
void stop_here() {
  for (;; sleep_ms(1000)) g_is_stopped = true;
}

// Nothing is stored after the first 1000 points. Then `last` points are logged in all, and the run ends as far as it
// can.
int log_under_a_stuck_disk(Ledger* ledger, int64_t last) {
  const std::shared_ptr<internal::Run> run = begin_run("block");
  const uint32_t id = run->series_id("x", ValueType::kInt64);
  for (int64_t step = 0; step < last; ++step) {
    if (step == 1000) {
      CHILD_CHECK(run->flush(std::chrono::seconds(60)));
      run->set_pause_for_testing(nullptr, stop_here);
    }
    while (step == 2000 && !g_is_stopped) sleep_ms(1);
    const ValuePair pair{static_cast<uint64_t>(step * 3), id, 0};
    CHILD_CHECK(log_pairs(run->hot(), &pair, 1, step) == Code::kOk);
    ledger->returned.store(step + 1);
    ::usleep(100);
  }
  CHILD_CHECK(!run->finish(RunState::kFinished).ok());
  ledger->finished.store(true);
  for (;;) sleep_ms(1000);
}

void expect_all_rows(const Sandbox& sandbox, const Ledger& ledger, RunState state) {
  const int64_t returned = ledger.returned.load();
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(run.view->state(), state);
  const History rows = rows_of(run, "x");
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_GE(static_cast<int64_t>(rows.size()), returned);
  EXPECT_LE(static_cast<int64_t>(rows.size()), returned + 1);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
}

class UnlinkedUnderAStuckDiskTest : public ::testing::TestWithParam<const char*> {
 protected:
  void remove_and_kill(pid_t child) {
    remove_from(sandbox_, GetParam());
    sleep_ms(3000);
    ::kill(child, SIGKILL);
    wait_child(child);
  }
  Sandbox sandbox_;
  Shared<Ledger> ledger_;
};

// Bug: the new lock file was treated as a sign of another process that recovers the run, so that nothing was spilled
// until the next commit. The content of the unlinked rings was only in the memory of the process, and a kill lost it
// without a count.
TEST_P(UnlinkedUnderAStuckDiskTest, WhatTheUnlinkedRingsHeldIsSpilledAndAKillAfterwardsLosesNothing) {
  const pid_t child = start_child([&] { return log_under_a_stuck_disk(&*ledger_, INT64_MAX); });
  while (ledger_->returned.load() < 5000) ::usleep(1000);
  remove_and_kill(child);
  expect_all_rows(sandbox_, *ledger_, RunState::kCrashed);
}

// Bug: after finish() nothing checked this, and what had been spilled was lost with its file.
TEST_P(UnlinkedUnderAStuckDiskTest, SoIsWhatARunHoldsThatHasEnded) {
  const pid_t child = start_child([&] { return log_under_a_stuck_disk(&*ledger_, 5000); });
  while (!ledger_->finished.load()) ::usleep(1000);
  remove_and_kill(child);
  expect_all_rows(sandbox_, *ledger_, RunState::kFinished);
}

INSTANTIATE_TEST_SUITE_P(Of, UnlinkedUnderAStuckDiskTest, ::testing::Values("lock", "files", "folder", "root"),
                         [](const auto& test) { return std::string(test.param); });

INSTANTIATE_TEST_SUITE_P(Of, UnlinkedTest, ::testing::Values("ring", "lock", "defs", "files", "folder", "root"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tracker::internal
