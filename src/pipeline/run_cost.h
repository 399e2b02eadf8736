// SPDX-License-Identifier: MIT
// What the tracker takes from its process. A value.
#pragma once

#include <cstdint>

namespace tracker::internal {

// What the tracker takes from the training process (docs/guarantees.md).
struct RunCost {
  uint64_t call_ns = 0;           // in calls that log, estimated from samples (journal/ring/call_cost.h)
  uint64_t thread_cpu_ns = 0;     // of the background threads
  uint64_t memory_bytes = 0;      // rings, spill file and what waits for the disk, now
  uint64_t memory_bytes_max = 0;  // and at most, as seen each 100 ms
  uint64_t bytes_written = 0;     // that the kernel was given for the store's disk; 0 on tmpfs
};

}  // namespace tracker::internal
