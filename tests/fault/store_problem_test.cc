// SPDX-License-Identifier: MIT
// A store that cannot be made or written costs one line on stderr; the run continues, status() shows it, and everything
// is stored when the disk is back. Method: a file in the way of the store, or a small tmpfs that is filled, both
// removed during the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/account_reader.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/mounts.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

bool wait_until(trk_run* run, int32_t degraded) {
  const int64_t deadline = now_ns() + 20'000'000'000;
  while (status_of(run).degraded != degraded && now_ns() < deadline) sleep_ms(5);
  return status_of(run).degraded == degraded;
}

int log_and_free_the_way(const Sandbox& sandbox, const std::string& in_the_way) {
  redirect_stderr(sandbox.folder() + "/stderr");
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  const trk_status at_once = status_of(run);
  CHILD_CHECK(at_once.degraded == 1 && at_once.recording == 1 && at_once.last_error[0] != 0);
  CHILD_CHECK((at_once.survives & TRK_SURVIVES_PROCESS) != 0 && (at_once.survives & TRK_SURVIVES_POWER) == 0);
  for (int64_t step = 0; step < 5000; ++step)
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
  CHILD_CHECK(trk_flush(run, 300) == TRK_TIMEOUT);
  const trk_status later = status_of(run);
  CHILD_CHECK(later.degraded == 1 && later.points_pending == 5000 && later.points_stored == 0);
  remove_file(in_the_way);
  CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
  const trk_status good = status_of(run);
  CHILD_CHECK(good.degraded == 0 && good.points_stored == 5000 && good.points_pending == 0 && good.last_error[0] == 0);
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
  return 0;
}

TEST(StoreProblemTest, AStoreThatCannotBeMadeIsSaidOnceAndMadeWhenItCan) {
  Sandbox sandbox;
  const std::string in_the_way = sandbox.store();
  std::ofstream(in_the_way) << "not a folder";
  EXPECT_EQ(exit_code_of(run_child([&] { return log_and_free_the_way(sandbox, in_the_way); })), 0);
  const std::vector<std::string> lines = lines_of(sandbox.folder() + "/stderr");
  ASSERT_EQ(lines.size(), 2u) << ::testing::PrintToString(lines);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("the store cannot be written"));
  EXPECT_THAT(lines[0], ::testing::HasSubstr(sandbox.store()));
  EXPECT_THAT(lines[1], ::testing::HasSubstr("can be written again"));
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(rows_of(run, "x").size(), 5000u);
  EXPECT_EQ(run.view->state(), RunState::kFinished);
}

