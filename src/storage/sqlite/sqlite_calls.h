// SPDX-License-Identifier: MIT
// SQLite keeps descriptors of its own, for the database, its WAL and its index. Other code of the process may close
// them (os.closerange, a close too many) and open files of its own under their numbers: SQLite would write pages into
// them. Its system calls are replaced (docs/decisions/0033): one on a descriptor that is not the file any more that our
// connection opened fails with EBADF, and such a descriptor is not closed. Connections of others, which may share
// SQLite with us, are left as they are, but for the device that a forked child is told of a file that ours had open
// (inherited_files.h). Pages that were read ahead (read_ahead.h) come from memory, without a look. Between the look and
// the call another thread may still close it. Threads: any. Cost: an fstat(2) a call of SQLite's on a file.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "journal/wipe_memory.h"

namespace tracker::internal {

constexpr int kGuardedDescriptorsMax = 65'536;  // one with a higher number is not looked at

// Held by a thread for one call of SQLite; not nested.
class SqliteCall {
 public:
  // kAhead (read_ahead.h): only where the call goes on in a transaction that is open already.
  enum class Reads { kAsAsked, kAhead };
  explicit SqliteCall(Reads reads = Reads::kAsAsked);
  ~SqliteCall();
  SqliteCall(const SqliteCall&) = delete;
  SqliteCall& operator=(const SqliteCall&) = delete;

 private:
  const ForkGate gate_;
};

// Before the first connection; more often does no harm.
void guard_sqlite_descriptors();
// How many calls of this thread have found a descriptor that is not ours any more.
uint64_t sqlite_descriptors_lost();
// How many reads of this thread a disk has refused: SQLite takes some of these errors (EIO, ENXIO) for damage of the
// file.
uint64_t sqlite_reads_failed();
// At most kGuardedDescriptorsMax, as it is without this; before the first connection. Returns what it was.
int set_guarded_descriptors_for_testing(int most);
// What is said where one has.
Status closed_by_others(const std::string& path);

}  // namespace tracker::internal
