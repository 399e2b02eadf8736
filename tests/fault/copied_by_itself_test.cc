// SPDX-License-Identifier: MIT
// A training process that copies its own store with its journal: each file of the copy is opened and closed, and
// closing the lock file drops the process's POSIX lock on it. Bug: the next `tracker ls` considered the live run dead:
// points were stored twice or lost, without a message. Method: a child copies its store again and again while it logs
// to journal="disk", beside a recoverer without a pause; every acknowledged row is then there once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "support/child.h"
#include "support/conditions.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

struct Ledger {
  std::atomic<int64_t> returned;
  std::atomic<int> copies;
};

void copy_own_store(const Sandbox& sandbox, int number) {
  const std::string target = sandbox.folder() + "/copy-" + std::to_string(number);
  std::error_code ignored;  // what SQLite or a drain takes away meanwhile
  std::filesystem::copy(sandbox.store() + "/journal", target, std::filesystem::copy_options::recursive, ignored);
  std::filesystem::remove_all(target, ignored);
}

TEST(CopiedByItselfTest, ARunThatCopiesItsOwnJournalIsNeverTakenForDead) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r", "block", "disk");
    CHILD_CHECK(run != nullptr && std::string(status_of(run).journal) == "disk");
    for (int64_t step = 0;; ++step) {
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
      ledger->returned.store(step + 1);
      if (step % 50 == 0) {
        copy_own_store(sandbox, static_cast<int>(step % 7));
        ledger->copies.fetch_add(1);
        ::usleep(500);
      }
    }
    return 0;
  });
  const int64_t end_ns = now_ns() + 3'000'000'000;
  while (now_ns() < end_ns) {
    if (auto store = Store::open(sandbox.store()); store.ok()) {
      const RecoveryReport report = recover_dead_writers(*store);
      EXPECT_THAT(report.recovered, ::testing::IsEmpty());
      EXPECT_THAT(report.problems, ::testing::IsEmpty());
    }
    ::usleep(200);
  }
  EXPECT_GT(ledger->copies.load(), 20);
  ::kill(child, SIGKILL);
  ASSERT_EQ(exit_code_of(wait_child(child)), -1 - SIGKILL);
  ReadRun read = recover_and_read(sandbox.store());
  EXPECT_THAT(read.problems, ::testing::IsEmpty());
  const History rows = rows_of(read, "x");
  EXPECT_GE(static_cast<int64_t>(rows.size()), ledger->returned.load());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
}

}  // namespace
}  // namespace tracker::internal
