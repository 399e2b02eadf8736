// SPDX-License-Identifier: MIT
// What the log of a writer says of counts and series, all parts of it, where its small tables say what cannot be: as
// its readers take it. Threads: one. Cost: decodes every column.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "storage/log/log_state.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

struct CountsFromLog {
  LogState state;
  uint64_t last_seq = 0;
  uint64_t frame_bytes = 0;  // of what was compacted: as it is now
  bool whole = false;        // a log without damage: there are no other series
};

// Parts in front of `part` are opened here, by the name `base` of the first; the last one is `db`, at `path`, whose
// newest frame is `newest`. What is damaged in them is left out. Errors: what SQLite answers of a file, kVersion.
Result<CountsFromLog> read_counts_from_log(Sqlite* db, const std::string& base, const std::string& path, int part,
                                           const Id128& writer, uint64_t newest);

}  // namespace tracker::internal
