// SPDX-License-Identifier: MIT
// What the tracker takes from its process. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/value.h"

namespace tracker::internal {

// What the tracker takes from the training process (docs/guarantees.md).
struct RunCost {
  uint64_t call_ns = 0;           // in calls that log, estimated from samples (journal/ring/call_cost.h)
  uint64_t thread_cpu_ns = 0;     // of the background threads
  uint64_t memory_bytes = 0;      // rings, spill file and what waits for the disk, now
  uint64_t memory_bytes_max = 0;  // and at most, as seen each 100 ms
  uint64_t bytes_written = 0;     // that the kernel was given for the store's disk; 0 on tmpfs
};

uint64_t thread_cpu_ns();               // of the calling thread
Value cost_value(const RunCost& cost);  // docs/formats/records.md

// What the background threads of a run report of their cost.
class CostMeter {
 public:
  void note_drain(uint64_t memory_bytes);  // by the drain thread, after each round
  void note_store();                       // by the store thread, after each round
  void add_monitor(uint64_t cpu_ns) { monitor_cpu_ns_.fetch_add(cpu_ns); }
  void note_memory(uint64_t bytes);
  // `out`: memory_bytes is known.
  void fill(RunCost* out) const;

 private:
  std::atomic<uint64_t> drain_cpu_ns_{0}, store_cpu_ns_{0}, monitor_cpu_ns_{0};
  std::atomic<uint64_t> bytes_written_{0}, memory_max_{0};
};

}  // namespace tracker::internal
