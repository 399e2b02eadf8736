// SPDX-License-Identifier: MIT
// Two signals with which a write kills the process: SIGXFSZ beyond RLIMIT_FSIZE (ulimit -f), SIGPIPE on a pipe that
// nobody reads. Where they are blocked the write fails instead, with EFBIG as on a full disk, or with EPIPE. Threads:
// the one that has made it. Cost: three system calls and one more each; never on the hot path.
#pragma once

#include <signal.h>

#include <array>

namespace tracker::internal {

// While it lives, both are blocked in this thread; what came meanwhile is ours and taken back. One that was pending
// before is left. Threads of our own block all signals and need none.
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
