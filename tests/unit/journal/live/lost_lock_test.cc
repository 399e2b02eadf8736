// SPDX-License-Identifier: MIT
// A journal whose lock file alone was unlinked: recovered when its process is known to be dead, left alone while it
// lives or when it is unknown. Method: journals of killed and of stopped children; definitions that name another pid
// namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "journal/dead/dead_journal.h"
#include "support/child.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

pid_t start_logger(const Sandbox& sandbox, std::atomic<int>* ready, uint64_t pid_namespace = 0) {
  return start_child([&, pid_namespace] {
    LiveJournal journal(sandbox, {});
    CHILD_CHECK(journal.log(journal->series_id("x", ValueType::kInt64), 1, 1) == Code::kOk);
    if (pid_namespace != 0) {
      WriterIdentity other = journal.identity();
      other.pid_namespace = pid_namespace;
      const std::string path = join_path(other.journal_dir, "defs");
      remove_file(path);
      CHILD_CHECK(DefinitionsFile::create(path, other).ok());
    }
    ready->store(1);
    sleep_ms(60'000);
    return 0;
  });
}

Code code_of(const std::string& dir) { return DeadJournal::open(dir).status().code(); }

// Promise P1: Without its lock file a journal is recovered only where its process is known to be dead.
TEST(LostLockTest, OfADeadProcessItIsMadeAnewAndOfALivingOneNothingIsTouched) {
  Sandbox sandbox;
  Shared<std::atomic<int>> ready;
  const pid_t child = start_logger(sandbox, &*ready);
  while (ready->load() == 0) ::usleep(1000);
  const std::string dir = sandbox.journal_folders().at(0);
  ::kill(child, SIGSTOP);  // it replaces nothing
  remove_file(join_path(dir, "lock"));
  EXPECT_EQ(code_of(dir), Code::kBusy);
  EXPECT_FALSE(path_exists(join_path(dir, "lock")));
  ::kill(child, SIGKILL);
  wait_child(child);
  auto journal = DeadJournal::open(dir);
  ASSERT_TRUE(journal.ok()) << journal.status().to_string();
  EXPECT_EQ(exit_code_of(run_child([&] { return static_cast<int>(code_of(dir)); })), static_cast<int>(Code::kBusy));
  (*journal)->remove();
  EXPECT_FALSE(path_exists(dir));
}

TEST(LostLockTest, WhereNobodyCanTellItIsNamedAndLeftAlone) {
  Sandbox sandbox;
  Shared<std::atomic<int>> ready;
  const pid_t child = start_logger(sandbox, &*ready, 1);
  while (ready->load() == 0) ::usleep(1000);
  ::kill(child, SIGKILL);
  wait_child(child);
  const std::string dir = sandbox.journal_folders().at(0);
  remove_file(join_path(dir, "lock"));
  auto journal = DeadJournal::open(dir);
  EXPECT_EQ(journal.status().code(), Code::kCorrupt);
  EXPECT_THAT(journal.status().to_string(), ::testing::HasSubstr(dir + " has no lock file"));
  EXPECT_FALSE(path_exists(join_path(dir, "lock")));
  EXPECT_EQ(list_dir(dir)->size(), 2u) << "ring and definitions are there";
}

TEST(LostLockTest, WhatIsRecoveredMeanwhileLeavesNoLockFileBehind) {
  Sandbox sandbox;
  EXPECT_EQ(DeadJournal::open(sandbox.shm() + "/no-such-journal").status().code(), Code::kNotFound);
  EXPECT_FALSE(path_exists(sandbox.shm() + "/no-such-journal"));
}

}  // namespace
}  // namespace tracker::internal
