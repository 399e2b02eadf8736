// SPDX-License-Identifier: MIT
// tracker gc --max-disk: makes a store small enough by removing its oldest runs, where the user says so. Private to gc.
// Threads: one. Cost: a stat a file of the store; a snapshot of each run that may go, the oldest first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "storage/store/store.h"

namespace tracker::internal {

struct RemovedRun {
  RunFolder run;
  uint64_t bytes = 0;  // that it took on the disk
};

struct RoomReport {
  uint64_t before = 0, after = 0;   // bytes of the store; with `dry_run` what it would take
  std::vector<RemovedRun> removed;  // or what would be
  uint64_t ended = 0;               // runs that have ended and stay, for no server has them
  uint64_t ended_bytes = 0;
  std::vector<std::string> problems;
};

// Runs that have ended go, the oldest first, until the store takes at most `max_disk`. Those that no server has stay
// unless `unsynced`; in a store without a server that is every run. One that is being written never goes.
RoomReport make_room(Console& console, const Store& store, const GcOptions& options);

std::string room_text(const RoomReport& report, uint64_t max_bytes, bool dry_run);
Value room_json(const RoomReport& report, uint64_t max_bytes);

}  // namespace tracker::internal
