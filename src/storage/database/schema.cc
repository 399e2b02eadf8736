// SPDX-License-Identifier: MIT
#include "storage/database/schema.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <utility>

#include "base/fs.h"
#include "base/ids.h"
#include "model/key.h"
#include "storage/database/levels.h"
#include "storage/sqlite/schema_check.h"

namespace tracker::internal {
namespace {

// frames and segments are rowid tables: blobs in WITHOUT ROWID tables grow 3.6 times (design 2). Doubles are stored as
// their bits in integers, because SQLite turns a NaN into NULL.
constexpr const char* kSchema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE frames(seq INTEGER PRIMARY KEY, points INTEGER NOT NULL, time_first_us INTEGER, time_last_us INTEGER,
  data BLOB NOT NULL);
CREATE TABLE segments(first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, points INTEGER NOT NULL,
  time_first_us INTEGER, time_last_us INTEGER, data BLOB NOT NULL);
CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type INTEGER NOT NULL, points INTEGER NOT NULL,
  has_steps INTEGER NOT NULL, step_min INTEGER, step_max INTEGER, last_step INTEGER,
  time_first_us INTEGER, time_last_us INTEGER, finite INTEGER NOT NULL, min_bits INTEGER, max_bits INTEGER,
  sum_bits INTEGER, nan INTEGER NOT NULL, pos_inf INTEGER NOT NULL, neg_inf INTEGER NOT NULL,
  first_bits INTEGER, last_bits INTEGER);
CREATE TABLE attributes(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  time_us INTEGER NOT NULL, count INTEGER NOT NULL, UNIQUE(kind, key));
CREATE TABLE losses(series INTEGER NOT NULL, reason INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY(series, reason)) WITHOUT ROWID;
CREATE TABLE journal(nonce INTEGER PRIMARY KEY, position INTEGER NOT NULL);
)";

// All tables and indexes that a database of version 1 may have.
const std::vector<SchemaObject>& known_objects() {
  static const auto* const known = [] {
    auto* out = new std::vector<SchemaObject>(schema_objects(kSchema));
    for (SchemaObject& one : schema_objects(kLevelsSchema, false)) out->push_back(std::move(one));
    return out;
  }();
  return *known;
}

// The header's "file format" bytes; 2 means WAL. SQLite's own switch would leave a -wal and a -shm file.
constexpr size_t kWriteFormatAt = 18;
constexpr size_t kReadFormatAt = 19;

