// SPDX-License-Identifier: MIT
// Goal: a write beyond RLIMIT_FSIZE or into a pipe without a reader fails and kills no process, and the program's own
// use of both signals is unchanged. Method: children that write so under the guard and check mask and pending signals.
#include "base/write_signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>

#include "support/child.h"

namespace tracker::internal {
namespace {

bool is_blocked() {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, SIGXFSZ) == 1;
}

bool is_pending() {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGXFSZ) == 1;
}

// The result of a write beyond the limit.
int write_too_much() {
  const rlimit limit{1000, 1000};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const int fd = ::open((testing::TempDir() + "/too-large").c_str(), O_WRONLY | O_CREAT, 0600);
  CHILD_CHECK(fd >= 0);
  const ssize_t written = ::pwrite(fd, "x", 1, 2000);
  const int error = written < 0 ? errno : 0;
  ::close(fd);
  return error;
}

TEST(WriteSignalsTest, AWriteBeyondTheLimitFailsAndNoSignalIsLeft) {
  EXPECT_EQ(exit_code_of(run_child([] {
              ::signal(SIGXFSZ, SIG_DFL);
              {
                const NoWriteSignals guard;
                CHILD_CHECK(write_too_much() == EFBIG && is_pending());
              }
              CHILD_CHECK(!is_pending() && !is_blocked());
              return 0;
            })),
            0);
  EXPECT_EQ(exit_code_of(run_child([] {
              ::signal(SIGXFSZ, SIG_DFL);
              return write_too_much();
            })),
            -1 - SIGXFSZ)
      << "it does kill without the guard";
}

TEST(WriteSignalsTest, AWriteWithoutAReaderFailsAndLeavesNoSignal) {
  const auto write_unread = [] {
    ::signal(SIGPIPE, SIG_DFL);
    int ends[2];
    CHILD_CHECK(::pipe(ends) == 0);
    ::close(ends[0]);
    return ::write(ends[1], "x", 1) < 0 ? errno : 0;
  };
  EXPECT_EQ(exit_code_of(run_child([&] {
              {
                const NoWriteSignals guard;
                CHILD_CHECK(write_unread() == EPIPE);
              }
              sigset_t pending, mask;
              ::sigpending(&pending);
              ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
              CHILD_CHECK(::sigismember(&pending, SIGPIPE) == 0 && ::sigismember(&mask, SIGPIPE) == 0);
              return 0;
            })),
            0);
  EXPECT_EQ(exit_code_of(run_child(write_unread)), -1 - SIGPIPE) << "it does kill without the guard";
}

TEST(WriteSignalsTest, ASignalOfTheProgramsOwnIsLeftToIt) {
  EXPECT_EQ(exit_code_of(run_child([] {
              sigset_t set;
              ::sigemptyset(&set);
              ::sigaddset(&set, SIGXFSZ);
              ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
              CHILD_CHECK(write_too_much() == EFBIG && is_pending());
              {
                const NoWriteSignals guard;
                CHILD_CHECK(write_too_much() == EFBIG);
              }
              CHILD_CHECK(is_pending() && is_blocked());
              return 0;
            })),
            0);
}

}  // namespace
}  // namespace tracker::internal
