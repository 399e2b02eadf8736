// SPDX-License-Identifier: MIT
// The only list of reasons for which a C++ test is left out, and the only place that skips: `tools/tidy.py` refuses
// GTEST_SKIP elsewhere. tests/support/conditions.py is the same for Python. A test says what it needs in its first
// lines:
//   NEEDS(kRoot);                                  // known before the test begins
//   SKIP_WHERE(code == kNoMounts, kMounts);        // known only when a child has tried
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/crc32c.h"

namespace tracker::internal {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

// `holds` is null if only trying shows it.
struct Condition {
  const char* reason;  // what a reader of the test report sees
  bool (*holds)() = nullptr;
};

inline constexpr Condition kRoot{"needs root: it acts as another user", [] { return ::geteuid() == 0; }};
inline constexpr Condition kCrc32cInstruction{"this processor has no CRC-32C instruction", [] { return kHasCrc32c; }};
inline constexpr Condition kNoSanitizer{"a sanitizer's memory and calls of its own would be measured",
                                        [] { return !kSanitized; }};
inline constexpr Condition kFullSpeed{"what takes ten seconds here takes minutes under a sanitizer",
                                      [] { return !kSanitized; }};
inline constexpr Condition kNoThreadSanitizer{
    "what takes a second here takes minutes under ThreadSanitizer, which has nothing to say of one thread",
    [] { return !kThreadSanitizer; }};
inline constexpr Condition kLibraryCopies{"a sanitizer allows no second copy of a library", [] { return !kSanitized; }};
inline constexpr Condition kThreadsInForkedChildren{
    "a forked child gets no thread from ThreadSanitizer, and AddressSanitizer's allocator may be locked in it for ever",
    [] { return !kSanitized; }};
inline constexpr Condition kNestedHandlers{
    "ThreadSanitizer calls handlers itself, and never within themselves: this one waits for ever",
    [] { return !kThreadSanitizer; }};
inline constexpr Condition kThreadLimit{"RLIMIT_NPROC binds no thread here: a sanitizer's runtime, or no second user"};
inline constexpr Condition kMounts{"needs root and a mount namespace: no mounts are allowed here"};
inline constexpr Condition kFuseMounts{"needs root and /dev/fuse: no FUSE mounts are allowed here"};
inline constexpr Condition kMemoryCgroup{"needs root and a cgroup: no memory cgroup can be made here"};
inline constexpr Condition kTraces{"no process may be traced here"};
inline constexpr Condition kSeccomp{"the kernel allows no seccomp filters here"};
inline constexpr Condition kSecondSqlite{"no second copy of SQLite is to be had"};
inline constexpr Condition kSecondTracker{"no copies of libtracker.so are to be had"};
inline constexpr Condition kGit{"there is no git here"};
inline constexpr Condition kDevFull{"there is no /dev/full here"};

#define NEEDS(condition) SKIP_WHERE(!(condition).holds(), condition)
#define SKIP_WHERE(missing, condition) \
  if (missing) GTEST_SKIP() << (condition).reason

}  // namespace tracker::internal