Status fill_database(Sqlite& db, const WriterIdentity& identity) {
  TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA journal_mode=OFF"));
  TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA synchronous=OFF"));
  // Returns pages that compaction frees to the disk in pieces. Must be set before the first table exists.
  TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA auto_vacuum=INCREMENTAL"));
  TRACKER_RETURN_IF_ERROR(db.exec(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
  TRACKER_RETURN_IF_ERROR(db.exec(fmt::format("PRAGMA user_version={}", kDatabaseVersion).c_str()));
  TRACKER_RETURN_IF_ERROR(db.exec("BEGIN"));
  TRACKER_RETURN_IF_ERROR(db.exec(kSchema));
  {
    auto insert = db.prepare("INSERT INTO meta VALUES(?,?)");
    if (!insert.ok()) return insert.status();
    const std::string bytes = encode_cbor(identity.to_value());
    TRACKER_RETURN_IF_ERROR(insert->bind(meta_key::kIdentity).bind_blob(bytes).run());
    for (const auto key : {meta_key::kLastSeq, meta_key::kPoints, meta_key::kFrames, meta_key::kFrameBytes,
                           meta_key::kStatsSeq, meta_key::kDurableSeq})
      TRACKER_RETURN_IF_ERROR(insert->bind(key).bind(int64_t{0}).run());
    TRACKER_RETURN_IF_ERROR(insert->bind(meta_key::kHeartbeat).bind(identity.started_us).run());
  }
  return db.exec("COMMIT");
}

Status not_ours(const std::string& path, std::string_view why) {
  return Status(Code::kCorrupt, fmt::format("{} is not a writer's database: {}", path, why));
}

Result<Value> decode_in(const std::string& path, std::string_view what, std::string_view bytes) {
  auto value = decode_cbor(bytes);
  if (!value.ok()) return Status(Code::kCorrupt, fmt::format("{}: {}: {}", path, what, value.status().message()));
  return value;
}

}  // namespace

Status create_database_file(const std::string& path, const WriterIdentity& identity) {
  const std::string temporary = fmt::format("{}.new-{:016x}", path, random_u64());
  Status status;
  {
    auto db = Sqlite::open(temporary, SqliteOpen::kCreate, 0);
    status = db.ok() ? fill_database(*db, identity) : db.status();
  }
  Result<std::string> bytes = status.ok() ? read_file(temporary, 1 << 20) : Result<std::string>(status);
  remove_file(temporary);
  if (!bytes.ok()) return bytes.status();
  (*bytes)[kWriteFormatAt] = 2;
  (*bytes)[kReadFormatAt] = 2;
  return create_file_exclusive(path, *bytes, 0666);
}

Status create_detached_database(const std::string& path, const WriterIdentity& identity) {
  auto db = Sqlite::open(path, SqliteOpen::kDetached, 0);
  share_with_group(path);  // SQLite creates the file with the umask's mode
  return db.ok() ? fill_database(*db, identity) : db.status();
}

Status check_database(Sqlite& db, const std::string& path) {
  auto application = db.query_int("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application == kUnreleasedId) return Status(Code::kVersion, fmt::format("{} {}", path, kUnreleasedState));
  if (*application != kApplicationId) return not_ours(path, fmt::format("application id {:#x}", *application));
  auto version = db.query_int("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > kDatabaseVersion)
    return Status(Code::kVersion,
                  fmt::format("{} has version {}, this program reads up to {}", path, *version, kDatabaseVersion),
                  "update tracker; the file was not touched");
  if (*version < 1) return not_ours(path, fmt::format("version {}", *version));
  return check_schema(db, "main", known_objects(), path);
}

// Counts of frames and points that every writer has written since its database was created.
static std::string damage_of_counts(const DatabaseMeta& meta, const std::set<std::string, std::less<>>& keys) {
  const std::pair<std::string_view, uint64_t> counts[] = {{meta_key::kLastSeq, meta.last_seq},
                                                          {meta_key::kPoints, meta.points},
                                                          {meta_key::kFrames, meta.frames},
                                                          {meta_key::kFrameBytes, meta.frame_bytes},
                                                          {meta_key::kStatsSeq, meta.stats_seq}};
  for (const auto& [key, value] : counts) {
    if (!keys.contains(key)) return fmt::format("meta: {} is missing", key);
    if (value > INT64_MAX) return fmt::format("meta: {} is {}", key, static_cast<int64_t>(value));
  }
  if (meta.stats_seq > meta.last_seq)
    return fmt::format("meta: stats_seq is {}, above the newest frame, {}", meta.stats_seq, meta.last_seq);
  return "";
}

Result<DatabaseMeta> read_meta(Sqlite& db, const std::string& path, std::string* damaged, TableSum* sum) {
  auto rows = db.prepare(kReadMeta);
  if (!rows.ok()) return rows.status();
  if (sum != nullptr) sum->begin_table();
  DatabaseMeta out;
  bool has_identity = false;
  std::set<std::string, std::less<>> keys;
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) break;
    const std::string key(rows->bytes_at(0));
    keys.insert(key);
    if (sum != nullptr && is_summed(key)) sum->add_row(*rows, kMetaColumns);
    if (key == meta_key::kChecksum) out.checksum = rows->bytes_at(1);
    if (key == meta_key::kLastSeq) out.last_seq = rows->u64_at(1);
    if (key == meta_key::kPoints) out.points = rows->u64_at(1);
    if (key == meta_key::kFrames) out.frames = rows->u64_at(1);
    if (key == meta_key::kFrameBytes) out.frame_bytes = rows->u64_at(1);
    if (key == meta_key::kStatsSeq) out.stats_seq = rows->u64_at(1);
    if (key == meta_key::kDurableSeq) out.durable_seq = rows->u64_at(1);
    if (key == meta_key::kStepMax) out.step_max = rows->int_at(1);
    if (key == meta_key::kHeartbeat) out.heartbeat_us = rows->int_at(1);
    if (key != meta_key::kIdentity && key != meta_key::kEnd && key != meta_key::kRecovered && key != meta_key::kCost)
      continue;
    auto value = decode_in(path, key, rows->bytes_at(1));
    if (!value.ok() && damaged != nullptr && key != meta_key::kIdentity) {
      *damaged = "meta: " + value.status().message();
      continue;
    }
    if (!value.ok()) return value.status();
    if (key == meta_key::kEnd) out.end = end_from_value(*value, value->int_or("time_us", 0));
    if (key == meta_key::kRecovered) out.recovered = *value;
    if (key == meta_key::kCost) out.cost = *value;
    if (key != meta_key::kIdentity) continue;
    auto identity = WriterIdentity::from_value(*value);
    if (!identity.ok()) return not_ours(path, identity.status().message());
    out.identity = *identity;
    has_identity = true;
  }
  if (!has_identity) return not_ours(path, "no identity");
  if (std::string said = damage_of_counts(out, keys); !said.empty()) {
    if (damaged == nullptr) return Status(Code::kCorrupt, fmt::format("{}: {}", path, said));
    *damaged = std::move(said);
  }
  return out;
}

Result<SeriesMap> read_series(Sqlite& db, TableSum* sum) {
  auto rows = db.prepare(kReadSeries);
  if (!rows.ok()) return rows.status();
  if (sum != nullptr) sum->begin_table();
  SeriesMap out;
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) return out;
    SeriesStats s;
    s.def.id = static_cast<uint32_t>(rows->int_at(0));
    // SQLite reads zeroed bytes of a page as rows without values.
    if (rows->is_null(1) || rows->is_null(2))
      return Status(Code::kCorrupt, fmt::format("series: the row of series {} is damaged", s.def.id));
    s.def.name = rows->bytes_at(1);
    if (!is_utf8(s.def.name))
      return Status(Code::kCorrupt, fmt::format("series: the name of series {} is no UTF-8", s.def.id));
    const auto type = static_cast<uint8_t>(rows->int_at(2));
    if (!is_value_type(type)) continue;
    s.def.type = static_cast<ValueType>(type);
    s.points = rows->u64_at(3);
    s.has_steps = rows->int_at(4) != 0;
    s.step_min = rows->int_at(5);
    s.step_max = rows->int_at(6);
    s.last_step = rows->int_at(7);
    s.time_first_us = rows->int_at(8);
    s.time_last_us = rows->int_at(9);
    s.finite = rows->u64_at(10);
    s.min = std::bit_cast<double>(rows->int_at(11));
    s.max = std::bit_cast<double>(rows->int_at(12));
    s.sum = std::bit_cast<double>(rows->int_at(13));
    s.nan = rows->u64_at(14);
    s.pos_inf = rows->u64_at(15);
    s.neg_inf = rows->u64_at(16);
    s.first_bits = rows->u64_at(17);
    s.last_bits = rows->u64_at(18);
    if (sum != nullptr) sum->add_series(s, s.def.name);
    out[s.def.id] = std::move(s);
  }
}

