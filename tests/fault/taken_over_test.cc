// SPDX-License-Identifier: MIT
// A live run that another process has recovered all the same: its writer took the frames stored under its next numbers
// for its own, so that what it had drained meanwhile was lost and counted as stored. Method: a child gives both of its
// locks away while it logs, its parent recovers it; the child logs on and ends, or is killed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/faulty_disk.h"
#include "support/quiet_run.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

enum Stage { kLocked, kOpen, kRecovered };

struct Ledger {
  std::atomic<int> stage;
  std::atomic<int64_t> returned;
};

// The descriptors of this process that are lock files of journals.
std::vector<int> lock_descriptors() {
  std::vector<int> out;
  for (const std::string& name : list_dir("/proc/self/fd").value_or({})) {
    char target[4096] = {};
    const std::string link = "/proc/self/fd/" + name;
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0 && std::string(target).ends_with("/lock"))
      out.push_back(std::atoi(name.c_str()));
  }
  return out;
}

// Again and again, for the drain thread puts the first one back.
void give_locks_away(const std::vector<int>& descriptors) {
  for (const int fd : descriptors) {
    struct flock lock{};
    lock.l_type = F_UNLCK;
    (void)::fcntl(fd, F_SETLK, &lock);
    (void)::fcntl(fd, F_OFD_SETLK, &lock);
  }
}

// A thread of the writer that stops while `waits`, and how often it has passed.
struct Gate {
  std::atomic<bool> waits{false}, is_stopped{false};
  std::atomic<int> passed{0};
  void pass() {
    for (; waits.load(); sleep_ms(1)) is_stopped.store(true);
    is_stopped.store(false);
    passed.fetch_add(1);
  }
};
Gate g_drain, g_store;
void wait_to_drain() { g_drain.pass(); }
void wait_to_store() { g_store.pass(); }

