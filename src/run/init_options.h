// SPDX-License-Identifier: MIT
// The options of init, completed from the environment and checked. Threads: one (init). Cost: reads the environment.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "run/run.h"

namespace tracker::internal {

// The value of an environment variable; null where it is unset or empty.
const char* env_value(const char* name);

// Fills each empty option from its variable, else with its default, and checks all of them. kInvalid names the argument
// or variable, and what was expected.
Status complete_options(InitOptions* options);

// Bytes of max_disk, from the option or TRACKER_MAX_DISK; 0: no bound. kInvalid: not a size, or less than kMaxDiskMin.
Result<uint64_t> max_disk_of(InitOptions* options);

}  // namespace tracker::internal
