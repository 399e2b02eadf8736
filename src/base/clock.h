// SPDX-License-Identifier: MIT
// The three clocks. ticks() is the hot path's timestamp: the invariant TSC where the kernel trusts it (10 ns against 24
// for CLOCK_REALTIME, measured), CNTVCT on ARM64, else CLOCK_MONOTONIC in nanoseconds. Ticks have no unit of their own:
// a journal stores (tick, monotonic, realtime) anchors and interpolates. Threads: any. Cost: no allocation, no lock.
#pragma once

#include <time.h>

#include <cstdint>

namespace tracker::internal {

// Values are on disk (ring header): do not change.
enum class TickKind : uint8_t { kMonotonicNs = 1, kTsc = 2, kCntvct = 3 };

// Chosen once at load; constant afterwards.
extern const TickKind kTickKind;

inline int64_t monotonic_ns() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

inline int64_t realtime_ns() {
  timespec t;
  ::clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

inline int64_t realtime_us() { return realtime_ns() / 1000; }

inline uint64_t ticks() {
#if defined(__x86_64__)
  if (__builtin_expect(kTickKind == TickKind::kTsc, 1)) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#endif
  return static_cast<uint64_t>(monotonic_ns());
}

// One reading of all three clocks, as close together as they can be taken.
struct TimeAnchor {
  uint64_t tick = 0;
  int64_t monotonic_ns = 0;
  int64_t realtime_ns = 0;
};
TimeAnchor read_anchor();

// Ticks per nanosecond as estimated from load time until now; 1.0 for kMonotonicNs. Good to about 1 % after 1 ms.
double ticks_per_ns();

}  // namespace tracker::internal