ino_t inode_of(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

class TakenOverTest : public ::testing::Test {
 protected:
  // Logs until `more` points after the recovery are there. Returns how many in all.
  static int64_t log_through(trk_run* run, Ledger* ledger, int64_t more) {
    const std::vector<int> locks = lock_descriptors();
    CHILD_CHECK(!locks.empty());
    int64_t step = 0;
    const auto log = [&] {
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
      ledger->returned.store(++step);
      if (step % 8 == 0) ::usleep(100);
    };
    while (step < 2000) log();
    CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    ledger->stage.store(kOpen);
    // A ring that grows shows a live process: on a busy machine its recoverer needs a longer pause.
    for (int rest = 200; ledger->stage.load() == kOpen; rest = std::min(rest + 50, 2000)) {
      for (int i = 0; i < 100; ++i) log();
      for (int i = 0; i < rest && ledger->stage.load() == kOpen; ++i) {
        give_locks_away(locks);
        ::usleep(100);
      }
    }
    for (int64_t i = 0; i < more; ++i) log();
    return step;
  }

  // In the parent: until the child was recovered once.
  void recover(Ledger* ledger) {
    while (ledger->stage.load() == kLocked) ::usleep(200);
    const auto store = Store::open(sandbox_.store());
    ASSERT_TRUE(store.ok());
    const int64_t deadline = now_ns() + 60'000'000'000;
    while (recover_dead_writers(*store).recovered.empty()) ASSERT_LT(now_ns(), deadline);
    ledger->stage.store(kRecovered);
  }

  std::shared_ptr<internal::Run> held_run(Ledger* ledger, int64_t points);

  void expect_rows(int64_t least, int64_t most, RunState state) {
    ReadRun read = recover_and_read(sandbox_.store());
    ASSERT_NE(read.view, nullptr);
    EXPECT_THAT(read.problems, ::testing::IsEmpty());
    EXPECT_EQ(read.view->state(), state);
    const History rows = rows_of(read, "x");
    EXPECT_GE(static_cast<int64_t>(rows.size()), least);
    EXPECT_LE(static_cast<int64_t>(rows.size()), most);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    const LossAccount account = read.view->losses();
    EXPECT_EQ(account.stored, rows.size());
    EXPECT_EQ(account.dropped, 0u);
    const auto report = verify_store(sandbox_.store(), {});
    ASSERT_TRUE(report.ok());
    for (const Finding& finding : report->findings)
      ADD_FAILURE() << finding.kind << " " << finding.path << " " << finding.what;
  }

  Sandbox sandbox_;
};

// Promise P3: A live run that another process recovers goes on after the stored rows: each point is there once.
TEST_F(TakenOverTest, ItGoesOnBehindWhatWasStoredAndEveryPointIsThereOnce) {
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r", "block");
    CHILD_CHECK(run != nullptr);
    const auto points = static_cast<uint64_t>(log_through(run, &*ledger, 20'000));
    CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    const trk_status status = status_of(run);
    CHILD_CHECK(status.points_stored == points && status.points_pending == 0 && status.points_dropped == 0);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  recover(&*ledger);
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  expect_rows(ledger->returned.load(), ledger->returned.load(), RunState::kFinished);
  EXPECT_THAT(sandbox_.journal_folders(), ::testing::IsEmpty());
}

TEST_F(TakenOverTest, KilledAfterItWentOnNothingIsLostOrThereTwice) {
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r", "block");
    CHILD_CHECK(run != nullptr);
    (void)log_through(run, &*ledger, 1000);
    CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    for (int64_t step = ledger->returned.load();; ++step) {
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
      ledger->returned.store(step + 1);
      if (step % 8 == 0) ::usleep(100);
    }
    return 0;
  });
  recover(&*ledger);
  sleep_ms(3000);
  ::kill(child, SIGKILL);
  ASSERT_EQ(exit_code_of(wait_child(child)), -1 - SIGKILL);
  expect_rows(ledger->returned.load(), ledger->returned.load() + 1, RunState::kCrashed);
}

void log_steps_of(internal::Run* run, uint32_t id, int64_t from, int64_t to) {
  for (int64_t step = from; step < to; ++step) {
    const ValuePair pair{static_cast<uint64_t>(step * 3), id, 0};
    CHILD_CHECK(log_pairs(run->hot(), &pair, 1, step) == Code::kOk);
  }
}

// A run whose store thread was stopped while another process recovered it: half of `points` is stored by itself, then a
// long text and the other half are in the spill file or in the ring.
std::shared_ptr<internal::Run> TakenOverTest::held_run(Ledger* ledger, int64_t points) {
  std::shared_ptr<internal::Run> run = begin_run("block");
  const uint32_t id = run->series_id("x", ValueType::kInt64);
  log_steps_of(run.get(), id, 0, points / 2);
  CHILD_CHECK(run->flush(std::chrono::seconds(60)));
  const std::vector<int> locks = lock_descriptors();
  g_store.waits = true;
  run->set_pause_for_testing(nullptr, wait_to_store);
  const std::string text(kInlineTextBytesMax + 1, 't');
  CHILD_CHECK(run->log_text("note", text, 0) == Code::kOk);
  log_steps_of(run.get(), id, points / 2, points);
  const std::string spill = sandbox_.journal_folders().at(0) + "/spill";
  std::error_code none;
  while (std::filesystem::file_size(spill, none) + 1 <= text.size()) sleep_ms(5);
  ledger->stage.store(kOpen);
  while (ledger->stage.load() == kOpen) {
    give_locks_away(locks);
    ::usleep(100);
  }
  return run;
}

// Bug: what was in the spill file and in no ring, such as a long text, was stored by the other process and then again.
TEST_F(TakenOverTest, WhatTheOtherProcessStoredFromTheSpillFileIsNotSaidAgain) {
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    auto run = held_run(&*ledger, 1);
    g_store.waits = false;
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    CHILD_CHECK(run->status().texts_stored == 1);
    CHILD_CHECK(run->finish(RunState::kFinished).ok());
    return 0;
  });
  recover(&*ledger);
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  ReadRun read = recover_and_read(sandbox_.store());
  ASSERT_NE(read.view, nullptr);
  EXPECT_THAT(read.problems, ::testing::IsEmpty());
  EXPECT_EQ(read.view->losses().texts.stored, 1u);
  EXPECT_EQ(read.view->texts_by_metric(true)->at("note").size(), 1u);
}

