// SPDX-License-Identifier: MIT
// Stops or kills a child at one system call after the other, so that a test interrupts work between any two of its
// writes. Linux.
#pragma once

#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <csignal>

#include "support/child.h"

namespace tracker::internal {

// Runs `body` in a child under ptrace up to the entry of its system call number `at`, counted from 0 without those of
// `prepare`, and calls `then` with the stopped child. Returns false if it ended before that, with any code. Call it
// from a process without threads.
inline bool stopped_at_call(int at, const std::function<int()>& body, const std::function<void()>& prepare,
                            const std::function<void(pid_t)>& then) {
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
      then(child);
      return true;
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) || WIFSIGNALED(status)) return false;
  }
}

// Kills it there with SIGKILL.
inline bool killed_at_call(int at, const std::function<int()>& body, const std::function<void()>& prepare = {}) {
  return stopped_at_call(at, body, prepare, [](pid_t child) {
    ::kill(child, SIGKILL);
    wait_child(child);
  });
}

// System calls that it makes to its end, which it must come to well: work that does not depend on the machine's speed.
inline int calls_of(const std::function<int()>& body) {
  const pid_t child = start_child([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
    ::raise(SIGSTOP);
    return body();
  });
  int status = 0, stops = 0;
  ::waitpid(child, &status, 0);
  for (; WIFSTOPPED(status); ++stops) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  }
  EXPECT_EQ(exit_code_of(status), 0);
  return stops / 2;
}

// Calls `meanwhile` while the child is stopped, and lets it continue to its end.
inline bool paused_at_call(int at, const std::function<int()>& body, const std::function<void()>& meanwhile) {
  return stopped_at_call(at, body, {}, [&meanwhile](pid_t child) {
    meanwhile();
    ::ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    wait_child(child);
  });
}

}  // namespace tracker::internal
