// SPDX-License-Identifier: MIT
// A write or an allocation beyond RLIMIT_FSIZE (ulimit -f) kills the process by SIGXFSZ, unless the signal is blocked:
// then it fails with EFBIG, as on a full disk. Threads: the one that has made it. Cost: three system calls and one more
// each; never on the hot path.
#pragma once

#include <signal.h>

namespace tracker::internal {

// While it lives, SIGXFSZ is blocked in this thread; what came meanwhile is ours and taken back. One that was pending
// before is left. Threads of our own block all signals and need none.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t before_;
  bool was_pending_;
};

}  // namespace tracker::internal
