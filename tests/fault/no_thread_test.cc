// SPDX-License-Identifier: MIT
// A process that may start no thread (RLIMIT_NPROC, a full cgroup): the next command recovers what fits its rings, the
// rest is counted, and one line reports it. Method: children without the right to a second thread; root becomes a user
// of its own first, because that limit does not bind root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/child.h"
#include "support/conditions.h"
#include "support/no_threads.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

class NoThreadTest : public testing::Test {
 protected:
  NoThreadTest() {
    for (const std::string& folder : {sandbox_.folder(), sandbox_.shm()})
      std::filesystem::permissions(folder, std::filesystem::perms::all);
    if (exit_code_of(run_child([] { return forbid_threads() ? 0 : 1; })) != 0) can_forbid_ = false;
  }
  // Runs `body` in such a process.
  void without_threads(const std::function<int()>& body, int expected = 0) {
    EXPECT_EQ(exit_code_of(run_child([&] {
                redirect_stderr(sandbox_.folder() + "/stderr");
                CHILD_CHECK(forbid_threads());
                return body();
              })),
              expected);
  }
  std::vector<std::string> said() const { return lines_of(sandbox_.folder() + "/stderr"); }
  // The points of "x" and the state, as the next process of the same user finds them.
  void expect_recovered(size_t points, RunState state) {
    EXPECT_EQ(exit_code_of(run_child([&] {
                become_user();
                ReadRun run = recover_and_read(sandbox_.store());
                CHILD_CHECK(run.problems.empty() && run.view != nullptr && run.view->state() == state);
                CHILD_CHECK(rows_of(run, "x").size() == points);
                return 0;
              })),
              0);
  }

  Sandbox sandbox_;
  bool can_forbid_ = true;
};

void log_steps(trk_run* run, int64_t from, int64_t to) {
  for (int64_t step = from; step < to; ++step)
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
}

TEST_F(NoThreadTest, WhatFitsTheRingsIsRecoveredByTheNextCommandAndTheRestIsCounted) {
  SKIP_WHERE(kSanitized || !can_forbid_, kThreadLimit);
  uint64_t kept = 0;
  const std::string counts = sandbox_.folder() + "/kept";
  without_threads([&] {
    trk_run* run = open_run("r", "block");  // no thread frees a ring, so a call does not wait for one
    CHILD_CHECK(run != nullptr);
    log_steps(run, 0, 1000);
    const trk_status before = status_of(run);
    CHILD_CHECK(before.recording == 1 && before.degraded == 1 && before.points_pending == 1000);
    CHILD_CHECK((before.survives & TRK_SURVIVES_PROCESS) != 0 && (before.survives & TRK_SURVIVES_CONTAINER) == 0);
    CHILD_CHECK(std::string_view(before.last_error).find("no thread") != std::string_view::npos);
    CHILD_CHECK(trk_flush(run, 10'000) == TRK_TIMEOUT);
    for (int64_t step = 1000; step < 1'000'000; ++step) (void)trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step);
    const trk_status full = status_of(run);
    CHILD_CHECK(full.points_logged == 1'000'000 && full.points_dropped > 0);
    std::ofstream(counts) << full.points_logged - full.points_dropped;
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_TIMEOUT);
    return 0;
  });
  std::ifstream(counts) >> kept;
  EXPECT_GT(kept, 1000u);
  ASSERT_FALSE(said().empty());
  EXPECT_THAT(said().front(), testing::HasSubstr("no thread can be started"));
  expect_recovered(kept, RunState::kFinished);
}

TEST_F(NoThreadTest, AStrictRunIsRefusedAtOnceAndLeavesNoJournal) {
  SKIP_WHERE(kSanitized || !can_forbid_, kThreadLimit);
  without_threads([&] {
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.strict = 1;
    trk_run* run = nullptr;
    trk_error error = TRK_ERROR_INIT;
    CHILD_CHECK(trk_init(&options, &run, &error) == TRK_IO && run == nullptr);
    CHILD_CHECK(std::string_view(error.message).find("cannot start a thread") != std::string_view::npos);
    CHILD_CHECK(sandbox_.journal_folders().empty());
    return 0;
  });
}

}  // namespace
}  // namespace tracker::internal
