// SPDX-License-Identifier: MIT
// Where a journal lies: tmpfs if it has room, else node-local disk, else private memory; and how much it may take.
// Threads: any. Cost: system calls at init.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tracker::internal {

enum class JournalKind { kShm, kDisk, kMemory };
const char* journal_kind_name(JournalKind kind);

// In a journal: SIGTERM has come to its process, which was to mark that (src/pipeline/sigterm.h).
constexpr const char* kSigtermFile = "sigterm";

constexpr uint64_t kFirstRingBytes = 256 * 1024;
// Limit: bytes of a ring. Beyond it: calls wait, then the newest points are dropped and counted.
constexpr uint64_t kRingBytesMax = 8 * 1024 * 1024;
// Limit: bytes of rings and spill file of a process; also 1/8 of the free space of /dev/shm and 2 % of the container's
// memory. Beyond it: points wait, then are dropped and counted.
constexpr uint64_t kJournalBytesMax = 24 * 1024 * 1024;
// Limit: least bytes that /dev/shm must allow. Beyond it: the journal is a file on a local disk, else private memory.
constexpr uint64_t kJournalBytesMin = 2 * 1024 * 1024;
// Limit: bytes of the spill file, in use while a commit is stuck. Beyond it: points stay in the rings.
constexpr uint64_t kSpillBytesMax = 16 * 1024 * 1024;

struct JournalPlace {
  JournalKind kind = JournalKind::kMemory;
  std::string root;  // folder that holds one folder a writer; empty for kMemory
  uint64_t budget_bytes = kJournalBytesMax;
  std::string why;    // one line for `doctor` and status: why not something better
  std::string to_do;  // one line for `doctor`: what changes that; empty: more room does
};

// Chooses for a store at `store_path`. `wanted`: "" | "shm" | "disk" | "memory"; a wanted kind that is not possible is
// replaced by the next best and `why` says so. The shm root is TRACKER_SHM_DIR or /dev/shm, made 0700 and used only
// when it is ours. No place on a network or FUSE file system is ever taken: mapped files stall or SIGBUS there.
// `make` false: says what would be chosen and makes no folder.
JournalPlace choose_place(const std::string& wanted, const std::string& store_path, bool make = true);

// Where journals of this user lie that are on the disk of their store: each of a shared store has a folder of its own.
std::string store_journal_root(const std::string& store_path);

// Every root where journals of this user may lie, for recovery of the store at `store_path`.
std::vector<std::string> journal_roots(const std::string& store_path);

// Makes `path` (0700) or checks that it is a folder of this user with no access for others and no link. kInvalid
// otherwise, with a hint. `make` false: one that is not there is ok too where it could be made; kIo where it could not.
Status check_private_dir(const std::string& path, bool make = true);

}  // namespace tracker::internal
