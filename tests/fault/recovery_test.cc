// SPDX-License-Identifier: MIT
// Any number of recoverers, killed at any step, do no harm. Method: a killed run is recovered by several processes at
// once, by processes killed at random instants, and by one that is killed before each single system call; then the
// model is compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>

#include "journal/spill.h"
#include "support/child.h"
#include "support/integrity.h"
#include "support/kill_at_call.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

// A run with `points` points of which about the first half is committed; then kill -9.
void make_dead_run(int64_t points) {
  const int status = run_child([&] {
    trk_run* run = open_run("r", "block");
    CHILD_CHECK(run != nullptr);
    trk_metric* metric = trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr);
    for (int64_t step = 0; step < points; ++step) {
      CHILD_CHECK(trk_metric_log_i64(metric, step * 3, step) == TRK_OK);
      if (step == points / 2) CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    }
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
}

int recover_once(const std::string& store_path) {
  auto store = Store::open(store_path);
  CHILD_CHECK(store.ok());
  return recover_dead_writers(*store).problems.empty() ? 0 : 1;
}

void expect_whole(const Sandbox& sandbox, int64_t points) {
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  const History rows = rows_of(run, "x");
  ASSERT_EQ(static_cast<int64_t>(rows.size()), points);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    ASSERT_EQ(rows.bits[i], i * 3);
  }
  EXPECT_EQ(run.view->state(), RunState::kCrashed);
  EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
}

TEST(RecoveryTest, RecoverersThatRaceMakeOneWholeRun) {
  for (int round = 0; round < test_count(10); ++round) {
    Sandbox sandbox;
    make_dead_run(5000);
    Shared<std::atomic<int>> go;
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i)
      children.push_back(start_child([&] {
        while (go->load() == 0) {}
        return recover_once(sandbox.store());
      }));
    go->store(1);
    for (const pid_t child : children) EXPECT_EQ(exit_code_of(wait_child(child)), 0);
    expect_whole(sandbox, 5000);
    EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
  }
}

TEST(RecoveryTest, RecoverersKilledAtRandomInstantsLoseAndDoubleNothing) {
  std::mt19937_64 random(test_seed("recovery"));
  for (int round = 0; round < test_count(15) && !HasFailure(); ++round) {
    Sandbox sandbox;
    make_dead_run(20'000);
    for (int i = 0; i < 6; ++i) {
      const pid_t first = start_child([&] { return recover_once(sandbox.store()); });
      const pid_t second = start_child([&] { return recover_once(sandbox.store()); });
      ::usleep(static_cast<useconds_t>(random() % 6000));
      ::kill(first, SIGKILL);
      ::usleep(static_cast<useconds_t>(random() % 3000));
      ::kill(second, SIGKILL);
      wait_child(first);
      wait_child(second);
    }
    expect_whole(sandbox, 20'000);
  }
}

TEST(RecoveryTest, ARecovererKilledBeforeAnySystemCallLeavesTheRunRecoverable) {
  Sandbox sandbox;
  make_dead_run(300);
  const auto options = std::filesystem::copy_options::recursive;
  const std::string store_copy = sandbox.folder() + "/store-copy", shm_copy = sandbox.folder() + "/shm-copy";
  std::filesystem::copy(sandbox.store(), store_copy, options);
  std::filesystem::copy(sandbox.journals(), shm_copy, options);
  const int stride = std::getenv("TRACKER_TEST_KILLS") != nullptr ? 1 : kSlowDown == 1 ? 4 : 47;
  int kills = 0;
  for (int at = 0; !HasFailure(); at += stride, ++kills) {
    SCOPED_TRACE("killed before system call " + std::to_string(at));
    std::filesystem::remove_all(sandbox.store());
    std::filesystem::remove_all(sandbox.journals());
    std::filesystem::copy(store_copy, sandbox.store(), options);
    std::filesystem::copy(shm_copy, sandbox.journals(), options);
    for (const std::string& path : {sandbox.journals(), sandbox.journal_folders().at(0)}) ::chmod(path.c_str(), 0700);
    const bool killed = killed_at_call(at, [&] { return recover_once(sandbox.store()); });
    expect_whole(sandbox, 300);
    if (!killed) break;
  }
  EXPECT_GT(kills, 10) << "is ptrace allowed here?";
  std::printf("killed before %d system calls\n", kills);
}

TEST(RecoveryTest, TheNextInitRecoversOtherDeadRunsWithoutBeingAsked) {
  Sandbox sandbox;
  make_dead_run(5000);
  const std::vector<std::string> dead = sandbox.journal_folders();
  ASSERT_EQ(dead.size(), 1u);
  const int status = run_child([&] {
    trk_run* run = open_run("another");
    CHILD_CHECK(run != nullptr);
    const int64_t deadline = now_ns() + 10'000'000'000;
    while (path_exists(dead[0]) && now_ns() < deadline) sleep_ms(5);
    CHILD_CHECK(!path_exists(dead[0]));
    trk_free(run);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  auto view = RunView::open(*store->find_run("p", "r"));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->points(), 5000u);
  EXPECT_EQ((*view)->losses().recovered, 5000u - 2501u);
}

TEST(RecoveryTest, AJournalOfAnotherStoreIsLeftAlone) {
  Sandbox sandbox;
  make_dead_run(300);
  auto other = Store::open_or_create(sandbox.folder() + "/other");
  ASSERT_TRUE(other.ok());
  const RecoveryReport report = recover_dead_writers(*other);
  EXPECT_TRUE(report.recovered.empty());
  EXPECT_THAT(report.problems, ::testing::IsEmpty());
  EXPECT_TRUE(other->list_runs().empty());
  expect_whole(sandbox, 300);
}

// What follows a gap in the spill file still lies in the rings: both would be the same points twice.
TEST(RecoveryTest, FramesBehindAGapInTheSpillFileAreNotReplayed) {
  Sandbox sandbox;
  make_dead_run(300);
  const std::string dir = sandbox.journal_folders().at(0);
  const WriterIdentity writer = read_definitions(dir)->identity;
  auto view = RunView::open(Store::open(sandbox.store())->list_runs().at(0));
  const uint64_t last = (*view)->writers().at(0).last_seq;
  uint64_t nonce = 0;
  std::memcpy(&nonce, writer.writer.bytes.data(), sizeof nonce);
  SpillFile spill(dir, nonce);
  ASSERT_TRUE(spill.append(record_of(test_frame(writer, last + 2)), 1u << 20));
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(run.view->points(), 300u);
  EXPECT_EQ(rows_of(run, "x").size(), 300u);
}

}  // namespace
}  // namespace tracker::internal
