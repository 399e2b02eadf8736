// SPDX-License-Identifier: MIT
// While another process recovers a dead run's journal, nobody takes the dead process for a living one, and nobody reads
// half of the run without a word. Method: a child holds the journal as a recoverer does, for longer than is waited, or
// dies meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "journal/liveness.h"
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
  EXPECT_LT(now_ns() - before, 20'000'000'000);
  auto view = RunView::open(*store->find_run("p", "r"));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->state(), RunState::kCrashed);
  const uint64_t waiting = static_cast<uint64_t>(kRows) - (*view)->points();
  EXPECT_GT(waiting, 0u);
  EXPECT_THAT(report.unfinished, ::testing::ElementsAre(::testing::HasSubstr(std::to_string(waiting) + " points")));
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

}  // namespace
}  // namespace tracker::internal
