// SPDX-License-Identifier: MIT
#include "pipeline/run_cost.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>

namespace tracker::internal {

uint64_t thread_cpu_ns() {
  timespec t{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0) return 0;
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

Value cost_value(const RunCost& cost) {
  const auto number = [](uint64_t n) { return Value(static_cast<int64_t>(n)); };
  return Value::Map{{"call_ns", number(cost.call_ns)},
                    {"thread_cpu_ns", number(cost.thread_cpu_ns)},
                    {"memory_bytes_max", number(cost.memory_bytes_max)},
                    {"bytes_written", number(cost.bytes_written)}};
}

void CostMeter::note_drain(uint64_t memory_bytes) {
  drain_cpu_ns_.store(thread_cpu_ns());
  note_memory(memory_bytes);
}

void CostMeter::note_store() {
  constexpr uint64_t kBlockBytes = 512;  // of ru_oublock
  store_cpu_ns_.store(thread_cpu_ns());
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) == 0)
    bytes_written_.store(static_cast<uint64_t>(usage.ru_oublock) * kBlockBytes);
}

// By the drain thread alone.
void CostMeter::note_memory(uint64_t bytes) {
  if (bytes > memory_max_.load()) memory_max_.store(bytes);
}

void CostMeter::fill(RunCost* out) const {
  out->thread_cpu_ns = drain_cpu_ns_.load() + store_cpu_ns_.load() + monitor_cpu_ns_.load();
  out->bytes_written = bytes_written_.load();
  out->memory_bytes_max = std::max(memory_max_.load(), out->memory_bytes);
}

}  // namespace tracker::internal
