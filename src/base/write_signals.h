// SPDX-License-Identifier: MIT
// Two signals by which a write kills the process: SIGXFSZ beyond RLIMIT_FSIZE (ulimit -f), SIGPIPE on a pipe without a
// reader. While they are blocked, the write fails with EFBIG, as on a full disk, or with EPIPE. Threads: the thread
// that made the object. Cost: three system calls and one more for each signal; never on the hot path.
#pragma once

#include <signal.h>

#include <array>

namespace tracker::internal {

// Both signals are blocked in this thread during the life of the object. A signal that arrives meanwhile was caused by
// our write and is discarded; one that was pending before is kept. Our own threads block all signals and do not need
// this.
class NoWriteSignals {
 public:
  NoWriteSignals();
  ~NoWriteSignals();
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  static constexpr std::array<int, 2> kSignals{SIGXFSZ, SIGPIPE};
  sigset_t before_;
  sigset_t pending_before_;
};

}  // namespace tracker::internal
