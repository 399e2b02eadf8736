// SPDX-License-Identifier: MIT
// The checksum of a database's small tables. SQLite has no checksum for them: one flipped bit would change a config
// value, a name or an end. It is written when the database is finished, and removed when a writer continues it: a sum
// kept up by each commit would read each row again, ten times a second. Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

struct SeriesStats;  // storage/writer/writer_reader.h
class StatsTable;    // storage/database/stats_table.h

// Whether a row of `meta` counts.
bool is_summed(std::string_view key);

// Adds up rows while they are read for another purpose, so that the check reads no table twice. The tables are added in
// the order of docs/formats/database.md, each with its rows in order.
class TableSum {
 public:
  void begin_table();
  // Call before a column of it is read: SQLite changes the kind of a value that it converts.
  void add_row(const Statement& row, int columns);
  // For a row of `series` that was read: with 100,000 rows, reading each column from SQLite again would take half as
  // long as the first reading.
  void add_series(const SeriesStats& stats, std::string_view name);
  uint32_t crc();

 private:
  void flush();

  std::string bytes_;
  uint32_t crc_ = 0;
};

// Within the last transaction that writes the tables. `series`: the data of the rows, except their names. If there is a
// row of an unknown type, no checksum is written.
Status write_table_sum(Sqlite& db, const StatsTable& series);
// Within the first transaction of a writer that continues the database.
Status drop_table_sum(Sqlite& db);

// The newest frame by the rows of the log, whatever `meta` has. 0: there is none. kCorrupt.
Result<uint64_t> newest_frame(Sqlite& db);

enum class TableVerdict { kNone, kSound, kWrong };
// Compares the stored checksum `said` with `crc`, the checksum of the tables.
TableVerdict judge_tables(const std::optional<std::string>& said, uint32_t crc);
// The same, with a reading of its own. kCorrupt: a table cannot be read. Cost: reads meta, series, attributes and
// losses.
Result<TableVerdict> check_table_sum(Sqlite& db);

}  // namespace tracker::internal
