// SPDX-License-Identifier: MIT
// Removing runs: the folder is renamed into <store>/trash first, so that a run is there as a whole or gone, and then
// deleted; whoever empties the trash next finishes what a killed process left. Every step goes from folder to folder by
// descriptors and follows no link, so nothing outside the store is ever named (docs/formats/store.md).
//
// Any number of processes may do the same, and each may be killed at any point. A run is looked at again behind the
// rename: where a writer came meanwhile it is put back. Threads: any. Cost: blocks on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/store.h"

namespace tracker::internal {

constexpr const char* kTrashFolder = "trash";
constexpr const char* kTrashLockFile = "lock";
constexpr int kTrashDepthMax = 64;  // folders within each other below a run

struct Removed {
  uint64_t files = 0;
  uint64_t bytes = 0;  // of files that had no other name
};

// What remove_run() would refuse, without changing anything. kInvalid: not a folder of a run in this store, or reached
// through a link; kBusy: somebody writes it, the message says who.
Status check_removable(const Store& store, const RunFolder& run, int64_t now_us);

// Errors: as above, and kIo. After kIo the run is in its place, or in the trash as a whole or in part: the message says
// which, and empty_trash() goes on. Journals of its dead writers on this machine go too: they would make it again.
Result<Removed> remove_run(const Store& store, const RunFolder& run, int64_t now_us);

// Deletes what earlier removals left; with `dry_run` only counts. What cannot be deleted is named in `problems`.
Removed empty_trash(const Store& store, bool dry_run, int64_t now_us, std::vector<std::string>* problems);

}  // namespace tracker::internal
