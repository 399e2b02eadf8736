// SPDX-License-Identifier: MIT
#include "base/write_signals.h"

#include <pthread.h>
#include <time.h>

#include <cerrno>

namespace tracker::internal {

NoWriteSignals::NoWriteSignals() {
  sigset_t both;
  ::sigemptyset(&both);
  for (const int signal : kSignals) ::sigaddset(&both, signal);
  ::pthread_sigmask(SIG_BLOCK, &both, &before_);
  if (::sigpending(&pending_before_) != 0) ::sigfillset(&pending_before_);  // then no signal counts as ours
}

NoWriteSignals::~NoWriteSignals() {
  const int error = errno;
  const timespec at_once{0, 0};
  sigset_t pending, ours;
  if (::sigpending(&pending) == 0) {
    for (const int signal : kSignals) {
      if (::sigismember(&pending, signal) != 1 || ::sigismember(&pending_before_, signal) == 1) continue;
      ::sigemptyset(&ours);
      ::sigaddset(&ours, signal);
      (void)::sigtimedwait(&ours, nullptr, &at_once);
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace tracker::internal
