// SPDX-License-Identifier: MIT
// A limit on the size of files (ulimit -f) is a full disk: it kills no program, at init or in a log call, and status()
// shows the state of the store; nor does a stderr without a reader. Method: children that log through the C ABI under
// limits, the signals at their default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/child.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

void limit_files(uint64_t bytes) {
  ::signal(SIGXFSZ, SIG_DFL);
  const rlimit limit{bytes, bytes};
  CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

// More than a log call does: threads of their own rings, texts, many definitions.
int use_run(int64_t points, bool stored) {
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  for (int64_t step = 0; step < points; ++step) {
    const std::string name = "metric/" + std::to_string(step % 4000);
    (void)trk_log_i64(run, name.c_str(), TRK_NUL_TERMINATED, step, step);
  }
  (void)trk_log_text(run, "text", "a text", TRK_NUL_TERMINATED, 1);
  CHILD_CHECK((trk_flush(run, 500) == TRK_OK) == stored);
  const trk_status status = status_of(run);
  CHILD_CHECK(status.points_logged == static_cast<uint64_t>(points) && (status.degraded == 0) == stored);
  CHILD_CHECK((trk_finish(run, 0, nullptr) == TRK_OK) == stored);
  trk_free(run);
  sigset_t pending;
  CHILD_CHECK(::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 0);
  return 0;
}

TEST(FileSizeTest, AProgramThatMayWriteNoFileLogsInMemoryAndLives) {
  Sandbox sandbox;
  const int status = run_child([&] {
    limit_files(0);
    return use_run(2000, false);
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

TEST(FileSizeTest, AProgramWhoseRingsAreTooLargeForTheLimitStoresItsPoints) {
  Sandbox sandbox;
  const int status = run_child([&] {
    limit_files(100 * 1024);
    return use_run(100, true);
  });
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_EQ(rows_of(*std::make_unique<ReadRun>(recover_and_read(sandbox.store())), "metric/99").size(), 1u);
}

TEST(FileSizeTest, ARunThatReachesTheLimitIsDegradedAndLives) {
  Sandbox sandbox;
  const int status = run_child([&] {
    limit_files(300 * 1024);
    return use_run(100'000, false);
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

// Bug: the library's first line ended the program.
// Promise P4: A stderr without a reader, a limit on file sizes and `dlclose()` end no process.
TEST(FileSizeTest, AStderrThatIsAPipeNobodyReadsKillsNobody) {
  Sandbox sandbox;
  const int status = run_child([&] {
    ::signal(SIGPIPE, SIG_DFL);
    int ends[2];
    CHILD_CHECK(::pipe(ends) == 0 && ::dup2(ends[1], STDERR_FILENO) >= 0);
    ::close(ends[0]);
    ::close(ends[1]);
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.project = "p";
    options.id = "r";
    trk_run* run = nullptr;
    if (trk_init(&options, &run, nullptr) != TRK_OK) return 1;  // reports that it records
    (void)trk_log_f64(run, "", TRK_NUL_TERMINATED, 1, 0);
    if (trk_log_f64(run, "x", TRK_NUL_TERMINATED, 1, 0) != TRK_OK || trk_finish(run, 0, nullptr) != TRK_OK) return 2;
    (void)trk_log_f64(run, "x", TRK_NUL_TERMINATED, 1, 0);
    trk_free(run);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

TEST(FileSizeTest, AStderrThatIsAFileAtItsLimitKillsNobody) {
  Sandbox sandbox;
  const int status = run_child([&] {
    redirect_stderr(sandbox.folder() + "/stderr");
    limit_files(0);
    return use_run(10, false);
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

}  // namespace
}  // namespace tracker::internal