Status write_series(Statement& statement, const SeriesStats& s) {
  const auto u64 = [](uint64_t v) { return static_cast<int64_t>(v); };
  statement.bind(int64_t{s.def.id}).bind(s.def.name).bind(static_cast<int64_t>(s.def.type)).bind(u64(s.points));
  statement.bind(int64_t{s.has_steps}).bind(s.step_min).bind(s.step_max).bind(s.last_step);
  statement.bind(s.time_first_us).bind(s.time_last_us).bind(u64(s.finite));
  statement.bind(std::bit_cast<int64_t>(s.min)).bind(std::bit_cast<int64_t>(s.max));
  statement.bind(std::bit_cast<int64_t>(s.sum)).bind(u64(s.nan)).bind(u64(s.pos_inf)).bind(u64(s.neg_inf));
  return statement.bind(u64(s.first_bits)).bind(u64(s.last_bits)).run();
}

// Returns false if the row is not one of ours. SQLite reads zeroed bytes of a page as rows without values.
static bool read_attribute(const Statement& row, Attribute* out) {
  if (row.is_null(0) || row.is_null(1) || row.is_null(2) || row.int_at(0) < 1 || row.int_at(4) < 1) return false;
  const int64_t kind = row.int_at(0);
  if (kind > UINT8_MAX || !is_event_type(static_cast<uint8_t>(kind))) return true;  // of a newer version: left out
  out->type = static_cast<EventType>(kind);
  out->key = row.bytes_at(1);
  if (!is_utf8(out->key)) return false;
  out->time_us = row.int_at(3);
  if (is_counted(out->type)) {
    out->value = row.int_at(4);
    return true;
  }
  auto value = decode_cbor(row.bytes_at(2));
  if (!value.ok()) return false;
  out->value = std::move(*value);
  return true;
}

Result<std::vector<Attribute>> read_attributes(Sqlite& db, uint64_t* damaged, TableSum* sum) {
  auto rows = db.prepare(kReadAttributes);
  if (!rows.ok()) return rows.status();
  if (sum != nullptr) sum->begin_table();
  std::vector<Attribute> out;
  for (;;) {
    auto row = rows->step();
    if (!row.ok() && damaged != nullptr && row.status().code() == Code::kCorrupt) {
      ++*damaged;
      return out;
    }
    if (!row.ok()) return row.status();
    if (!*row) return out;
    if (sum != nullptr) sum->add_row(*rows, kAttributeColumns);
    Attribute attribute{EventType::kEnd, "", Value(), 0};
    if (!read_attribute(*rows, &attribute)) {
      if (damaged == nullptr) return Status(Code::kCorrupt, "attributes: a row is damaged");
      ++*damaged;
    } else if (attribute.type != EventType::kEnd) {
      out.push_back(std::move(attribute));
    }
  }
}

Result<std::vector<Loss>> read_losses(Sqlite& db, TableSum* sum) {
  auto rows = db.prepare(kReadLosses);
  if (!rows.ok()) return rows.status();
  if (sum != nullptr) sum->begin_table();
  std::vector<Loss> out;
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) return out;
    if (sum != nullptr) sum->add_row(*rows, kLossColumns);
    out.push_back({static_cast<uint32_t>(rows->int_at(0)), static_cast<LossReason>(rows->int_at(1)), rows->u64_at(2)});
  }
}

Result<std::vector<RingPosition>> read_positions(Sqlite& db) {
  auto rows = db.prepare("SELECT nonce, position FROM journal");
  if (!rows.ok()) return rows.status();
  std::vector<RingPosition> out;
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) return out;
    out.push_back({rows->u64_at(0), rows->u64_at(1)});
  }
}

}  // namespace tracker::internal
