// SPDX-License-Identifier: MIT
// A file of a live writer in whose place somebody has put another one: an editor, rsync or a restore makes a copy and
// renames it over the name. What was committed since lies in our file alone, which has no name any more but is open
// here: a copy of that takes the name again (docs/decisions/0034). At every moment some whole file has it.
// Threads: one at a time. Cost: reads and writes the whole file.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "model/records.h"
#include "storage/sqlite.h"

namespace tracker::internal {

constexpr int64_t kPutBackIntervalNs = 10'000'000'000;  // between two, for each writes the whole file

// Whether another file has the name, and the last time is `*next_ns` ago; that is moved on. kIo says what stands there.
Status may_put_back(const std::string& path, int64_t* next_ns);
// `db`: the connection to our file, which stays as it is and is to be closed then. `own_wal`: the WAL at the path is
// its own, which goes with the copy, too; another one is moved aside.
Status put_database_back(Sqlite* db, const std::string& path, const Id128& writer, bool own_wal);
// The first `bytes` of the file that `fd` has open.
Status put_frames_back(int fd, uint64_t bytes, const std::string& path, const Id128& writer);
// What stands at `path` and is not ours gets another name, which nobody reads: <path>.replaced-<16 hex>.
Status set_other_file_aside(const std::string& path);

}  // namespace tracker::internal
