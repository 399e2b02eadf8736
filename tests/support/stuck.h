// SPDX-License-Identifier: MIT
// A run whose background threads a test holds, and its child process's record of what it has logged meanwhile.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "run/run.h"
#include "support/child.h"
#include "support/quiet_run.h"

namespace tracker::internal {

inline std::atomic<bool> g_hold{false};
inline void hold_while_asked() {
  while (g_hold.load()) ::usleep(1000);
}

struct Ledger {
  std::atomic<uint64_t> logged, dropped;
  std::atomic<int64_t> longest_ns, finish_ns;
  std::atomic<int> ready;
};

// Logs step after step until `points` or `deadline`; a nap of 100 us after each `burst`.
inline void log_steps(Run* run, Ledger* ledger, uint64_t points, int64_t deadline_ns, uint64_t burst) {
  const uint32_t id = run->series_id("x", ValueType::kInt64);
  CHILD_CHECK(id != 0);
  for (uint64_t i = 0; i < points && now_ns() < deadline_ns; ++i) {
    const uint64_t step = ledger->logged.load() + ledger->dropped.load();
    const ValuePair pair{step, id, 0};
    const int64_t before = now_ns();
    const Code code = log_pairs(run->hot(), &pair, 1, static_cast<int64_t>(step));
    ledger->longest_ns = std::max(ledger->longest_ns.load(), now_ns() - before);
    CHILD_CHECK(code == Code::kOk || code == Code::kLimit);
    (code == Code::kOk ? ledger->logged : ledger->dropped).fetch_add(1);
    if (i % burst == burst - 1) ::usleep(100);
  }
}

inline int64_t in_ms(int64_t ms) { return now_ns() + ms * 1'000'000; }

}  // namespace tracker::internal
