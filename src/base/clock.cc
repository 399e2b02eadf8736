// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tracker::internal {
namespace {

TickKind choose() {
#if defined(__aarch64__)
  return TickKind::kCntvct;
#elif defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
  if (!invariant) return TickKind::kMonotonicNs;
  // The kernel stops using a TSC that drifts between cores. Use the TSC only where the kernel does.
  char name[32] = {};
  const int fd = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    if (::read(fd, name, sizeof name - 1) < 0) name[0] = 0;
    ::close(fd);
  }
  if (std::strncmp(name, "tsc", 3) == 0 || std::strncmp(name, "kvm-clock", 9) == 0 ||
      std::strncmp(name, "hyperv", 6) == 0)
    return TickKind::kTsc;
  return TickKind::kMonotonicNs;
#else
  return TickKind::kMonotonicNs;
#endif
}

}  // namespace

const TickKind kTickKind = choose();

namespace {
const TimeAnchor kLoadAnchor = read_anchor();  // after kTickKind: same file, in order
}  // namespace

TimeAnchor read_anchor() {
  TimeAnchor anchor;
  // The clocks are read one after the other. If the reading was interrupted (> 5 us apart), read again, three times at
  // most.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const int64_t before = monotonic_ns();
    anchor.tick = ticks();
    anchor.realtime_ns = realtime_ns();
    anchor.monotonic_ns = monotonic_ns();
    if (anchor.monotonic_ns - before < 5'000) break;
  }
  return anchor;
}

double ticks_per_ns() {
  if (kTickKind == TickKind::kMonotonicNs) return 1.0;
  TimeAnchor now = read_anchor();
  while (now.monotonic_ns - kLoadAnchor.monotonic_ns < 200'000) now = read_anchor();
  return static_cast<double>(now.tick - kLoadAnchor.tick) /
         static_cast<double>(now.monotonic_ns - kLoadAnchor.monotonic_ns);
}

}  // namespace tracker::internal
