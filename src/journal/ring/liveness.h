// SPDX-License-Identifier: MIT
// Is the process that writes a journal still there? Answered by the fcntl lock on the journal's lock file; where none
// can be seen, or it may be that of a recoverer, by the process table, and that only within the writer's boot and pid
// namespace (pids lie across them).
// Threads: any. Cost: a few system calls.
#pragma once

#include <chrono>

#include "model/records.h"

namespace tracker::internal {

enum class Liveness {
  kLive,     // the lock is held (or the writer is in this very process)
  kDead,     // the lock is free, or a recoverer's; or the journal is gone on the machine and boot that made it
  kUnknown,  // only a descriptor is held, and its process is in another pid namespace; on another host, or in a
             // container or of a user whose /dev/shm we do not see, or received over HTTP: go by the heartbeat
};

// A heartbeat is written each 15 s; a reader that cannot see the lock believes in the writer for four of them.
// Limit: age of the last sign of life at which a writer elsewhere counts as alive. Beyond it: lost contact.
constexpr std::chrono::microseconds kHeartbeatTrust{60'000'000};

// Where the journal of `writer`, found in a run of the store at `store_path`, lies on this machine: in one of this
// user's own roots, under the writer's id. Empty where none of them has it with a lock file. What the identity says of
// the place is never used as a path: it may have come from anywhere.
std::string find_journal(const WriterIdentity& writer, const std::string& store_path);
// Of a writer that is stored in a run of the store at `store_path`.
Liveness probe_writer(const WriterIdentity& writer, const std::string& store_path);
// Of the writer of the journal in `dir`, which was found in one of our own roots.
Liveness probe_journal(const WriterIdentity& writer, const std::string& dir);
// By its pid alone; kUnknown outside its boot and pid namespace.
Liveness in_process_table(const WriterIdentity& writer);

}  // namespace tracker::internal
