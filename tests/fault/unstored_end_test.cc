// SPDX-License-Identifier: MIT
// F16. A run that finish() has ended on a full disk has the end that was given, also before a process has stored it:
// the end is in its journal. Method: a child ends its run on a full disk and exits; the run is read by a reader that
// recovers nothing, then by one that does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <ostream>
#include <vector>

#include "query/view/rank_status.h"
#include "support/child.h"
#include "support/faulty_disk.h"
#include "support/quiet_run.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

struct End {
  RunState state;
  int exit_code;
  const char* detail;
};
void PrintTo(const End& end, std::ostream* out) { *out << run_state_name(end.state); }

void log_step(Run* run, int64_t step) {
  const ValuePair pair{static_cast<uint64_t>(step), run->series_id("x", ValueType::kInt64), 0};
  CHILD_CHECK(log_pairs(run->hot(), &pair, 1, step) == Code::kOk);
}

// The run lacks its last point and its end, as a full disk leaves it. `ready`: of so many processes that share it.
pid_t start_to_end_on_a_full_disk(const Sandbox& sandbox, const End& end, std::atomic<int>* ready, int processes) {
  return start_child([&sandbox, end, ready, processes] {
    set_faulty_folder(sandbox.folder());
    const auto run = begin_run("block");
    log_step(run.get(), 1);
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    for (++*ready; ready->load() < processes;) ::usleep(500);
    faulty_disk().write_errno = ENOSPC;
    log_step(run.get(), 2);
    const Status ended = run->finish(end.state, end.exit_code, "why", std::chrono::milliseconds(300));
    CHILD_CHECK(ended.code() == Code::kTimeout);
    ::_exit(7);
    return 0;
  });
}

void end_on_a_full_disk(const Sandbox& sandbox, const End& end) {
  Shared<std::atomic<int>> ready;
  ASSERT_EQ(exit_code_of(wait_child(start_to_end_on_a_full_disk(sandbox, end, &*ready, 1))), 7);
}

class UnstoredEndTest : public ::testing::TestWithParam<End> {};

TEST_P(UnstoredEndTest, IsTheEndOfTheRunForReadersBeforeItIsStored) {
  Sandbox sandbox;
  ASSERT_NO_FATAL_FAILURE(end_on_a_full_disk(sandbox, GetParam()));
  const auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  const auto runs = store->list_runs();
  ASSERT_EQ(runs.size(), 1u);
  const auto before = RunView::open(runs[0]);
  ASSERT_TRUE(before.ok());
  EXPECT_EQ((*before)->state(), GetParam().state) << run_state_name((*before)->state());
  EXPECT_EQ((*before)->state_detail(),
            std::string(GetParam().detail) + "; the end is not stored yet: it waits in the journal");
  EXPECT_EQ(writer_state_text((*before)->writers().at(0), (*before)->liveness().at(0), realtime_us()),
            run_state_name(GetParam().state));
  EXPECT_EQ((*before)->losses().pending, 1u);
  ReadRun after = recover_and_read(sandbox.store());
  EXPECT_THAT(after.problems, ::testing::IsEmpty());
  EXPECT_EQ(after.view->state(), GetParam().state);
  EXPECT_EQ(after.view->state_detail(), GetParam().detail);
  EXPECT_EQ(rows_of(after, "x").size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(As, UnstoredEndTest,
                         ::testing::Values(End{RunState::kFinished, 0, "why"},
                                           End{RunState::kFailed, 3, "exit code 3: why"}),
                         [](const auto& test) { return std::string(run_state_name(test.param.state)); });

RunState state_in(const std::string& store_path, std::string* detail = nullptr) {
  const auto store = Store::open(store_path);
  const auto view = RunView::open(store->list_runs().at(0));
  if (detail != nullptr) *detail = (*view)->state_detail();
  return (*view)->state();
}

TEST(UnstoredEndOfNobodyTest, InACopyOfTheStoreNothingWaits) {
  Sandbox sandbox;
  ASSERT_NO_FATAL_FAILURE(end_on_a_full_disk(sandbox, {RunState::kFinished, 0, ""}));
  std::filesystem::copy(sandbox.store(), sandbox.folder() + "/copy", std::filesystem::copy_options::recursive);
  EXPECT_EQ(state_in(sandbox.store()), RunState::kFinished);
  EXPECT_EQ(state_in(sandbox.folder() + "/copy"), RunState::kCrashed);
}

TEST(UnstoredEndOfNobodyTest, WhereOthersMayHaveWrittenTheJournalItIsNotBelieved) {
  Sandbox sandbox;
  ASSERT_NO_FATAL_FAILURE(end_on_a_full_disk(sandbox, {RunState::kFinished, 0, ""}));
  ASSERT_EQ(::chmod(sandbox.journals().c_str(), 0777), 0);
  EXPECT_EQ(state_in(sandbox.store()), RunState::kCrashed);
}

TEST(UnstoredEndOfNobodyTest, OfAnotherRankItIsNoCrashOfThat) {
  Sandbox sandbox;
  Shared<std::atomic<int>> ready;
  std::vector<pid_t> ranks;
  for (const char* rank : {"0", "1"}) {
    ::setenv("RANK", rank, 1);
    ::setenv("WORLD_SIZE", "2", 1);
    ::setenv("TRACKER_RANKS", "all", 1);
    ranks.push_back(start_to_end_on_a_full_disk(sandbox, {RunState::kFinished, 0, ""}, &*ready, 2));
  }
  for (const pid_t rank : ranks) ASSERT_EQ(exit_code_of(wait_child(rank)), 7);
  for (const char* name : {"RANK", "WORLD_SIZE", "TRACKER_RANKS"}) ::unsetenv(name);
  std::string detail;
  EXPECT_EQ(state_in(sandbox.store(), &detail), RunState::kFinished);
  EXPECT_EQ(detail, "why; the end is not stored yet: it waits in the journal");
}

TEST(UnstoredEndOfNobodyTest, WhereItsJournalIsDamagedTheRunHasCrashed) {
  Sandbox sandbox;
  ASSERT_NO_FATAL_FAILURE(end_on_a_full_disk(sandbox, {RunState::kFinished, 0, ""}));
  const auto journals = sandbox.journal_folders();
  ASSERT_EQ(journals.size(), 1u);
  std::filesystem::resize_file(journals[0] + "/defs", 20);
  const auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  const auto view = RunView::open(store->list_runs().at(0));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->state(), RunState::kCrashed);
}

}  // namespace
}  // namespace tracker::internal