// They wait in the memory of a process that lives, and it stores them: a recoverer must not count them as lost with it.
TEST_F(TakenOverTest, TextsTooLargeForARingAreStoredOnceAndNotCountedAsLost) {
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    const std::shared_ptr<internal::Run> run = begin_run("block");
    const uint32_t id = run->series_id("x", ValueType::kInt64);
    log_steps_of(run.get(), id, 0, 10);
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    const std::vector<int> locks = lock_descriptors();
    run->set_pause_for_testing(wait_to_drain, nullptr);
    g_drain.waits = true;
    log_steps_of(run.get(), id, 10, 11);
    while (!g_drain.is_stopped) sleep_ms(1);
    const std::string text(2 * kInlineTextBytesMax, 't');
    for (int64_t step = 0; step < 3; ++step) CHILD_CHECK(run->log_text("note", text, step) == Code::kOk);
    ledger->stage.store(kOpen);
    while (ledger->stage.load() == kOpen) {
      give_locks_away(locks);
      ::usleep(100);
    }
    g_drain.waits = false;
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    CHILD_CHECK(run->status().texts_stored == 3);
    CHILD_CHECK(run->finish(RunState::kFinished).ok());
    return 0;
  });
  recover(&*ledger);
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  ReadRun read = recover_and_read(sandbox_.store());
  EXPECT_EQ(read.view->losses().texts.stored, 3u);
  EXPECT_EQ(read.view->losses().texts.dropped, 0u);
  EXPECT_EQ(rows_of(read, "x").size(), 11u);
}

// Bug: a frame that was started before and ended after what the other process had stored was spilled, so that its ring
// space was free, and was stored whole: some rows were there twice.
TEST_F(TakenOverTest, AFrameOfWhichTheOtherProcessHasStoredAPartIsNotStoredOnceMore) {
  constexpr int64_t kPoints = 3000;
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    const std::shared_ptr<internal::Run> run = begin_run("block");
    const uint32_t id = run->series_id("x", ValueType::kInt64);
    log_steps_of(run.get(), id, 0, kPoints / 3 - 1);
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    const std::vector<int> locks = lock_descriptors();
    const std::string lock = sandbox_.journal_folders().at(0) + "/lock";
    g_store.waits = true;
    run->set_pause_for_testing(wait_to_drain, wait_to_store);
    log_steps_of(run.get(), id, kPoints / 3 - 1, kPoints / 3);  // else it looks by in seconds
    while (!g_store.is_stopped) sleep_ms(1);
    g_drain.waits = true;
    while (!g_drain.is_stopped) sleep_ms(1);
    log_steps_of(run.get(), id, kPoints / 3, 2 * kPoints / 3);
    ledger->stage.store(kOpen);
    while (ledger->stage.load() == kOpen) {
      give_locks_away(locks);
      ::usleep(100);
    }
    log_steps_of(run.get(), id, 2 * kPoints / 3, kPoints);
    g_drain.waits = false;
    // The journal is made again, and would be spilled into: without new rows, rounds are 100 ms apart.
    while (inode_of(lock) == 0) sleep_ms(1);
    for (const int from = g_drain.passed; g_drain.passed < from + 8;) sleep_ms(1);
    g_store.waits = false;
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    CHILD_CHECK(run->status().points_stored == kPoints);
    CHILD_CHECK(run->finish(RunState::kFinished).ok());
    return 0;
  });
  recover(&*ledger);
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  expect_rows(kPoints, kPoints, RunState::kFinished);
}

// Bug: it appended under the recoverer, who then made a database without those frames.
TEST_F(TakenOverTest, WhileAnotherProcessHoldsTheJournalNothingIsAppendedToAFramesFile) {
  ::setenv("TRACKER_STORE_FILES", "frames", 1);
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    trk_run* run = open_run("r", "block");
    CHILD_CHECK(run != nullptr);
    ledger->returned.store(log_through(run, &*ledger, 1000));
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    return 0;
  });
  while (ledger->stage.load() == kLocked) ::usleep(200);
  {
    auto journal = DeadJournal::open(sandbox_.journal_folders().at(0));
    while (!journal.ok()) journal = DeadJournal::open(sandbox_.journal_folders().at(0));
    const std::string file = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs().at(0);
    sleep_ms(100);  // a commit that was under way
    const uint64_t before = std::filesystem::file_size(file);
    const int64_t logged = ledger->returned.load();
    while (ledger->returned.load() < logged + 2000) ::usleep(200);
    EXPECT_EQ(std::filesystem::file_size(file), before);
  }
  ledger->stage.store(kRecovered);
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  expect_rows(ledger->returned.load(), ledger->returned.load(), RunState::kFinished);
  ::unsetenv("TRACKER_STORE_FILES");
}

