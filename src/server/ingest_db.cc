// SPDX-License-Identifier: MIT
#include "server/ingest_db.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "server/server_tables.h"

namespace tracker::internal {
namespace {

constexpr int64_t kIngestApplicationId = 0x54524b51;  // "TRKQ"

constexpr const char* kIngestTables =
    "CREATE TABLE writer(id INTEGER PRIMARY KEY, run BLOB NOT NULL, writer BLOB NOT NULL, identity BLOB NOT NULL,"
    " heartbeat_us INTEGER NOT NULL, UNIQUE(run, writer));"
    "CREATE TABLE unit(id INTEGER PRIMARY KEY AUTOINCREMENT, writer INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " first INTEGER NOT NULL, last INTEGER NOT NULL, after INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE INDEX unit_of_writer ON unit(writer, id);"
    "CREATE TABLE quarantine(id INTEGER PRIMARY KEY, run BLOB NOT NULL, writer BLOB NOT NULL, kind INTEGER NOT NULL,"
    " first INTEGER NOT NULL, last INTEGER NOT NULL, time_us INTEGER NOT NULL, size INTEGER NOT NULL, bytes BLOB);"
    "CREATE INDEX quarantine_of_run ON quarantine(run);";

Id128 id_at(const Statement& row, int column) {
  Id128 out;
  const std::string_view bytes = row.bytes_at(column);
  if (bytes.size() == out.bytes.size()) std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
  return out;
}

}  // namespace

Result<IngestDb> IngestDb::open(const Store& store) {
  auto db = open_server_tables(store.path(), kIngestFile, kIngestApplicationId, kIngestTables);
  if (!db.ok()) return db.status();
  const auto mode = db->set_journal_mode("wal");
  if (!mode.ok()) return mode.status();
  if (*mode != "wal")
    return Status(Code::kUnsupported,
                  fmt::format("{} cannot be in WAL mode: a server's store is on a local disk", kIngestFile));
  TRACKER_RETURN_IF_ERROR(db->exec("PRAGMA secure_delete=OFF"));
  IngestDb out;
  out.db_ = std::move(*db);
  return out;
}

Status IngestDb::begin(bool durable) {
  // A unit that was only deleted may return after a power loss: applying it again stores nothing twice.
  if (durable != full_sync_)
    TRACKER_RETURN_IF_ERROR(db_.exec(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
  full_sync_ = durable;
  return db_.exec("BEGIN IMMEDIATE");
}

Status IngestDb::commit() { return db_.exec("COMMIT"); }

void IngestDb::roll_back() {
  if (db_.in_transaction()) (void)db_.exec("ROLLBACK");
}

Result<int64_t> IngestDb::put_writer(const Id128& run, const WriterIdentity& writer, int64_t heartbeat_us) {
  auto put = db_.prepare(
      "INSERT INTO writer(run, writer, identity, heartbeat_us) VALUES(?, ?, ?, ?) ON CONFLICT(run, writer) DO UPDATE "
      "SET identity = excluded.identity, heartbeat_us = max(heartbeat_us, excluded.heartbeat_us) RETURNING id");
  if (!put.ok()) return put.status();
  const std::string identity = encode_cbor(writer.to_value());
  const auto row =
      put->bind_blob(run.view()).bind_blob(writer.writer.view()).bind_blob(identity).bind(heartbeat_us).step();
  if (!row.ok()) return row.status();
  const int64_t id = put->int_at(0);
  const auto more = put->step();
  return more.ok() ? Result<int64_t>(id) : more.status();
}

Status IngestDb::put_unit(int64_t writer, const BatchUnit& unit, uint64_t after) {
  auto put = db_.prepare("INSERT INTO unit(writer, kind, first, last, after, bytes) VALUES(?, ?, ?, ?, ?, ?)");
  if (!put.ok()) return put.status();
  put->bind(writer).bind(static_cast<int64_t>(unit.kind)).bind(static_cast<int64_t>(unit.first));
  put->bind(static_cast<int64_t>(unit.last)).bind(static_cast<int64_t>(after));
  return put->bind_blob(unit.bytes).run();
}

Status IngestDb::quarantine(const Id128& run, const Id128& writer, const BatchUnit& unit) {
  const auto held = db_.query_int("SELECT total(size) FROM quarantine WHERE bytes IS NOT NULL");
  if (!held.ok()) return held.status();
  auto put = db_.prepare(
      "INSERT INTO quarantine(run, writer, kind, first, last, time_us, size, bytes) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  if (!put.ok()) return put.status();
  put->bind_blob(run.view()).bind_blob(writer.view()).bind(static_cast<int64_t>(unit.kind));
  put->bind(static_cast<int64_t>(unit.first)).bind(static_cast<int64_t>(unit.last)).bind(realtime_us());
  put->bind(static_cast<int64_t>(unit.bytes.size()));
  if (static_cast<uint64_t>(*held) + unit.bytes.size() <= kQuarantineBytesMax) put->bind_blob(unit.bytes);
  else put->bind_null();
  return put->run();
}

Status IngestDb::erase_units(int64_t writer, int64_t up_to_id) {
  auto erase = db_.prepare("DELETE FROM unit WHERE writer = ? AND id <= ?");
  return erase.ok() ? erase->bind(writer).bind(up_to_id).run() : erase.status();
}

Status IngestDb::quarantine_all(int64_t writer) {
  auto units = this->units(writer, 0, UINT64_MAX);
  if (!units.ok()) return units.status();
  auto find = db_.prepare("SELECT run, writer FROM writer WHERE id = ?");
  if (!find.ok()) return find.status();
  const auto row = find->bind(writer).step();
  if (!row.ok()) return row.status();
  if (!*row) return {};
  const Id128 run = id_at(*find, 0), id = id_at(*find, 1);
  for (const WaitingUnit& unit : *units)
    TRACKER_RETURN_IF_ERROR(quarantine(run, id, {unit.kind, unit.after, unit.first, unit.last, 0, unit.bytes}));
  return erase_units(writer, INT64_MAX);
}

Result<std::vector<WaitingWriter>> IngestDb::waiting() {
  auto rows = db_.prepare(
      "SELECT writer.id, run, identity, heartbeat_us, max(unit.last), sum(length(bytes)) FROM unit "
      "JOIN writer ON writer.id = unit.writer GROUP BY writer.id");
  if (!rows.ok()) return rows.status();
  std::vector<WaitingWriter> out;
  for (;;) {
    const auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) return out;
    const auto value = decode_cbor(rows->bytes_at(2));
    if (!value.ok()) return value.status();
    auto identity = WriterIdentity::from_value(*value);
    if (!identity.ok()) return identity.status();
    out.push_back(
        {rows->int_at(0), id_at(*rows, 1), std::move(*identity), rows->int_at(3), rows->u64_at(4), rows->u64_at(5)});
  }
}

Result<std::vector<WaitingUnit>> IngestDb::units(int64_t writer, int64_t after_id, uint64_t bytes_max) {
  auto rows =
      db_.prepare("SELECT id, kind, first, last, after, bytes FROM unit WHERE writer = ? AND id > ? ORDER BY id");
  if (!rows.ok()) return rows.status();
  rows->bind(writer).bind(after_id);
  std::vector<WaitingUnit> out;
  uint64_t bytes = 0;
  while (bytes < bytes_max) {
    const auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) break;
    out.push_back({rows->int_at(0), static_cast<BatchUnitKind>(rows->int_at(1)), rows->u64_at(2), rows->u64_at(3),
                   rows->u64_at(4), std::string(rows->bytes_at(5))});
    bytes += out.back().bytes.size();
  }
  return out;
}

Result<std::string> IngestDb::frame(int64_t writer, uint64_t seq) {
  auto find = db_.prepare("SELECT bytes FROM unit WHERE writer = ? AND kind = 1 AND first = ?");
  if (!find.ok()) return find.status();
  const auto row = find->bind(writer).bind(static_cast<int64_t>(seq)).step();
  if (!row.ok()) return row.status();
  return *row ? std::string(find->bytes_at(0)) : std::string();
}

Result<uint64_t> IngestDb::quarantined() {
  const auto count = db_.query_int("SELECT count(*) FROM quarantine");
  return count.ok() ? Result<uint64_t>(static_cast<uint64_t>(*count)) : count.status();
}

Result<uint64_t> IngestDb::quarantined_of(const Id128& run) {
  auto find = db_.prepare("SELECT count(*) FROM quarantine WHERE run = ?");
  if (!find.ok()) return find.status();
  const auto row = find->bind_blob(run.view()).step();
  return row.ok() ? Result<uint64_t>(find->u64_at(0)) : row.status();
}

}  // namespace tracker::internal
