// SPDX-License-Identifier: MIT
// A dead process is never shown as running, and a live one always is, from the moment its run is there: also before it
// has stored anything, with a journal in private memory, to another user, and while its parent has not waited for it.
// Method: children that open a run and log nothing or a little; the run is read before and after their death.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "journal/ring/liveness.h"
#include "query/view/run_state.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uid_t kNobody = 65'534;

RunState state_of(const std::string& store_path, std::string* detail = nullptr) {
  auto store = Store::open(store_path);
  auto view = RunView::open(store->list_runs().at(0));
  if (detail != nullptr) *detail = (*view)->state_detail();
  return (*view)->state();
}

class DeadStateTest : public ::testing::Test {
 protected:
  // A child that has opened a run, and logged and stored `points` of them.
  void begin(const char* journal, int points = 0) {
    child_ = start_child([&]() -> int {
      trk_run* run = open_run("r", nullptr, journal);
      CHILD_CHECK(run != nullptr);
      for (int step = 0; step < points; ++step)
        CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
      if (points > 0) CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
      *ready_ = 1;
      for (;;) ::pause();
    });
    while (ready_->load() == 0) sleep_ms(1);
  }
  // It has ended, and still has its entry in the process table.
  void kill_without_waiting() const {
    ::kill(child_, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT), 0);
  }

  Sandbox sandbox_;
  Shared<std::atomic<int>> ready_;
  pid_t child_ = -1;
};

TEST_F(DeadStateTest, ARunThatNeverStoredAnythingHasCrashedWhenItsProcessIsDead) {
  begin("memory");
  EXPECT_EQ(state_of(sandbox_.store()), RunState::kRunning);
  kill_without_waiting();
  std::string detail;
  EXPECT_EQ(state_of(sandbox_.store(), &detail), RunState::kCrashed) << "before its parent has waited for it";
  EXPECT_EQ(detail, "its process ended before anything was stored");
  wait_child(child_);
  EXPECT_EQ(state_of(sandbox_.store()), RunState::kCrashed);
}

TEST_F(DeadStateTest, ARunInPrivateMemoryHasCrashedAsSoonAsItsProcessIsDead) {
  begin("memory", 10);
  EXPECT_EQ(state_of(sandbox_.store()), RunState::kRunning);
  kill_without_waiting();
  EXPECT_EQ(state_of(sandbox_.store()), RunState::kCrashed);
  wait_child(child_);
}

TEST_F(DeadStateTest, AnotherUserSeesTheSameBeforeAndAfterTheDeath) {
  NEEDS(kRoot);
  begin("shm");
  for (const std::string& folder : {sandbox_.folder(), sandbox_.store()}) ::chmod(folder.c_str(), 0755);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox_.store()))
    ::chmod(entry.path().c_str(), entry.is_directory() ? 0755 : 0644);
  const auto seen_by_nobody = [this] {
    return exit_code_of(run_child([this] {
      CHILD_CHECK(::setgid(kNobody) == 0 && ::setuid(kNobody) == 0);
      return static_cast<int>(state_of(sandbox_.store()));
    }));
  };
  EXPECT_EQ(seen_by_nobody(), static_cast<int>(RunState::kRunning));
  kill_without_waiting();
  EXPECT_EQ(seen_by_nobody(), static_cast<int>(RunState::kCrashed));
  wait_child(child_);
}

// Bug: it was shown as running, with rows to be stored soon, as long as its worker lived.
TEST_F(DeadStateTest, AProcessOfAnotherPidNamespaceThatDiedBeforeItsForkedWorkerIsNotSaidToLive) {
  NEEDS(kRoot);
  Shared<std::atomic<int>> enough;
  const pid_t keeper = start_child([&]() -> int {
    CHILD_CHECK(::unshare(CLONE_NEWPID) == 0);
    const pid_t first = start_child([&]() -> int {  // pid 1 there: the others end with it
      run_child([&]() -> int {
        trk_run* run = open_run("r");
        for (int step = 0; step < 500; ++step)
          CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
        CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
        if (::fork() == 0)
          for (;;) ::pause();
        return ::raise(SIGKILL);
      });
      *ready_ = 1;
      for (;;) ::pause();
    });
    while (enough->load() == 0) sleep_ms(1);
    ::kill(first, SIGKILL);
    wait_child(first);
    return 0;
  });
  while (ready_->load() == 0) sleep_ms(1);
  auto view = RunView::open(Store::open(sandbox_.store())->list_runs().at(0));
  const WriterSnapshot writer = (*view)->writers().at(0);
  EXPECT_EQ(probe_writer(writer.identity, sandbox_.store()), Liveness::kUnknown);
  EXPECT_EQ(decide_state((*view)->writers(), (*view)->liveness(), {}, 0, last_seen_us(writer) + kHeartbeatTrust.count())
                .state,
            RunState::kLostContact);
  *enough = 1;
  wait_child(keeper);
  EXPECT_EQ(probe_writer(writer.identity, sandbox_.store()), Liveness::kDead);
  EXPECT_EQ(state_of(sandbox_.store()), RunState::kCrashed);
}

TEST_F(DeadStateTest, AnIdleRunGivesASignOfLifeEachFifteenSeconds) {
  begin("shm", 10);
  const auto heartbeat = [this] {
    return (*RunView::open(Store::open(sandbox_.store())->list_runs().at(0)))->writers().at(0).heartbeat_us;
  };
  const int64_t before = heartbeat();
  sleep_ms(16'500 + 1500 * kSlowDown);
  EXPECT_GT(heartbeat(), before + 10'000'000);
  ::kill(child_, SIGKILL);
  wait_child(child_);
}

TEST_F(DeadStateTest, ARunInPrivateMemoryIsRunningForItsOwnProcess) {
  EXPECT_EQ(
      exit_code_of(run_child([&] {
        trk_run* run = open_run("r", nullptr, "memory");
        CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK && trk_flush(run, 20'000) == TRK_OK);
        CHILD_CHECK(state_of(sandbox_.store()) == RunState::kRunning);
        CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
        return 0;
      })),
      0);
}

TEST_F(DeadStateTest, AProcessWhoseMainThreadHasEndedBeforeTheOthersLives) {
  const pid_t child = start_child([&]() -> int {
    static std::atomic<int>* ready = &*ready_;
    pthread_t other;
    ::pthread_create(
        &other, nullptr,
        [](void*) -> void* {
          sleep_ms(100);
          *ready = 1;
          for (;;) ::pause();
        },
        nullptr);
    for (;;) ::syscall(SYS_exit, 0);  // this thread alone, without unwinding
  });
  while (ready_->load() == 0) sleep_ms(1);
  WriterIdentity writer = this_process();
  writer.pid = child;
  auto stat = read_file("/proc/" + std::to_string(child) + "/stat", 4096);
  ASSERT_TRUE(stat.ok());
  writer.pid_start = pid_start_of(*stat);
  EXPECT_EQ(probe_writer(writer, ""), Liveness::kLive) << *stat;
  ::kill(child, SIGKILL);
  wait_child(child);
  EXPECT_EQ(probe_writer(writer, ""), Liveness::kDead);
}

}  // namespace
}  // namespace tracker::internal
