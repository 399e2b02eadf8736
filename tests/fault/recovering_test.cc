// SPDX-License-Identifier: MIT
// While another process or thread recovers a dead run's journal, the dead process is not considered alive, and a reader
// that gets only part of the run reports it. Method: a child or a thread holds the journal as a recoverer does, for
// longer than readers wait, or releases it meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "journal/ring/liveness.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int64_t kRows = 3000;

void make_run_to_recover() {
  const int status = run_child([] {
    trk_run* run = open_run("r", "block");
    CHILD_CHECK(run != nullptr);
    for (int64_t step = 0; step < kRows; ++step) {
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
      if (step == 999) CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    }
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
}

// Holds the journal for so long, and dies before anything of it is stored.
pid_t start_recoverer(const std::string& dir, std::atomic<int>* holds, int ms) {
  const pid_t child = start_child([=] {
    auto journal = DeadJournal::open(dir);
    CHILD_CHECK(journal.ok());
    holds->store(1);
    sleep_ms(ms);
    ::raise(SIGKILL);
    return 0;
  });
  while (holds->load() == 0) ::usleep(1000);
  return child;
}

// It once was "running", and what was read of it lacked 2,000 rows without a word.
TEST(RecoveringTest, ARunThatAnotherProcessRecoversIsCrashedAndWhatWaitsIsSaid) {
  Sandbox sandbox;
  make_run_to_recover();
  ASSERT_FALSE(HasFailure());
  Shared<std::atomic<int>> holds;
  const std::string dir = sandbox.journal_folders().at(0);
  const pid_t child = start_recoverer(dir, &*holds, 60'000);
  EXPECT_EQ(probe_journal(read_definitions(dir)->identity, dir), Liveness::kDead);
  const auto store = Store::open(sandbox.store());
  const int64_t before = now_ns();
  const RecoveryReport report = recover_dead_writers(*store);
  EXPECT_GT(now_ns() - before, 1'900'000'000);
  EXPECT_LT(now_ns() - before, 10'000'000'000);
  auto view = RunView::open(*store->find_run("p", "r"));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->state(), RunState::kCrashed);
  const uint64_t waiting = static_cast<uint64_t>(kRows) - (*view)->points();
  EXPECT_GT(waiting, 0u);
  ASSERT_EQ(report.unfinished.size(), 1u);
  EXPECT_THAT(report.unfinished[0].text, ::testing::HasSubstr(std::to_string(waiting) + " points"));
  EXPECT_EQ(report.unfinished[0].run.uid, (*view)->identity().uid);
  ::kill(child, SIGKILL);
  wait_child(child);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(rows_of(run, "x").size(), static_cast<size_t>(kRows));
}

TEST(RecoveringTest, ARecovererThatIsGoneInAMomentIsWaitedFor) {
  Sandbox sandbox;
  make_run_to_recover();
  ASSERT_FALSE(HasFailure());
  Shared<std::atomic<int>> holds;
  const pid_t child = start_recoverer(sandbox.journal_folders().at(0), &*holds, 300);
  ReadRun run = recover_and_read(sandbox.store());
  wait_child(child);
  EXPECT_EQ(rows_of(run, "x").size(), static_cast<size_t>(kRows));
}

// Bug: only points were counted, and unreadable rings were not reported.
TEST(RecoveringTest, WhereOnlyRingsWaitThatNobodyCanReadThatIsSaidToo) {
  Sandbox sandbox;
  make_run_to_recover();
  ASSERT_FALSE(HasFailure());
  const std::string dir = sandbox.journal_folders().at(0);
  for (const std::string& name : list_dir(dir).value_or({})) {
    if (!name.starts_with("ring-")) continue;
    std::filesystem::remove(join_path(dir, name));
    std::filesystem::create_directory(join_path(dir, name));
  }
  Shared<std::atomic<int>> holds;
  const pid_t child = start_recoverer(dir, &*holds, 60'000);
  const RecoveryReport report = recover_dead_writers(*Store::open(sandbox.store()));
  ::kill(child, SIGKILL);
  wait_child(child);
  ASSERT_EQ(report.unfinished.size(), 1u);
  EXPECT_THAT(report.unfinished[0].text,
              ::testing::StartsWith("an unknown number of points in 1 ring that cannot be read of p/r"));
}

// A thread of this process that recovers the journal for so long, and then leaves it as it was.
std::thread recovering_thread(const std::string& dir, std::atomic<int>* holds, int ms) {
  std::thread out([=] {
    auto journal = DeadJournal::open(dir);
    EXPECT_TRUE(journal.ok());
    holds->store(1);
    sleep_ms(ms);
  });
  while (holds->load() == 0) ::usleep(1000);
  return out;
}

// Bug: it was treated as a journal that this process writes, and not read.
TEST(RecoveringTest, AnotherThreadOfThisProcessIsWaitedForLikeAnotherProcess) {
  Sandbox sandbox;
  make_run_to_recover();
  ASSERT_FALSE(HasFailure());
  std::atomic<int> holds{0};
  std::thread other = recovering_thread(sandbox.journal_folders().at(0), &holds, 300);
  ReadRun run = recover_and_read(sandbox.store());
  other.join();
  EXPECT_EQ(rows_of(run, "x").size(), static_cast<size_t>(kRows));
}

TEST(RecoveringTest, WhereAnotherThreadIsNotDoneInTimeWhatIsMissingIsSaid) {
  Sandbox sandbox;
  make_run_to_recover();
  ASSERT_FALSE(HasFailure());
  const std::string dir = sandbox.journal_folders().at(0);
  std::atomic<int> holds{0};
  const int longer = static_cast<int>(std::chrono::milliseconds(kRecovererWait).count()) + 2000;
  std::thread other = recovering_thread(dir, &holds, longer);
  EXPECT_EQ(probe_journal(read_definitions(dir)->identity, dir), Liveness::kDead);
  const RecoveryReport report = recover_dead_writers(*Store::open(sandbox.store()));
  other.join();
  EXPECT_TRUE(report.recovered.empty());
  ASSERT_EQ(report.unfinished.size(), 1u);
  EXPECT_THAT(report.unfinished[0].text, ::testing::HasSubstr("another process or thread has been recovering it"));
}

}  // namespace
}  // namespace tracker::internal
