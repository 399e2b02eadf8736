// SPDX-License-Identifier: MIT
#include "storage/table_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/crc32c.h"
#include "storage/schema.h"

namespace tracker::internal {
namespace {

constexpr size_t kSeqBytes = 8, kSumBytes = 12;
constexpr size_t kPieceBytes = 64 << 10;

// In the order of their keys, so that the same rows give the same sum. What a sign of life changes, what a part says
// of itself and the places in the journal are left out.
struct SummedTable {
  const char* sql;
  int columns;
};
constexpr SummedTable kTables[] = {
    {"SELECT key, value FROM meta WHERE key NOT IN ('heartbeat_us','cost','part','tables_crc') ORDER BY key", 2},
    {"SELECT * FROM series ORDER BY id", 19},
    {"SELECT * FROM attributes ORDER BY id", 6},
    {"SELECT * FROM losses ORDER BY series, reason", 3},
};

void put_number(uint64_t value, std::string* out) {
  for (size_t i = 0; i < kSeqBytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Each value as its kind, its number or its length, and its bytes: no two rows give the same.
void put_value(const Statement& row, int column, std::string* out) {
  const char kind = row.kind_at(column);
  out->push_back(kind);
  if (kind == 'i') return put_number(row.u64_at(column), out);
  const std::string_view bytes = row.bytes_at(column);
  put_number(bytes.size(), out);
  out->append(bytes);
}

Result<uint32_t> sum_of_tables(Sqlite& db) {
  uint32_t crc = 0;
  std::string bytes;
  for (const SummedTable& table : kTables) {
    auto rows = db.prepare(table.sql);
    if (!rows.ok()) return rows.status();
    bytes.push_back('T');
    for (;;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) break;
      bytes.push_back('R');
      for (int column = 0; column < table.columns; ++column) put_value(*rows, column, &bytes);
      if (bytes.size() < kPieceBytes) continue;
      crc = crc32c(bytes, crc);
      bytes.clear();
    }
  }
  return crc32c(bytes, crc);
}

std::string encode(uint64_t last_seq, uint32_t crc) {
  std::string out;
  put_number(last_seq, &out);
  for (size_t i = 0; i < kSumBytes - kSeqBytes; ++i) out.push_back(static_cast<char>(crc >> (8 * i)));
  return out;
}

Result<bool> has_too_many(Sqlite& db) {
  auto largest = db.query_int("SELECT coalesce(max(id),0) FROM series");
  if (!largest.ok()) return largest.status();
  return *largest > kTableSumSeriesMax;
}

}  // namespace

Status write_table_sum(Sqlite& db, uint64_t last_seq) {
  auto many = has_too_many(db);
  if (!many.ok() || *many) return many.status();
  auto crc = sum_of_tables(db);
  if (!crc.ok()) return crc.status();
  auto insert = db.prepare("INSERT OR REPLACE INTO meta VALUES(?,?)");
  if (!insert.ok()) return insert.status();
  const std::string bytes = encode(last_seq, *crc);
  return insert->bind(meta_key::kTableSum).bind_blob(bytes).run();
}

Status drop_table_sum(Sqlite& db) { return db.exec("DELETE FROM meta WHERE key='tables_crc'"); }

Result<uint64_t> newest_frame(Sqlite& db) {
  uint64_t newest = 0;
  for (const char* sql : {"SELECT seq FROM frames ORDER BY seq DESC LIMIT 1",
                          "SELECT last_seq FROM segments ORDER BY first_seq DESC LIMIT 1"}) {
    auto last = db.query_int(sql);
    if (!last.ok() && last.status().code() != Code::kNotFound) return last.status();
    if (last.ok()) newest = std::max(newest, static_cast<uint64_t>(*last));
  }
  return newest;
}

Result<TableSum> check_table_sum(Sqlite& db) {
  auto row = db.prepare("SELECT value FROM meta WHERE key=?");
  if (!row.ok()) return row.status();
  auto found = row->bind(meta_key::kTableSum).step();
  if (!found.ok()) return found.status();
  if (!*found) return TableSum::kNone;
  const std::string said(row->bytes_at(0));
  row->reset();
  auto many = has_too_many(db);
  if (!many.ok()) return many.status();
  if (*many) return TableSum::kNone;
  uint64_t last_seq = 0;
  for (size_t i = 0; said.size() == kSumBytes && i < kSeqBytes; ++i)
    last_seq |= uint64_t{static_cast<uint8_t>(said[i])} << (8 * i);
  auto newest = newest_frame(db);
  if (newest.ok() && *newest > last_seq && said.size() == kSumBytes) return TableSum::kNone;
  auto crc = sum_of_tables(db);
  if (!crc.ok()) return crc.status();
  return said == encode(last_seq, *crc) ? TableSum::kSound : TableSum::kWrong;
}

}  // namespace tracker::internal
