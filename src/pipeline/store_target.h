// SPDX-License-Identifier: MIT
// Where a run is to be stored, as init decided. A value.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "model/records.h"
#include "pipeline/store_schedule.h"
#include "storage/store/store.h"

namespace tracker::internal {

// What a rank joins.
struct JoinedRun {
  RunIdentity run;
  int64_t attempt = 1;
};

// Where the run is to be stored. The store may not exist yet, or not be writable: it is tried again until it is.
struct StoreTarget {
  std::string store_path;
  RunIdentity run;
  Status problem;              // why init could not open it; ok when it could
  std::string files = "auto";  // TRACKER_STORE_FILES
  uint64_t max_disk = 0;       // bytes of the store; 0: no bound
  // Of a rank that waits for the run of rank 0, whose `run` is none yet: finds it, or nothing while it is not there.
  // Called by the store thread. `waiting`: who waits, for a message.
  std::function<std::optional<JoinedRun>(const Store&)> find_run = nullptr;
  std::string waiting = {};
  std::chrono::milliseconds await_max = kRunAwaitMax;
  bool awaited = false;  // other ranks wait for this run
};

}  // namespace tracker::internal
