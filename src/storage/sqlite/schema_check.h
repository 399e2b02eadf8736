// SPDX-License-Identifier: MIT
// What stands in a database's sqlite_schema, held against the statements that make ours. A file may come from anybody:
// a view in a table's place, a generated column, an index on an expression or a check would have SQLite compute what
// its maker likes, for ever too. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

struct SchemaObject {
  std::string name, sql;  // as SQLite keeps it, runs of white space as one blank
  bool needed = true;
};

// Of statements CREATE TABLE, CREATE INDEX, … each ended by ";", without quotes in them.
std::vector<SchemaObject> schema_objects(std::string_view statements, bool needed = true);

// kCorrupt, which names file and object, when `schema` ("main", or the name of an attached database) holds anything but
// `expected`, SQLite's own indexes of their keys, what ANALYZE leaves and indexes over plain columns, or lacks one that
// is needed. Cost: one page, about 20 µs.
Status check_schema(Sqlite& db, std::string_view schema, const std::vector<SchemaObject>& expected,
                    const std::string& path);

// The first finding of PRAGMA integrity_check, without SQLite's heading "*** in database main ***".
std::string_view tree_finding(std::string_view said);

}  // namespace tracker::internal
