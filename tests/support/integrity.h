// SPDX-License-Identifier: MIT
// SQLite's own opinion of the databases in a run's folder.
#pragma once

#include <sqlite3.h>

#include <string>
#include <vector>

#include "base/fs.h"

namespace tracker::internal {

inline std::string integrity_of(const std::string& path) {
  sqlite3* db = nullptr;
  std::string out = "cannot open";
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    const auto take = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0];
      return 0;
    };
    if (sqlite3_exec(db, "PRAGMA integrity_check", take, &out, nullptr) != SQLITE_OK) out = sqlite3_errmsg(db);
  }
  sqlite3_close(db);
  return out;
}

// "path: what" for each database in `folder` that is not sound.
inline std::vector<std::string> damaged_databases(const std::string& folder) {
  std::vector<std::string> out;
  auto names = list_dir(folder);
  if (!names.ok()) return {names.status().to_string()};
  for (const std::string& name : *names) {
    if (!name.ends_with(".db")) continue;
    const std::string answer = integrity_of(join_path(folder, name));
    if (answer != "ok") out.push_back(name + ": " + answer);
  }
  return out;
}

}  // namespace tracker::internal
