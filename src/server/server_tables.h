// SPDX-License-Identifier: MIT
// The SQLite files of a server, server.db and ingest.db: made if they are missing, else checked. Threads: as Sqlite.
// Cost: blocks on the disk.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr int kServerTablesVersion = 1;

// The file `name` of the store's folder, readable only by its owner, with synchronous=FULL. kCorrupt: another file is
// there; kVersion: a newer one.
Result<Sqlite> open_server_tables(const std::string& store_path, const char* name, int64_t application_id,
                                  const char* tables);

}  // namespace tracker::internal
