// SPDX-License-Identifier: MIT
// Kills a child at one system call after the other, so that a test stops work between any two of its writes. Linux.
#pragma once

#include <sys/ptrace.h>

#include <csignal>

#include "support/child.h"

namespace tracker::internal {

// Runs `body` in a child under ptrace and kills it with SIGKILL at the entry of its system call number `at`, counted
// from 0, those of `prepare` before it left out. False when it ended by itself before that, with whatever code. Call it
// from a process without threads.
inline bool killed_at_call(int at, const std::function<int()>& body, const std::function<void()>& prepare = {}) {
  const pid_t child = start_child([&] {
    if (prepare) prepare();
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
    ::raise(SIGSTOP);
    return body();
  });
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) return false;
  for (int stops = 0;; ++stops) {
    if (stops == at * 2 + 1) {  // each call stops at its entry and at its exit
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return true;
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) || WIFSIGNALED(status)) return false;
  }
}

}  // namespace tracker::internal
