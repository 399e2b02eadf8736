// SPDX-License-Identifier: MIT
// Removing runs: the folder is renamed into <store>/trash first, so that a run is there as a whole or gone, and then
// deleted; whoever empties the trash next finishes what a killed process left. Every step goes from folder to folder by
// descriptors and follows no link, so nothing outside the store is ever named (docs/formats/store.md).
//
// Any number of processes may do the same, and each may be killed at any point. A run is looked at again behind the
// rename: where a writer came meanwhile it is put back. The run is removed at one moment, that of its second rename,
// and its dead writers' journals go behind that: what died before it is undone, what died behind it is finished, by the
// next recovery or gc. Threads: any. Cost: blocks on the disk.
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

// What remove_run() would refuse, without changing anything. kInvalid: not a folder of a run in this store, or reached
// through a link; kVersion: a file of it is of a newer version; kBusy: somebody writes it, the message says who; of a
// run with a writer's file that nobody can read also: a file of it but run.json was written within kHeartbeatTrust.
Status check_removable(const Store& store, const RunFolder& run, int64_t now_us);

// Errors: as above, kVersion also: a journal of a newer program waits for it, and kIo. After an error nothing of the
// run or of its journals is gone, but where the message says that the run is. Journals of its dead writers on this
// machine go with it, for they would make it again; where another folder of the store has this run, a copy or the one
// that this is a copy of, they stay for that one.
Result<Removed> remove_run(const Store& store, const RunFolder& run, int64_t now_us);

// For who finds a journal of the run `uid` in this store, which has no folder of it.
enum class RemovalState {
  kNone,     // nobody removes it
  kUndone,   // a removal of it died before it was decided: the folder is back in its place
  kDecided,  // it was removed: the journal is to be removed, too
};
// kBusy: another process removes it just now. Cost: a look at the names in the trash, and at each run there.
Result<RemovalState> settle_removal(const Store& store, const Id128& uid);

// Deletes what earlier removals left; with `dry_run` only counts. What cannot be deleted is named in `problems`.
Removed empty_trash(const Store& store, bool dry_run, int64_t now_us, std::vector<std::string>* problems);

}  // namespace tracker::internal
