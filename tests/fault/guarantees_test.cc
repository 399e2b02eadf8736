// SPDX-License-Identifier: MIT
// status() shows what is survived right now with each kind of journal, and it is true: a kill loses nothing if the
// process is survived. Of a small /dev/shm an eighth is used. Method: one run a kind, killed; a tmpfs in a mount
// namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "support/child.h"
#include "support/conditions.h"
#include "support/mounts.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kProcess = TRK_SURVIVES_PROCESS, kContainer = TRK_SURVIVES_CONTAINER, kPower = TRK_SURVIVES_POWER;

struct Kind {
  const char* journal;
  uint32_t survives;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.journal; }

class GuaranteesTest : public ::testing::TestWithParam<Kind> {};

// Promise P1: `status()` names what is survived right now, for each kind of journal.
TEST_P(GuaranteesTest, WhatSurvivesWhatIsSaidForEachKindOfJournal) {
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([&] {
              redirect_stderr("/dev/null");
              trk_run* run = open_run("r", nullptr, GetParam().journal);
              CHILD_CHECK(run != nullptr);
              CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK);
              CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
              const trk_status status = status_of(run);
              CHILD_CHECK(std::strcmp(status.journal, GetParam().journal) == 0);
              CHILD_CHECK(status.survives == GetParam().survives);
              for (int64_t step = 2; step <= 1000; ++step)
                CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  ReadRun run = recover_and_read(sandbox.store());
  const size_t rows = rows_of(run, "x").size();
  if ((GetParam().survives & kProcess) != 0) EXPECT_EQ(rows, 1000u);
  else EXPECT_GE(rows, 1u) << "what was committed";
}

INSTANTIATE_TEST_SUITE_P(Journals, GuaranteesTest,
                         ::testing::Values(Kind{"shm", kProcess | kContainer | kPower},
                                           Kind{"disk", kProcess | kContainer | kPower},
                                           Kind{"memory", kContainer | kPower}),
                         [](const auto& test) { return std::string(test.param.journal); });

TEST(GuaranteesTest, AProcessThatRecordsNothingSurvivesNothing) {
  Sandbox sandbox;
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.mode = "disabled";
  trk_run* run = nullptr;
  ASSERT_EQ(trk_init(&options, &run, nullptr), TRK_OK);
  EXPECT_EQ(status_of(run).survives, 0u);
  EXPECT_STREQ(status_of(run).journal, "none");
  trk_free(run);
}

bool is_about(uint64_t bytes, uint64_t expected) { return bytes <= expected && bytes > expected - expected / 20; }

uint64_t bytes_in(const std::string& folder) {
  uint64_t out = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename() != "defs") out += entry.file_size();
  return out;
}

TEST(SmallShmBudgetTest, AnEighthOfItsFreeSpaceIsTaken) {
  Sandbox sandbox;
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.shm(), "64m")) return kNoMounts;
    CHILD_CHECK(is_about(choose_place("", sandbox.store()).budget_bytes, 8u << 20));
    std::ofstream(sandbox.shm() + "/others") << std::string(32u << 20, 'x');
    const uint64_t budget = choose_place("", sandbox.store()).budget_bytes;
    CHILD_CHECK(is_about(budget, 4u << 20));
    trk_run* run = open_run("r", "drop");
    CHILD_CHECK(run != nullptr && std::strcmp(status_of(run).journal, "shm") == 0);
    trk_metric* metric = trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr);
    const int64_t deadline = now_ns() + 500'000'000;
    for (int64_t step = 0; now_ns() < deadline; ++step) (void)trk_metric_log_i64(metric, step, step);
    CHILD_CHECK(bytes_in(sandbox.journal_folders().at(0)) <= budget);
    return 0;
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace tracker::internal