// Promise P1: A run whose store was never made is recovered from rings and definitions alone.
TEST(StoreProblemTest, AKillBeforeTheStoreCouldBeMadeLosesNothing) {
  Sandbox sandbox;
  std::ofstream(sandbox.store()) << "not a folder";
  EXPECT_EQ(exit_code_of(run_child([&] {
              redirect_stderr("/dev/null");
              trk_run* run = open_run("r");
              for (int64_t step = 0; step < 5000; ++step)
                CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
              sleep_ms(400);  // into the spill file
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  remove_file(sandbox.store());
  ASSERT_TRUE(Store::open_or_create(sandbox.store()).ok());
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(rows_of(run, "x").size(), 5000u);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
}

TEST(StoreProblemTest, ALabelThatIsTakenMeanwhileGivesOneOtherFolder) {
  Sandbox sandbox;
  std::ofstream(sandbox.store()) << "not a folder";
  EXPECT_EQ(
      exit_code_of(run_child([&] {
        redirect_stderr("/dev/null");
        trk_run* run = open_run("same");
        CHILD_CHECK(run != nullptr && trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK);
        // The store appears with the label taken and, for a while, no databases possible: a folder where they
        // would lie.
        const std::string ready = sandbox.folder() + "/ready";
        auto store = Store::open_or_create(ready);
        CHILD_CHECK(store.ok() && store->create_run("p", "same").ok());
        remove_file(sandbox.store());
        CHILD_CHECK(::rename(ready.c_str(), sandbox.store().c_str()) == 0);
        // Bug: the run continued to report "same", and that other run's folder.
        const char *before = trk_run_id(run), *dir_before = trk_run_dir(run);
        CHILD_CHECK(std::string(before) == "same");
        CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
        CHILD_CHECK(std::string(trk_run_id(run)) == "same-2");
        CHILD_CHECK(trk_run_dir(run) == sandbox.store() + "/runs/p/same-2");
        CHILD_CHECK(std::string(before) == "same" && dir_before == sandbox.store() + "/runs/p/same");  // still there
        CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
        return 0;
      })),
      0);
  ReadRun run = recover_and_read(sandbox.store(), "same-2");
  EXPECT_EQ(run.runs, 2u);
  EXPECT_EQ(rows_of(run, "x").size(), 1u);
}

constexpr uint64_t kDropsMin = 20;

int log_onto_a_full_disk(const Sandbox& sandbox, const char* on_full, const char* files) {
  ::setenv("TRACKER_STORE_FILES", files, 1);
  if (!mount_tmpfs(sandbox.folder(), "96m")) return kNoMounts;
  redirect_stderr(sandbox.shm() + "/stderr");
  AccountReader reader(sandbox.store());
  trk_run* run = open_run("r", on_full);
  CHILD_CHECK(run != nullptr && trk_log_i64(run, "x", TRK_NUL_TERMINATED, 0, 0) == TRK_OK &&
              trk_flush(run, 20'000) == TRK_OK);
  const std::string filler = fill_up(sandbox.folder());
  uint64_t accepted = 1, dropped = 0;
  std::mt19937_64 random(1);
  // At first at a pace that the journal has room for, then faster until it has been full for many calls.
  const int64_t paced = now_ns() + 1'500'000'000, deadline = paced + 60'000'000'000;
  for (int64_t step = 1; now_ns() < paced || (dropped < kDropsMin && now_ns() < deadline); ++step) {
    const trk_code code = trk_log_i64(run, "x", TRK_NUL_TERMINATED, static_cast<int64_t>(random()), step);
    CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT);
    (code == TRK_OK ? accepted : dropped) += 1;
    if (step % 20 == 0 && now_ns() < paced) ::usleep(200);
  }
  CHILD_CHECK(dropped >= kDropsMin);
  CHILD_CHECK(wait_until(run, 1));
  const trk_status full = status_of(run);
  CHILD_CHECK(full.points_dropped == dropped && full.points_stored + full.points_pending == accepted);
  CHILD_CHECK(reader.agrees_with(full));
  CHILD_CHECK((full.survives & TRK_SURVIVES_PROCESS) != 0 && (full.survives & TRK_SURVIVES_CONTAINER) == 0);
  remove_file(filler);
  CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK && wait_until(run, 0));
  CHILD_CHECK(status_of(run).points_stored == accepted && status_of(run).points_dropped == dropped);
  (void)trk_finish(run, 0, nullptr);  // of two million points a busy machine does not compact all within its bound
  ReadRun back = recover_and_read(sandbox.store());
  CHILD_CHECK(rows_of(back, "x").size() == accepted && back.view->losses().dropped == dropped && back.problems.empty());
  const std::vector<std::string> lines = lines_of(sandbox.shm() + "/stderr");
  const std::string said = lines.size() == 3 ? lines[0] + lines[1] + lines[2] : "";  // a busy machine drops first
  CHILD_CHECK(said.find("cannot be written") != std::string::npos);
  CHILD_CHECK(said.find("dropped and counted") != std::string::npos);
  return 0;
}

// `then` with the disk full and finish() over: the process ends, or lives on and the disk gets room.
int finish_onto_a_full_disk(const Sandbox& sandbox, const std::function<void(const std::string&, trk_run*)>& then) {
  redirect_stderr(sandbox.shm() + "/stderr");
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr && trk_log_i64(run, "x", TRK_NUL_TERMINATED, 0, 0) == TRK_OK &&
              trk_flush(run, 20'000) == TRK_OK);
  const std::string filler = fill_up(sandbox.folder());
  for (int64_t step = 1; step < 5000; ++step)
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
  const int64_t before = now_ns();
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_TIMEOUT);
  CHILD_CHECK(now_ns() - before < 10'000'000'000);
  then(filler, run);
  return 0;
}

TEST(FinishOnAFullDiskTest, ItReturnsInTimeAndTheNextOpenRecoversAllAndTheEnd) {
  Sandbox sandbox;
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.folder(), "6m")) return kNoMounts;
    const int ended = exit_code_of(
        run_child([&] { return finish_onto_a_full_disk(sandbox, [](const std::string&, trk_run*) { ::_exit(0); }); }));
    CHILD_CHECK(ended == 0);
    // While it is full a recoverer harms nothing and leaves the journal.
    CHILD_CHECK(!recover_and_read(sandbox.store()).problems.empty() && sandbox.journal_folders().size() == 1);
    remove_file(sandbox.folder() + "/filler");
    ReadRun back = recover_and_read(sandbox.store());
    CHILD_CHECK(back.problems.empty() && rows_of(back, "x").size() == 5000);
    CHILD_CHECK(back.view->state() == RunState::kFinished && sandbox.journal_folders().empty());
    return 0;
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
}

TEST(FinishOnAFullDiskTest, AProcessThatLivesOnStoresItAsSoonAsThereIsRoom) {
  Sandbox sandbox;
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.folder(), "6m")) return kNoMounts;
    return finish_onto_a_full_disk(sandbox, [&](const std::string& filler, trk_run* run) {
      remove_file(filler);
      const int64_t deadline = now_ns() + 20'000'000'000;
      while (!sandbox.journal_folders().empty() && now_ns() < deadline) sleep_ms(5);
      CHILD_CHECK(sandbox.journal_folders().empty() && status_of(run).points_stored == 5000);
      ReadRun back = recover_and_read(sandbox.store());
      CHILD_CHECK(back.problems.empty() && rows_of(back, "x").size() == 5000);
      CHILD_CHECK(back.view->state() == RunState::kFinished);
    });
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
}

class FullDiskTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(FullDiskTest, WhatIsLoggedOntoAFullDiskIsStoredWhenThereIsRoomAgain) {
  Sandbox sandbox;
  const int code = exit_code_of(run_child([&] {
    return std::apply(
        [&](const char* on_full, const char* files) { return log_onto_a_full_disk(sandbox, on_full, files); },
        GetParam());
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/stderr"));
}

INSTANTIATE_TEST_SUITE_P(OnFull, FullDiskTest,
                         ::testing::Combine(::testing::Values("wait", "drop"), ::testing::Values("sqlite", "frames")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace tracker::internal
