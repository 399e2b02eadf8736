// SPDX-License-Identifier: MIT
#include "server/server_tables.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/fs.h"

namespace tracker::internal {
namespace {

// Limit: ms that a statement of the server waits for another process. Beyond it: 503.
constexpr int kServerBusyMs = 10'000;

}  // namespace

Result<Sqlite> open_server_tables(const std::string& store_path, const char* name, int64_t application_id,
                                  const char* tables) {
  const std::string path = join_path(store_path, name);
  // SQLite would create it with the umask's mode. Closed before SQLite opens it: closing it later would drop SQLite's
  // locks.
  if (!path_exists(path))
    if (const auto made = open_file(path, O_CREAT | O_RDWR, 0600); !made.ok()) return made.status();
  auto db = Sqlite::open(path, SqliteOpen::kWrite, kServerBusyMs);
  if (!db.ok()) return db.status();
  TRACKER_RETURN_IF_ERROR(db->exec("PRAGMA synchronous=FULL"));
  TRACKER_RETURN_IF_ERROR(db->exec("BEGIN IMMEDIATE"));
  const auto id = db->query_int("PRAGMA application_id");
  const auto version = db->query_int("PRAGMA user_version");
  if (!id.ok()) return id.status();
  if (!version.ok()) return version.status();
  if (*id != 0 && *id != application_id) return Status(Code::kCorrupt, path + " is no file of a server");
  if (*version > kServerTablesVersion)
    return Status(Code::kVersion, path + " was written by a newer version of tracker");
  if (*id == 0) {
    TRACKER_RETURN_IF_ERROR(db->exec(tables));
    const std::string set =
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", application_id, kServerTablesVersion);
    TRACKER_RETURN_IF_ERROR(db->exec(set.c_str()));
  }
  TRACKER_RETURN_IF_ERROR(db->exec("COMMIT"));
  return db;
}

}  // namespace tracker::internal
