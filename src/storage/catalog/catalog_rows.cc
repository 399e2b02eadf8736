// SPDX-License-Identifier: MIT
#include "storage/catalog/catalog_rows.h"

#include <fmt/format.h>

#include "base/crc32c.h"
#include "storage/sqlite/schema_check.h"

namespace tracker::internal {
namespace {

// The small columns are in a table apart from the documents: most filters and orders read 100,000 rows of the small
// ones and a page of documents. `signs` is read in the order of the folders, in step with a sorted listing of them.
constexpr const char* kCatalogSchema = R"(
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS signs(folder TEXT PRIMARY KEY, id INTEGER NOT NULL, trust INTEGER NOT NULL,
  inode INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, files INTEGER NOT NULL,
  judged_by TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs(id INTEGER PRIMARY KEY, folder TEXT NOT NULL, project TEXT NOT NULL,
  run_id TEXT NOT NULL, uid TEXT NOT NULL, name TEXT NOT NULL, state INTEGER NOT NULL, detail TEXT NOT NULL,
  created_us INTEGER NOT NULL, ended_us INTEGER, last_seen_us INTEGER NOT NULL, points INTEGER NOT NULL,
  dropped INTEGER NOT NULL, host TEXT, run_group TEXT, job_type TEXT, archived INTEGER NOT NULL,
  attributes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS documents(id INTEGER PRIMARY KEY, config BLOB NOT NULL, summary BLOB NOT NULL,
  metrics BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS runs_created ON runs(created_us DESC, folder);
CREATE INDEX IF NOT EXISTS runs_project ON runs(project, created_us DESC, folder);
)";

const std::string* text_of(const Value& attributes, std::string_view key) {
  const Value* value = attributes.find(key);
  return value == nullptr ? nullptr : value->as_text();
}

void bind_text_or_null(Statement& statement, const std::string* text) {
  if (text != nullptr) statement.bind(*text);
  else statement.bind_null();
}

uint32_t crc_of(std::string_view config, std::string_view summary, std::string_view metrics) {
  return crc32c(metrics, crc32c(summary, crc32c(config)));
}

Result<Value> document(const Statement& row, int column, const std::string& folder) {
  auto value = decode_cbor(row.bytes_at(column));
  if (!value.ok()) return Status(Code::kCorrupt, fmt::format("catalog: {}: {}", folder, value.status().message()));
  if (!value->is_map()) return Status(Code::kCorrupt, fmt::format("catalog: {}: a document is no map", folder));
  return value;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace

bool is_run_place(std::string_view folder) {
  const size_t slash = folder.find('/');
  return slash != std::string_view::npos && is_plain_name(folder.substr(0, slash)) &&
         is_plain_name(folder.substr(slash + 1));
}

Status no_run_place(std::string_view folder) {
  return Status(Code::kCorrupt, fmt::format("catalog: a row is of \"{}\", which is no run's folder", folder));
}

Status check_catalog_schema(Sqlite& db, const std::string& schema, const std::string& path) {
  static const auto* const known = new std::vector<SchemaObject>(schema_objects(kCatalogSchema));
  return check_schema(db, schema, *known, path);
}

Status create_catalog_tables(Sqlite& db) {
  TRACKER_RETURN_IF_ERROR(db.exec("BEGIN IMMEDIATE"));
  Status status = db.exec(kCatalogSchema);
  if (status.ok()) status = db.exec(fmt::format("PRAGMA application_id={}", kCatalogApplicationId).c_str());
  if (status.ok()) status = db.exec(fmt::format("PRAGMA user_version={}", kCatalogVersion).c_str());
  if (status.ok()) return db.exec("COMMIT");
  (void)db.exec("ROLLBACK");
  return status;
}

Status check_documents(const Statement& row) {
  const uint32_t crc = crc_of(row.bytes_at(kColumnConfig), row.bytes_at(kColumnSummary), row.bytes_at(kColumnMetrics));
  if (!row.is_null(kColumnCrc) && row.int_at(kColumnCrc) == crc) return {};
  return Status(Code::kCorrupt, fmt::format("catalog: {}: the documents are damaged", row.bytes_at(kColumnFolder)));
}

Result<CatalogRecord> read_catalog_record(const Statement& row, CatalogDocuments documents) {
  CatalogRecord out;
  out.folder = row.bytes_at(kColumnFolder);
  if (!is_run_place(out.folder)) return no_run_place(out.folder);
  out.identity.project = row.bytes_at(kColumnProject);
  out.identity.id = row.bytes_at(kColumnId);
  const auto uid = Id128::from_hex(row.bytes_at(kColumnUid));
  const int64_t state = row.int_at(kColumnState);
  if (!uid || state < 0 || state > static_cast<int64_t>(RunState::kDamaged))
    return Status(Code::kCorrupt, fmt::format("catalog: {}: no valid uid or state", out.folder));
  out.identity.uid = *uid;
  out.identity.created_us = row.int_at(kColumnCreated);
  out.name = row.bytes_at(kColumnName);
  out.state = static_cast<RunState>(state);
  out.detail = row.bytes_at(kColumnDetail);
  out.ended_us = row.int_at(kColumnEnded);
  out.last_seen_us = row.int_at(kColumnLastSeen);
  out.points = row.u64_at(kColumnPoints);
  out.dropped = row.u64_at(kColumnDropped);
  out.host = row.bytes_at(kColumnHost);
  auto attributes = document(row, kColumnAttributes, out.folder);
  if (!attributes.ok()) return attributes.status();
  out.attributes = std::move(*attributes);
  out.dropped -= std::min(out.dropped, out.others_dropped());
  if (documents == CatalogDocuments::kNone) return out;
  for (const auto& [column, to] :
       {std::pair{kColumnConfig, &out.config}, {kColumnSummary, &out.summary}, {kColumnMetrics, &out.metrics}}) {
    if (documents == CatalogDocuments::kSummary && column != kColumnSummary) continue;
    auto value = document(row, column, out.folder);
    if (!value.ok()) return value.status();
    *to = std::move(*value);
  }
  return out;
}

Status CatalogWriter::prepare(Sqlite& db) {
  const std::pair<Statement*, std::string_view> statements[] = {
      {&find_, "SELECT id FROM signs WHERE folder=?"},
      {&insert_run_, "INSERT OR REPLACE INTO runs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&insert_documents_, "INSERT OR REPLACE INTO documents VALUES(?,?,?,?,?)"},
      {&insert_sign_, "INSERT OR REPLACE INTO signs VALUES(?,?,?,?,?,?,?,?)"},
      {&erase_run_, "DELETE FROM runs WHERE id=?"},
      {&erase_documents_, "DELETE FROM documents WHERE id=?"},
      {&erase_sign_, "DELETE FROM signs WHERE folder=?"},
      {&last_row_, "SELECT coalesce(max(id), 0) FROM runs"},
  };
  for (const auto& [statement, sql] : statements) {
    auto prepared = db.prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(*prepared);
  }
  return {};
}

Status CatalogWriter::put(const CatalogRecord& record, const CatalogSign& sign) {
  int64_t row = 0;
  auto known = find_.bind(record.folder).step();
  if (!known.ok()) return known.status();
  if (*known) row = find_.int_at(0);
  find_.reset();
  if (row == 0) {
    auto last = last_row_.step();
    if (!last.ok()) return last.status();
    row = last_row_.int_at(0) + 1;
    last_row_.reset();
  }
  const RunIdentity& identity = record.identity;
  const std::string uid = identity.uid.hex();
  const std::string attributes = encode_cbor(record.attributes);
  const Value* archived = record.attributes.find("archived");
  insert_run_.bind(row).bind(record.folder).bind(identity.project).bind(identity.id).bind(uid).bind(record.name);
  insert_run_.bind(static_cast<int64_t>(record.state)).bind(record.detail).bind(identity.created_us);
  if (record.ended_us != 0) insert_run_.bind(record.ended_us);
  else insert_run_.bind_null();
  insert_run_.bind(record.last_seen_us).bind(static_cast<int64_t>(record.points));
  insert_run_.bind(static_cast<int64_t>(record.dropped + record.others_dropped()));
  bind_text_or_null(insert_run_, record.host.empty() ? nullptr : &record.host);
  bind_text_or_null(insert_run_, text_of(record.attributes, "group"));
  bind_text_or_null(insert_run_, text_of(record.attributes, "job_type"));
  insert_run_.bind(int64_t{archived != nullptr && archived->as_bool() != nullptr && *archived->as_bool()});
  TRACKER_RETURN_IF_ERROR(insert_run_.bind_blob(attributes).run());
  TRACKER_RETURN_IF_ERROR(put_documents(row, record));
  insert_sign_.bind(record.folder).bind(row).bind(static_cast<int64_t>(sign.trust)).bind(sign.inode);
  return insert_sign_.bind(sign.ctime_ns).bind(sign.mtime_ns).bind(sign.files).bind(sign.judged_by).run();
}

Status CatalogWriter::put_documents(int64_t row, const CatalogRecord& record) {
  const std::string config = encode_cbor(record.config);
  const std::string summary = encode_cbor(record.summary);
  const std::string metrics = encode_cbor(record.metrics);
  insert_documents_.bind(row).bind_blob(config).bind_blob(summary).bind_blob(metrics);
  return insert_documents_.bind(int64_t{crc_of(config, summary, metrics)}).run();
}

Status CatalogWriter::erase(std::string_view folder) {
  auto known = find_.bind(folder).step();
  if (!known.ok()) return known.status();
  if (!*known) return {};
  const int64_t row = find_.int_at(0);
  find_.reset();
  TRACKER_RETURN_IF_ERROR(erase_run_.bind(row).run());
  TRACKER_RETURN_IF_ERROR(erase_documents_.bind(row).run());
  return erase_sign_.bind(folder).run();
}

}  // namespace tracker::internal
