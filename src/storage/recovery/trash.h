// SPDX-License-Identifier: MIT
// Removing runs: the folder is first renamed into <store>/trash, so that a run is either complete or gone, and then
// deleted; the next process that empties the trash completes what a killed process left. Every step goes from folder to
// folder by descriptors and follows no link, so no path outside the store is ever used (docs/formats/store.md).
//
// Any number of processes may do the same, and each may be killed at any point. The run is checked again after the
// rename: if a writer started meanwhile, the run is restored. The second rename decides the removal; its dead writers'
// journals are removed after that. What a process that died before the second rename did is undone, after it completed,
// by the next recovery or gc. Threads: any. Cost: blocks on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kTrashFolder = "trash";
constexpr const char* kTrashLockFile = "lock";
// Limit: nesting of folders in a run that is removed. Beyond it: it stays in the trash, named.
constexpr int kTrashDepthMax = 64;

struct Removed {
  uint64_t files = 0;
  uint64_t bytes = 0;  // of files that had no other name
};

// The errors of remove_run(), without changing anything. kInvalid: not a folder of a run in this store, or reached
// through a link; kVersion: a file of it is of a newer version; kBusy: a process writes it, which the message names.
// For a run with an unreadable writer's file also: a file of it except run.json was written within kHeartbeatTrust.
Status check_removable(const Store& store, const RunFolder& run, int64_t now_us);

// Errors: as above, kVersion also for a journal of a newer program, and kIo. After an error nothing of the run or of
// its journals is gone, unless the message says that the run is. The journals of its dead writers on this machine are
// removed too, because recovery would make the run again; if another folder of the store has this run, as its copy or
// original, they are kept for that one.
Result<Removed> remove_run(const Store& store, const RunFolder& run, int64_t now_us);

// For a caller that has a journal of the run `uid` in this store, which has no folder of the run.
enum class RemovalState {
  kNone,     // no process removes it
  kUndone,   // the remover died before the removal was decided: the folder is restored
  kDecided,  // the run was removed: remove the journal too
};
// kBusy: another process is removing it now. Cost: reads the names in the trash, and each run there.
Result<RemovalState> resolve_removal(const Store& store, const Id128& uid);

// Deletes what earlier removals left; with `dry_run` only counts. What cannot be deleted is named in `problems`.
Removed empty_trash(const Store& store, bool dry_run, int64_t now_us, std::vector<std::string>* problems);

}  // namespace tracker::internal
