// SPDX-License-Identifier: MIT
// One sample of machine and process: the values of the series system/… (docs/environment.md has names and units).
// Threads: one at a time. Cost: some fifteen small files and those of the process tree (process_tree.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/host/process_tree.h"

namespace tracker::internal {

struct SystemValue {
  std::string name;  // "system/cpu.percent"
  double value = 0;
};

class SystemSampler {
 public:
  // `store`: a path on the file system of the store. `root`: where proc and sys lie, for tests.
  explicit SystemSampler(std::string store, const std::string& root = "");
  // What changed since the look before; rates are left out of the first one, as is what the system does not say.
  std::vector<SystemValue> look();

 private:
  void look_at_cpu(std::vector<SystemValue>* out);
  void look_at_memory(std::vector<SystemValue>* out) const;
  void look_at_tree(double seconds, std::vector<SystemValue>* out);
  void look_at_disk(std::vector<SystemValue>* out) const;
  void look_at_network(double seconds, std::vector<SystemValue>* out);

  const std::string store_, proc_;
  ProcessTree tree_;
  int64_t last_ns_ = 0;  // of the look before; 0: none
  uint64_t cpu_busy_ = 0, cpu_all_ = 0, received_ = 0, sent_ = 0;
};

}  // namespace tracker::internal
