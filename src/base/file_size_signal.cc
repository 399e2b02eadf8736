// SPDX-License-Identifier: MIT
#include "base/file_size_signal.h"

#include <pthread.h>
#include <time.h>

#include <cerrno>

namespace tracker::internal {
namespace {

sigset_t only_file_size() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  const sigset_t set = only_file_size();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  was_pending_ = is_pending();
}

NoFileSizeSignal::~NoFileSizeSignal() {
  const int error = errno;
  const sigset_t set = only_file_size();
  const timespec at_once{0, 0};
  if (!was_pending_ && is_pending()) (void)::sigtimedwait(&set, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace tracker::internal
