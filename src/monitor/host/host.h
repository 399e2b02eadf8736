// SPDX-License-Identifier: MIT
// What machine and container a process runs on, as maps of the environment (docs/formats/records.md). Threads: any.
// Cost: some twenty small files.
#pragma once

#include <string>

#include "model/value.h"

namespace tracker::internal {

// hostname, os, kernel, machine, cpu_model, cpus, cpus_usable, memory_bytes. What the system does not say is left out.
Value host_facts();
// The limits of this process's cgroup, versions 1 and 2, with those above it: cgroup (1 or 2), cpu_quota (cores),
// memory_max_bytes, cpuset. Empty where there is none. `root` and `own` (the text of /proc/self/cgroup) are for tests.
Value container_limits(const std::string& root = "/sys/fs/cgroup", const std::string& own = "");

}  // namespace tracker::internal
