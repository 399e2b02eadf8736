// SPDX-License-Identifier: MIT
// Is the process that writes a journal still there? Answered by the fcntl lock on the journal's lock file; where none
// can be seen, by the process table, and that only within its boot and pid namespace (pids lie across them).
// Threads: any. Cost: a few system calls.
#pragma once

#include <chrono>

#include "model/records.h"

namespace tracker::internal {

enum class Liveness {
  kLive,     // the lock is held (or the writer is in this very process)
  kDead,     // the lock is free, or the journal is gone on the machine and boot that made it
  kUnknown,  // on another host, or in a container or of a user whose /dev/shm we do not see: go by the heartbeat
};

// A heartbeat is written each 15 s; a reader that cannot see the lock believes in the writer for four of them.
constexpr std::chrono::microseconds kHeartbeatTrust{60'000'000};

Liveness probe_writer(const WriterIdentity& writer);

}  // namespace tracker::internal
