// SPDX-License-Identifier: MIT
// The checksum of a database's small tables, which have none of their own: one flipped bit there would be another
// config, another name of a metric, another end. It is written when the database is finished, and dropped by a writer
// that goes on: a sum that each commit changes would read each row as it was, ten times a second. Threads: one.
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

// Adds up rows while somebody reads them, so that to check costs no second look at a table. The tables come in the
// order of docs/formats/database.md, each with its rows in order.
class TableSum {
 public:
  void begin_table();
  // Before a column of it is read: SQLite changes the kind of what it converts.
  void add_row(const Statement& row, int columns);
  // What a row of `series` says: with 100,000 of them to ask SQLite for each column again takes half as long as to read
  // them.
  void add_series(const SeriesStats& stats, std::string_view name);
  uint32_t crc();

 private:
  void flush();

  std::string bytes_;
  uint32_t crc_ = 0;
};

// Within the transaction that wrote the tables last. `series`: what the rows were written from, whatever their names.
// With a row of an unknown type none is written.
Status write_table_sum(Sqlite& db, const StatsTable& series);
// Within the first transaction of a writer that goes on.
Status drop_table_sum(Sqlite& db);

// The newest frame that the rows of the log name, whatever `meta` says. 0: there is none. kCorrupt.
Result<uint64_t> newest_frame(Sqlite& db);

enum class TableVerdict { kNone, kSound, kWrong };
// What the stored checksum `said` means for tables whose checksum is `crc`.
TableVerdict judge_tables(const std::optional<std::string>& said, uint32_t crc);
// The same in one look of its own. kCorrupt: a table cannot be read. Cost: reads meta, series, attributes and losses.
Result<TableVerdict> check_table_sum(Sqlite& db);

}  // namespace tracker::internal
