// SPDX-License-Identifier: MIT
// The log of a live database that is removed in the middle of a commit is put back before anybody is told that the
// commit is durable; a link in the place of a live file is none of ours, whatever it names; what goes when an earlier
// state is copied into live files is counted. Method: a disk whose fsync takes its time, or files that are moved or
// copied; in a child that is killed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "run/run.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/faulty_disk.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int64_t kPoints = 3000;

void log_steps(trk_run* run, int64_t from, int64_t to) {
  for (int64_t step = from; step < to; ++step)
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
}

trk_run* begin() {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "p";
  options.id = "r";
  trk_run* run = nullptr;
  CHILD_CHECK(trk_init(&options, &run, nullptr) == TRK_OK);
  return run;
}

void log_durably(trk_run* run, int64_t from, int64_t to) {
  log_steps(run, from, to);
  CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
}

void expect_all(const Sandbox& sandbox, int64_t points) {
  ReadRun read = recover_and_read(sandbox.store());
  ASSERT_NE(read.view, nullptr);
  EXPECT_THAT(read.problems, ::testing::IsEmpty());
  EXPECT_EQ(read.view->state(), RunState::kCrashed);
  EXPECT_EQ(rows_of(read, "x").size(), static_cast<size_t>(points));
  EXPECT_EQ(read.view->losses().dropped, 0u);
}

int remove_logs(const std::string& store) {
  int removed = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store))
    if (entry.path().string().ends_with(".db-wal")) removed += std::filesystem::remove(entry.path()) ? 1 : 0;
  return removed;
}

void remove_log_inside_a_sync(const std::string& store) {
  const int before = faulty_disk().fsyncs;
  while (faulty_disk().fsyncs == before) ::usleep(100);
  CHILD_CHECK(remove_logs(store) >= 1);
}

TEST(LostLogTest, ALogRemovedInsideACommitIsMissedAndNothingIsLostByAKill) {
  Sandbox sandbox;
  const int status = run_child([&] {
    set_faulty_folder(sandbox.folder());
    trk_run* run = begin();
    log_durably(run, 0, kPoints);
    faulty_disk().fsync_ms = 300;
    log_steps(run, kPoints, 2 * kPoints);
    remove_log_inside_a_sync(sandbox.store());
    log_durably(run, 2 * kPoints, 3 * kPoints);
    return ::kill(::getpid(), SIGKILL);
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
  expect_all(sandbox, 3 * kPoints);
}

// Bug: a file was put back no sooner than 10 s after the time before, and a log that went meanwhile took all with it.
TEST(LostLogTest, ALogThatIsRemovedAgainAndAgainIsPutBackEachTime) {
  Sandbox sandbox;
  const int status = run_child([&] {
    trk_run* run = begin();
    for (int i = 0; i < 5; ++i) {
      log_durably(run, i * kPoints, (i + 1) * kPoints);
      CHILD_CHECK(remove_logs(sandbox.store()) >= 1);
      sleep_ms(300);
    }
    log_durably(run, 5 * kPoints, 6 * kPoints);
    return ::kill(::getpid(), SIGKILL);
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
  expect_all(sandbox, 6 * kPoints);
}

class LinkInPlaceTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LinkInPlaceTest, ALinkToTheFileItselfIsReplacedByTheFile) {
  const std::string kind = GetParam();
  Sandbox sandbox;
  if (kind == "frames") ::setenv("TRACKER_STORE_FILES", "frames", 1);
  const int status = run_child([&] {
    trk_run* run = begin();
    log_durably(run, 0, kPoints);
    std::string path;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox.store() + "/runs"))
      if (entry.path().extension() == "." + kind) path = entry.path();
    CHILD_CHECK(!path.empty());
    std::filesystem::rename(path, sandbox.folder() + "/moved");
    std::filesystem::create_symlink(sandbox.folder() + "/moved", path);
    log_durably(run, kPoints, 2 * kPoints);
    log_durably(run, 2 * kPoints, 3 * kPoints);
    return ::kill(::getpid(), SIGKILL);
  });
  ::unsetenv("TRACKER_STORE_FILES");
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
  expect_all(sandbox, 3 * kPoints);
}

INSTANTIATE_TEST_SUITE_P(Files, LinkInPlaceTest, ::testing::Values("db", "frames"));

// Into the files that are there, as cp does; but the index is not cut first: who has it mapped would end with that.
void copy_into(const std::string& from, const std::string& to) {
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string bytes = read_file(entry.path(), 64 << 20).value_or("");
    const std::string name = entry.path().filename();
    const int cut = name.ends_with("-shm") ? 0 : O_TRUNC;
    const int fd = ::open((to + "/" + name).c_str(), O_WRONLY | O_CREAT | cut, 0600);
    CHILD_CHECK(fd >= 0 && write_all(fd, bytes).ok());
    ::close(fd);
  }
}

// Bug: the rows that went were nowhere and counted nowhere, and the run said that nothing was lost.
class TakenBackTest : public ::testing::TestWithParam<bool> {};

TEST_P(TakenBackTest, WhatWentWithARestoreIntoTheLiveFilesIsCountedAndTheRunGoesOnBehindIt) {
  const bool killed = GetParam();
  Sandbox sandbox;
  Shared<std::atomic<int>> stage;
  const auto reach = [&](int at) {
    stage->store(at);
    while (stage->load() == at) ::usleep(1000);
  };
  const pid_t child = start_child([&] {
    trk_run* run = begin();
    log_durably(run, 0, kPoints);
    reach(1);
    log_steps(run, kPoints, 2 * kPoints);
    CHILD_CHECK(trk_log_i64(run, "late", TRK_NUL_TERMINATED, 1, 0) == TRK_OK);
    const trk_value value = trk_text("0.1");
    CHILD_CHECK(trk_config_set(run, "lr", TRK_NUL_TERMINATED, &value) == TRK_OK);
    CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    reach(3);
    log_durably(run, 2 * kPoints, 3 * kPoints);
    return killed ? ::kill(::getpid(), SIGKILL) : trk_finish(run, 0, nullptr) == TRK_OK ? 0 : 1;
  });
  const std::string folder = sandbox.store() + "/runs/p/r", backup = sandbox.folder() + "/backup";
  while (stage->load() != 1) ::usleep(1000);
  std::filesystem::create_directory(backup);
  copy_into(folder, backup);
  stage->store(2);
  while (stage->load() != 3) ::usleep(1000);
  copy_into(backup, folder);
  stage->store(4);
  const int status = wait_child(child);
  ASSERT_EQ(exit_code_of(status), killed ? -1 - SIGKILL : 0);
  ReadRun read = recover_and_read(sandbox.store());
  ASSERT_NE(read.view, nullptr);
  EXPECT_THAT(read.problems, ::testing::IsEmpty());
  EXPECT_EQ(to_json(read.view->config()), R"({"lr":"0.1"})");
  const History rows = rows_of(read, "x");
  const LossAccount account = read.view->losses();
  EXPECT_GE(rows.size(), 2u * kPoints);
  EXPECT_EQ(rows.steps.back(), 3 * kPoints - 1);
  EXPECT_EQ(account.logged, 3u * kPoints + 1);
  EXPECT_EQ(account.stored, rows.size() + rows_of(read, "late").size());
  EXPECT_EQ(account.dropped, account.logged - account.stored);
  EXPECT_GT(account.dropped, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ends, TakenBackTest, ::testing::Bool());

}  // namespace
}  // namespace tracker::internal
