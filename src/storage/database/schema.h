// SPDX-License-Identifier: MIT
// The tables of a writer's database and their rows, for the writer and the reader (docs/formats/database.md).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/database/table_sum.h"
#include "storage/log/event_state.h"
#include "storage/log/series_stats.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr int64_t kApplicationId = 0x54524b57;  // "TRKW"
constexpr int64_t kUnreleasedId = 0x54524b31;   // "TRK1"
constexpr int kDatabaseVersion = 1;

// Keys of `meta`. On disk: do not change.
namespace meta_key {
constexpr std::string_view kIdentity = "identity";  // CBOR of WriterIdentity
constexpr std::string_view kLastSeq = "last_seq";   // of the newest frame ever committed
constexpr std::string_view kPoints = "points";
constexpr std::string_view kFrames = "frames";
constexpr std::string_view kFrameBytes = "frame_bytes";
constexpr std::string_view kDurableSeq = "durable_seq";  // the frames up to here are fsynced
constexpr std::string_view kStatsSeq = "stats_seq";      // `series` covers the frames up to here
constexpr std::string_view kHeartbeat = "heartbeat_us";
constexpr std::string_view kCost = "cost";            // CBOR: the cost of the tracker in its process until then
constexpr std::string_view kEnd = "end";              // CBOR: the payload of the last end event, and time_us
constexpr std::string_view kRecovered = "recovered";  // CBOR: the payload of the note
constexpr std::string_view kStepMax = "step_max";     // of texts and media; absent: none has a step
// storage/database/table_sum.h; absent: not finished. The first key by name: a page that has lost its last rows still
// has it.
constexpr std::string_view kChecksum = "checksum";
}  // namespace meta_key

struct DatabaseMeta {
  WriterIdentity identity;
  uint64_t last_seq = 0, points = 0, frames = 0, frame_bytes = 0, stats_seq = 0;
  uint64_t durable_seq = 0;  // at most last_seq
  int64_t heartbeat_us = 0;
  std::optional<WriterEnd> end;
  std::optional<Value> recovered;
  std::optional<int64_t> step_max;
  Value cost;  // null: not recorded
  std::optional<std::string> checksum;
};

// A new database's file, complete: tables, identity, WAL mode. It appears at `path` complete or not at all, so that no
// process ever reads a database without an identity. kExists.
Status create_database_file(const std::string& path, const WriterIdentity& identity);

// The same for a file that no other process knows yet: no WAL mode, no locks, no fsync.
Status create_detached_database(const std::string& path, const WriterIdentity& identity);

// Rows of the small tables, in the order of their checksum, and their columns.
constexpr std::string_view kReadMeta = "SELECT key, value FROM meta ORDER BY key";
constexpr std::string_view kReadSeries =
    "SELECT id, name, type, points, has_steps, step_min, step_max, last_step, time_first_us, time_last_us, finite, "
    "min_bits, max_bits, sum_bits, nan, pos_inf, neg_inf, first_bits, last_bits FROM series ORDER BY id";
constexpr std::string_view kReadAttributes = "SELECT kind, key, value, time_us, count FROM attributes ORDER BY id";
constexpr std::string_view kReadLosses = "SELECT series, reason, count FROM losses ORDER BY series, reason";
constexpr int kMetaColumns = 2, kAttributeColumns = 5, kLossColumns = 3;

// kCorrupt if the file is not a writer's database, or has a table, index, view or trigger that is not ours; kVersion if
// it is of a newer version.
Status check_database(Sqlite& db, const std::string& path);
// `damaged`: set to the count that cannot be right; null: that is kCorrupt.
// `sum`, here and below: the rows read are added to it.
Result<DatabaseMeta> read_meta(Sqlite& db, const std::string& path, std::string* damaged = nullptr,
                               TableSum* sum = nullptr);
Result<SeriesMap> read_series(Sqlite& db, TableSum* sum = nullptr);  // kCorrupt also if a name is not UTF-8
// `damaged`: set to the number of rows that cannot be as written; they are omitted, and the others may be wrong too.
// Null: such rows are kCorrupt.
Result<std::vector<Attribute>> read_attributes(Sqlite& db, uint64_t* damaged = nullptr, TableSum* sum = nullptr);
Result<std::vector<Loss>> read_losses(Sqlite& db, TableSum* sum = nullptr);
Result<std::vector<RingPosition>> read_positions(Sqlite& db);

// The statement that write_series() binds. A row that is written without a name keeps its name.
constexpr std::string_view kWriteSeries =
    "INSERT INTO series VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET "
    "name=CASE excluded.name WHEN '' THEN name ELSE excluded.name END, type=excluded.type, points=excluded.points, "
    "has_steps=excluded.has_steps, step_min=excluded.step_min, step_max=excluded.step_max, "
    "last_step=excluded.last_step, time_first_us=excluded.time_first_us, time_last_us=excluded.time_last_us, "
    "finite=excluded.finite, min_bits=excluded.min_bits, max_bits=excluded.max_bits, sum_bits=excluded.sum_bits, "
    "nan=excluded.nan, pos_inf=excluded.pos_inf, neg_inf=excluded.neg_inf, first_bits=excluded.first_bits, "
    "last_bits=excluded.last_bits";
Status write_series(Statement& statement, const SeriesStats& stats);

}  // namespace tracker::internal