// Bug: in the second until another lock is made it appended without any.
TEST_F(TakenOverTest, WhereItsLockWasClosedNothingIsAppendedToAFramesFileThatAnotherProcessRecovers) {
  constexpr int64_t kPoints = 2000;
  constexpr int kHeld = 10, kTried = 11;
  ::setenv("TRACKER_STORE_FILES", "frames", 1);
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    const std::shared_ptr<internal::Run> run = begin_run("block");
    const uint32_t id = run->series_id("x", ValueType::kInt64);
    log_steps_of(run.get(), id, 0, kPoints / 2);
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    run->set_pause_for_testing(wait_to_drain, wait_to_store);
    g_store.waits = true;
    log_steps_of(run.get(), id, kPoints / 2, kPoints);
    while (!g_store.is_stopped) sleep_ms(1);  // with a batch in its hands
    g_drain.waits = true;
    while (!g_drain.is_stopped) sleep_ms(1);
    for (const int fd : lock_descriptors()) ::close(fd);
    ledger->stage.store(kOpen);
    while (ledger->stage.load() != kHeld) ::usleep(200);
    g_store.waits = false;
    for (const int from = g_store.passed; g_store.passed < from + 2;) sleep_ms(1);
    ledger->stage.store(kTried);
    while (ledger->stage.load() != kRecovered) ::usleep(200);
    g_drain.waits = false;
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    CHILD_CHECK(run->status().points_stored == kPoints);
    CHILD_CHECK(run->finish(RunState::kFinished).ok());
    return 0;
  });
  while (ledger->stage.load() != kOpen) ::usleep(200);
  {
    const auto journal = DeadJournal::open(sandbox_.journal_folders().at(0));
    ASSERT_TRUE(journal.ok()) << journal.status().to_string();
    const std::string file = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs().at(0);
    const uint64_t before = std::filesystem::file_size(file);
    ledger->stage.store(kHeld);
    while (ledger->stage.load() != kTried) ::usleep(200);
    EXPECT_EQ(std::filesystem::file_size(file), before);
  }
  ledger->stage.store(kRecovered);
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  expect_rows(kPoints, kPoints, RunState::kFinished);
  ::unsetenv("TRACKER_STORE_FILES");
}

// Nothing is stored meanwhile, under numbers that may be taken.
TEST_F(TakenOverTest, WhereTheFilesCannotBeOpenedAtOnceItGoesOnAsSoonAsTheyCan) {
  constexpr int64_t kPoints = 3000;
  Shared<Ledger> ledger;
  const pid_t child = start_child([&] {
    auto run = held_run(&*ledger, kPoints / 2);
    log_steps_of(run.get(), run->series_id("x", ValueType::kInt64), kPoints / 2, kPoints);
    sleep_ms(300);  // and drained
    const std::string document = sandbox_.store() + "/store.json", original = *read_file(document, 1 << 20);
    CHILD_CHECK(write_file_atomic(document, R"({"format": "tracker-store", "version": 99})")
                    .ok());  // as a newer version would leave it
    g_store.waits = false;
    sleep_ms(1000);
    CHILD_CHECK(write_file_atomic(document, original).ok());
    CHILD_CHECK(run->flush(std::chrono::seconds(60)));
    CHILD_CHECK(run->status().points_stored == kPoints);
    CHILD_CHECK(run->finish(RunState::kFinished).ok());
    return 0;
  });
  recover(&*ledger);
  ASSERT_EQ(exit_code_of(wait_child(child)), 0);
  expect_rows(kPoints, kPoints, RunState::kFinished);
}

}  // namespace
}  // namespace tracker::internal
