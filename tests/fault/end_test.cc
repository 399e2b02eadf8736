// SPDX-License-Identifier: MIT
// F4. A process that never calls finish() loses nothing and keeps its exit code. Method: a child logs and ends in each
// way there is; its wait status, the recovered points and the run's state are compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <stdexcept>
#include <thread>

#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int64_t kPoints = 3000;

struct Ending {
  const char* name;
  void (*end)();
  int status;  // exit code, or -1 - signal
  RunState state;
};
void PrintTo(const Ending& ending, std::ostream* out) { *out << ending.name; }

void throw_uncaught() { throw std::runtime_error("no handler catches this"); }

void end_by_segfault() {
  void* const nowhere = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(nowhere) = 1;
}

void exit_from_a_thread() {
  std::thread([] { std::exit(5); }).join();
}

const Ending kEndings[] = {
    {"ReturnFromMain", [] { std::exit(0); }, 0, RunState::kFinished},
    {"ExitWithCode", [] { std::exit(3); }, 3, RunState::kFailed},
    {"ExitFromAThread", exit_from_a_thread, 5, RunState::kFailed},
    {"UnderscoreExit", [] { ::_exit(4); }, 4, RunState::kCrashed},
    {"UncaughtException", []() noexcept { throw_uncaught(); }, -1 - SIGABRT, RunState::kCrashed},
    {"Abort", [] { std::abort(); }, -1 - SIGABRT, RunState::kCrashed},
    {"Segfault", end_by_segfault, -1 - SIGSEGV, RunState::kCrashed},
    {"Sigterm", [] { ::raise(SIGTERM); }, -1 - SIGTERM, RunState::kCrashed},
    {"Sigint", [] { ::raise(SIGINT); }, -1 - SIGINT, RunState::kCrashed},
};

class EndTest : public ::testing::TestWithParam<Ending> {};

TEST_P(EndTest, WithoutFinishEveryPointIsThereAndTheExitCodeIsUnchanged) {
  Sandbox sandbox;
  const int64_t before = now_ns();
  const int status = run_child([&] {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const int number : {SIGSEGV, SIGABRT, SIGTERM}) ::signal(number, SIG_DFL);  // sanitizers have their own
    trk_run* run = open_run("r");
    CHILD_CHECK(run != nullptr);
    trk_metric* metric = trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr);
    for (int64_t step = 0; step < kPoints; ++step) CHILD_CHECK(trk_metric_log_i64(metric, step * 3, step) == TRK_OK);
    GetParam().end();
    return 98;
  });
  EXPECT_EQ(exit_code_of(status), GetParam().status);
  EXPECT_LT(now_ns() - before, 10'000'000'000 * int64_t{kSlowDown});
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(rows_of(run, "x").size(), static_cast<size_t>(kPoints));
  EXPECT_EQ(run.view->state(), GetParam().state) << run_state_name(run.view->state());
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(By, EndTest, ::testing::ValuesIn(kEndings),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tracker::internal
