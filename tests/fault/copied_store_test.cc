// SPDX-License-Identifier: MIT
// The store that recovers the journal of a dead process: the one with the id in the journal, at its path or in its
// folder; a copy of that store only on request. Bug: the copy took the journal: the original lacked those points for
// ever and reported that nothing was lost. Method: a child logs, its store is copied, it continues to log and is
// killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "storage/recovery/trash.h"
#include "storage/upkeep/collect.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int64_t kBefore = 100, kAfter = 200;

class CopiedStoreTest : public ::testing::Test {
 protected:
  std::string backup() const { return sandbox_.folder() + "/backup"; }
  void copy() const {
    std::filesystem::copy(sandbox_.store(), backup(), std::filesystem::copy_options::recursive);
    const std::string journals = backup() + "/journal";
    if (path_exists(journals)) ::chmod(journals.c_str(), 0700);
  }

  // A child logs, is copied, logs on and dies.
  void make_dead_run(const char* journal = nullptr) {
    Shared<std::atomic<int>> at;
    const pid_t child = start_child([&] {
      trk_run* run = open_run("r", "block", journal);
      CHILD_CHECK(run != nullptr);
      for (int64_t step = 0; step < kBefore + kAfter; ++step) {
        CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
        if (step + 1 != kBefore) continue;
        CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
        at->store(1);
        while (at->load() == 1) ::usleep(1000);
      }
      ::raise(SIGKILL);
      return 0;
    });
    while (at->load() == 0) ::usleep(1000);
    copy();
    at->store(2);
    ASSERT_EQ(exit_code_of(wait_child(child)), -1 - SIGKILL);
  }

  void expect_rows(const std::string& store, int64_t rows) {
    ReadRun run = recover_and_read(store);
    EXPECT_THAT(run.problems, ::testing::IsEmpty());
    const History x = rows_of(run, "x");
    ASSERT_EQ(static_cast<int64_t>(x.size()), rows) << store;
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x.steps[i], static_cast<int64_t>(i));
  }

  Sandbox sandbox_;
};

// Promise P1: A journal is recovered by its own store; a copy of that store leaves it, and recovers it on request.
TEST_F(CopiedStoreTest, ACopyLeavesTheJournalToTheOriginal) {
  make_dead_run();
  const auto store = Store::open(backup());
  ASSERT_TRUE(store.ok());
  const RecoveryReport report = recover_dead_writers(*store);
  EXPECT_THAT(report.recovered, ::testing::IsEmpty());
  EXPECT_THAT(report.problems, ::testing::IsEmpty());
  EXPECT_THAT(report.left, ::testing::IsEmpty());
  EXPECT_EQ(sandbox_.journal_folders().size(), 1u);
  expect_rows(backup(), kBefore);
  expect_rows(sandbox_.store(), kBefore + kAfter);
  EXPECT_THAT(sandbox_.journal_folders(), ::testing::IsEmpty());
}

TEST_F(CopiedStoreTest, ACopyRecoversTheJournalOnRequest) {
  make_dead_run();
  const RecoveryReport report = recover_dead_writers(*Store::open(backup()), {}, JournalsOf::kId);
  EXPECT_THAT(report.problems, ::testing::IsEmpty());
  EXPECT_THAT(sandbox_.journal_folders(), ::testing::IsEmpty());
  expect_rows(backup(), kBefore + kAfter);
  expect_rows(sandbox_.store(), kBefore);
}

TEST_F(CopiedStoreTest, NothingElseThatIsDoneWithTheCopyTouchesTheJournal) {
  make_dead_run();
  const auto store = Store::open(backup());
  ASSERT_TRUE(store.ok());
  const std::vector<RunFolder> runs = store->list_runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_THAT(points_waiting(runs[0], [](const Id128&) { return WriterSnapshot(); }), ::testing::IsEmpty());
  const auto verified = verify_store(backup(), {});
  ASSERT_TRUE(verified.ok());
  for (const Finding& finding : verified->findings) EXPECT_NE(finding.kind, "unrecovered") << finding.path;
  for (const Garbage& item : collect_garbage(*store, {}).removed) EXPECT_NE(item.kind, "journal") << item.path;
  EXPECT_TRUE(remove_run(*store, runs[0], 0).ok());
  EXPECT_EQ(sandbox_.journal_folders().size(), 1u);
  expect_rows(sandbox_.store(), kBefore + kAfter);
}

TEST_F(CopiedStoreTest, ARunThatBeginsInTheCopyLeavesItToo) {
  make_dead_run();
  EXPECT_EQ(exit_code_of(run_child([&] {
              ::setenv("TRACKER_DIR", backup().c_str(), 1);
              trk_run* run = open_run("r", "block", nullptr, "allow");
              CHILD_CHECK(run != nullptr && trk_finish(run, 0, nullptr) == TRK_OK);
              return 0;
            })),
            0);
  expect_rows(sandbox_.store(), kBefore + kAfter);
}

TEST_F(CopiedStoreTest, AStoreThatHasMovedRecoversIt) {
  make_dead_run();
  const std::string moved = sandbox_.folder() + "/moved";
  ASSERT_EQ(::rename(sandbox_.store().c_str(), moved.c_str()), 0);
  expect_rows(moved, kBefore + kAfter);
}

// Its folder is another one then, as after a remount.
TEST_F(CopiedStoreTest, AStoreThatWasRestoredAtItsPathRecoversIt) {
  make_dead_run();
  const std::string original = sandbox_.folder() + "/original";
  ASSERT_EQ(::rename(sandbox_.store().c_str(), original.c_str()), 0);
  ASSERT_EQ(::rename(backup().c_str(), sandbox_.store().c_str()), 0);
  expect_rows(sandbox_.store(), kBefore + kAfter);
}

TEST_F(CopiedStoreTest, AJournalThatWasCopiedWithItsStoreIsRecoveredOnRequestToo) {
  make_dead_run("disk");
  expect_rows(sandbox_.store(), kBefore + kAfter);
  expect_rows(backup(), kBefore);
  EXPECT_EQ(list_dir(backup() + "/journal")->size(), 1u);
  EXPECT_THAT(recover_dead_writers(*Store::open(backup()), {}, JournalsOf::kId).problems, ::testing::IsEmpty());
  EXPECT_THAT(*list_dir(backup() + "/journal"), ::testing::IsEmpty());
  expect_rows(backup(), kBefore);
}

}  // namespace
}  // namespace tracker::internal
