// SPDX-License-Identifier: MIT
// Memory that the kernel zeroes in a forked child (MADV_WIPEONFORK): the places that hot_path.h uses. Blocks are
// reused and never unmapped, so a stale pointer reads a free place, not a fault. Threads: any (a lock). Cost:
// allocation only at attach and init.
#pragma once

#include <chrono>
#include <cstdint>

#include "journal/ring/hot_path.h"

namespace tracker::internal {

HotRun* allocate_hot_run();  // zeroed but for step_base = INT64_MIN; nullptr when memory is out
// One that a forked child has inherited and found zeroed is used again, at the same address.
void revive_hot_run(HotRun* run, int64_t step_base);
void free_hot_run(HotRun* run);            // the caller knows that no thread uses it any more
void free_hot_ring_locked(HotRing* ring);  // under ProcessLock
HotRing* allocate_hot_ring_locked();       // under ProcessLock

// The process-wide state, which a forked child makes again. One lock guards which thread owns which HotRing.
struct ProcessLock {
  ProcessLock();
  ~ProcessLock();
};

// A number that differs in a forked child.
uint64_t process_generation();

// Makes every thread of this process pass a full memory barrier. False where the kernel cannot (then callers wait
// instead).
bool barrier_all_threads();

// Held by a thread for one call of SQLite (src/storage/sqlite/sqlite_calls.h; not nested). fork() waits for it, at most
// kForkWaitMax, so that a child that has a run of its own does not find SQLite's locks held for ever
// (docs/decisions/0039). Waits for forks under way, at most twice as long. Cost: some 10 ns.
// Limit: time that fork() waits for a call of SQLite.
constexpr std::chrono::milliseconds kForkWaitMax{20};
class ForkGate {
 public:
  ForkGate();
  ~ForkGate();
  ForkGate(const ForkGate&) = delete;
  ForkGate& operator=(const ForkGate&) = delete;
};

}  // namespace tracker::internal
