// SPDX-License-Identifier: MIT
// F22. A process that is stopped, and whose wall clock is a day off when it continues, is lost to readers on other
// hosts and running again afterwards; no process considers its run dead, every row is kept in its order, and times go
// back only where the clock did. Method: SIGSTOP, a clock_gettime of our own with an offset, and readers whose clock is
// a number. TRACKER_TEST_SECONDS sets how long a stop lasts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "query/view/run_state.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;

struct Ledger {
  std::atomic<uint64_t> accepted;
  std::atomic<int64_t> clock_offset_us;
  std::atomic<int> stop;
};
std::atomic<int64_t>* g_clock_offset_us = nullptr;

int log_until_stopped(Ledger* ledger) {
  g_clock_offset_us = &ledger->clock_offset_us;
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  while (ledger->stop.load() == 0) {
    const auto step = static_cast<int64_t>(ledger->accepted.load());
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
    ledger->accepted.fetch_add(1);
    sleep_ms(1);
  }
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK && status_of(run).points_dropped == 0);
  return 0;
}

// The state for a reader that cannot see the writer's lock.
RunState state_elsewhere(const RunView& view, int64_t now_us) {
  return decide_state(view.writers(), {Liveness::kUnknown}, {}, 0, now_us).state;
}

class FrozenTest : public ::testing::Test {
 protected:
  int64_t newest_sign_of_life() {
    EXPECT_TRUE(view_->refresh().ok());
    return last_seen_us(view_->writers().at(0));
  }

  void wait_for_rows(uint64_t more) {
    const uint64_t before = ledger_->accepted.load();
    const int64_t deadline = now_ns() + 20'000'000'000;
    while (ledger_->accepted.load() < before + more && now_ns() < deadline) sleep_ms(5);
    while ((!view_->refresh().ok() || view_->points() < before + more) && now_ns() < deadline) sleep_ms(5);
    ASSERT_LT(now_ns(), deadline);
  }

  // Stopped for a while; when it continues its clock has jumped.
  void stop_and_jump(int64_t jump_us, int seconds) {
    ASSERT_EQ(::kill(child_, SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, WUNTRACED), child_);
    ASSERT_TRUE(WIFSTOPPED(status));
    sleep_ms(200);
    const int64_t last = newest_sign_of_life();
    const uint64_t points = view_->points();
    sleep_ms(seconds * 1000);
    EXPECT_TRUE(recover_dead_writers(*Store::open(sandbox_.store())).recovered.empty()) << "it is not dead";
    EXPECT_EQ(newest_sign_of_life(), last);
    EXPECT_EQ(view_->points(), points);
    EXPECT_EQ(view_->state(), RunState::kRunning) << "its lock is seen from here";
    EXPECT_EQ(state_elsewhere(*view_, last + kHeartbeatTrust.count() - 1), RunState::kRunning);
    EXPECT_EQ(state_elsewhere(*view_, last + kHeartbeatTrust.count()), RunState::kLostContact);
    ledger_->clock_offset_us += jump_us;
    ASSERT_EQ(::kill(child_, SIGCONT), 0);
    wait_for_rows(300);
    EXPECT_EQ(view_->state(), RunState::kRunning);
    EXPECT_EQ(state_elsewhere(*view_, realtime_us() + ledger_->clock_offset_us.load()), RunState::kRunning);
  }

  Sandbox sandbox_;
  Shared<Ledger> ledger_;
  std::unique_ptr<RunView> view_;
  pid_t child_ = -1;
};

TEST_F(FrozenTest, AStoppedProcessIsLostAndThenRunningAgainWithEveryRowOverJumpsOfItsClock) {
  const char* given = std::getenv("TRACKER_TEST_SECONDS");
  const int seconds = given != nullptr && std::atoi(given) > 0 ? std::atoi(given) : 5;
  child_ = start_child([&] {
    ::setsid();  // else the kernel continues it when the shell that started the test ends (an orphaned process group)
    return log_until_stopped(&*ledger_);
  });
  while (ledger_->accepted.load() < 300) sleep_ms(5);
  view_ = std::move(*RunView::open(Store::open(sandbox_.store())->list_runs().at(0)));
  wait_for_rows(100);
  stop_and_jump(kDayUs, seconds);
  stop_and_jump(-2 * kDayUs, seconds);
  ledger_->stop = 1;
  EXPECT_EQ(exit_code_of(wait_child(child_)), 0);

  ReadRun run = recover_and_read(sandbox_.store());
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_EQ(run.view->state(), RunState::kFinished);
  EXPECT_EQ(run.view->losses().dropped, 0u);
  const History rows = rows_of(run, "x");
  ASSERT_EQ(rows.size(), ledger_->accepted.load());
  // Forward the clock is followed; where it was set back the run's times go on as time did.
  std::vector<int64_t> jumps_us;
  int64_t longest_us = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i)) << "in the order logged";
    if (i == 0) continue;
    const int64_t passed = rows.times_us[i] - rows.times_us[i - 1];
    ASSERT_GE(passed, 0) << "row " << i;
    if (passed > kDayUs / 2) jumps_us.push_back(passed);
    else longest_us = std::max(longest_us, passed);
  }
  ASSERT_EQ(jumps_us.size(), 1u);
  const double stopped = seconds * 1e6 + 1e6;
  EXPECT_NEAR(static_cast<double>(jumps_us[0]), kDayUs + stopped, stopped);
  EXPECT_GE(longest_us, seconds * 1'000'000) << "the second stop";
}

}  // namespace
}  // namespace tracker::internal

// Takes the place of libc's in this program, the library under test included.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec* out) noexcept {
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, out));
  const auto* offset = tracker::internal::g_clock_offset_us;
  if (result == 0 && clock == CLOCK_REALTIME && offset != nullptr) out->tv_sec += offset->load() / 1'000'000;
  return result;
}
