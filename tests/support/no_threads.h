// SPDX-License-Identifier: MIT
// Processes that may start no thread. Root becomes a user of its own first, because the limit does not bind root.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <system_error>
#include <thread>

#include "support/child.h"

namespace tracker::internal {

constexpr uid_t kUserWithoutThreads = 54'321;

inline void become_user() {
  if (::geteuid() != 0) return;
  CHILD_CHECK(::setresgid(kUserWithoutThreads, kUserWithoutThreads, kUserWithoutThreads) == 0);
  CHILD_CHECK(::setresuid(kUserWithoutThreads, kUserWithoutThreads, kUserWithoutThreads) == 0);
}

// In a child, for all of its life. False where the system starts one all the same.
inline bool forbid_threads() {
  become_user();
  const rlimit one{1, 1};
  CHILD_CHECK(::setrlimit(RLIMIT_NPROC, &one) == 0);
  try {
    std::thread([] {}).join();
  } catch (const std::system_error&) {
    return true;
  }
  return false;
}

}  // namespace tracker::internal
