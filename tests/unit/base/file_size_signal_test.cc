// SPDX-License-Identifier: MIT
// Goal: a write beyond RLIMIT_FSIZE fails and kills nobody, and the program's own use of SIGXFSZ stays as it was.
// Method: children with a small limit that write under the guard and look at mask and pending signals.
#include "base/file_size_signal.h"

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

// What a write behind the limit does.
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

TEST(FileSizeSignalTest, AWriteBeyondTheLimitFailsAndNoSignalIsLeft) {
  EXPECT_EQ(exit_code_of(run_child([] {
              ::signal(SIGXFSZ, SIG_DFL);
              {
                const NoFileSizeSignal guard;
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

TEST(FileSizeSignalTest, ASignalOfTheProgramsOwnIsLeftToIt) {
  EXPECT_EQ(exit_code_of(run_child([] {
              sigset_t set;
              ::sigemptyset(&set);
              ::sigaddset(&set, SIGXFSZ);
              ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
              CHILD_CHECK(write_too_much() == EFBIG && is_pending());
              {
                const NoFileSizeSignal guard;
                CHILD_CHECK(write_too_much() == EFBIG);
              }
              CHILD_CHECK(is_pending() && is_blocked());
              return 0;
            })),
            0);
}

}  // namespace
}  // namespace tracker::internal
