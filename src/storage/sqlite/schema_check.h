// SPDX-License-Identifier: MIT
// Compares a database's sqlite_schema with the statements that make our tables. A file may come from anyone: with a
// view instead of a table, a generated column, an index on an expression or a check, SQLite would run code of the
// file's author, possibly without end. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

struct SchemaObject {
  std::string name, sql;  // as SQLite stores it, runs of white space as one blank
  bool needed = true;
};

// Parses statements CREATE TABLE, CREATE INDEX, … each ended by ";", without quotes in them.
std::vector<SchemaObject> schema_objects(std::string_view statements, bool needed = true);

// kCorrupt, with file and object, if `schema` ("main", or the name of an attached database) has anything but
// `expected`, SQLite's own indexes of their keys, the tables of ANALYZE and indexes over plain columns, or lacks a
// required object. Cost: one page, about 20 µs.
Status check_schema(Sqlite& db, std::string_view schema, const std::vector<SchemaObject>& expected,
                    const std::string& path);

// The first finding of PRAGMA integrity_check, without SQLite's heading "*** in database main ***".
std::string_view tree_finding(std::string_view said);

}  // namespace tracker::internal
