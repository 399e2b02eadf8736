// SPDX-License-Identifier: MIT
// F16. A run that finish() has ended on a disk that took nothing is what it said it is, also before anybody has stored
// that: the end lies in its journal. Method: a child ends its run on a full disk and exits; the run is read by who
// recovers nothing, then by who does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>

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

// The run lacks its last point and its end, as a full disk leaves it.
void end_on_a_full_disk(const Sandbox& sandbox, const End& end) {
  const int status = run_child([&] {
    set_faulty_folder(sandbox.folder());
    const auto run = begin_run("block");
    log_step(run.get(), 1);
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    faulty_disk().write_errno = ENOSPC;
    log_step(run.get(), 2);
    const Status ended = run->finish(end.state, end.exit_code, "why", std::chrono::milliseconds(300));
    CHILD_CHECK(ended.code() == Code::kTimeout);
    ::_exit(7);
    return 0;
  });
  ASSERT_EQ(exit_code_of(status), 7);
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
