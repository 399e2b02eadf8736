// SPDX-License-Identifier: MIT
#include "storage/database/table_sum.h"

#include <algorithm>
#include <bit>

#include "base/crc32c.h"
#include "storage/database/schema.h"
#include "storage/database/stats_table.h"

namespace tracker::internal {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

void put_number(uint64_t value, std::string* out) { out->append(reinterpret_cast<const char*>(&value), sizeof value); }

std::string encode(uint32_t crc) { return {reinterpret_cast<const char*>(&crc), sizeof crc}; }

struct TablesRead {
  uint32_t crc = 0;
  std::optional<std::string> said;
};

// All tables except `series`, for which `add_series` is called.
template <typename AddSeries>
Result<TablesRead> read_all(Sqlite& db, AddSeries&& add_series) {
  TablesRead out;
  TableSum sum;
  const auto add_table = [&](std::string_view sql, int columns) -> Status {
    auto rows = db.prepare(sql);
    if (!rows.ok()) return rows.status();
    sum.begin_table();
    for (;;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) return {};
      const bool is_meta = sql == kReadMeta;
      if (is_meta && rows->bytes_at(0) == meta_key::kChecksum) out.said = rows->bytes_at(1);
      if (!is_meta || is_summed(rows->bytes_at(0))) sum.add_row(*rows, columns);
    }
  };
  TRACKER_RETURN_IF_ERROR(add_table(kReadMeta, kMetaColumns));
  TRACKER_RETURN_IF_ERROR(add_series(&sum));
  TRACKER_RETURN_IF_ERROR(add_table(kReadAttributes, kAttributeColumns));
  TRACKER_RETURN_IF_ERROR(add_table(kReadLosses, kLossColumns));
  out.crc = sum.crc();
  return out;
}

}  // namespace

// Whether a key of `meta` is included: not what a heartbeat changes, nor a part's record of itself.
bool is_summed(std::string_view key) {
  return key != meta_key::kHeartbeat && key != meta_key::kCost && key != meta_key::kChecksum;
}

void TableSum::begin_table() { bytes_.push_back('T'); }

// Each value as its kind, its number or its length, and its bytes, so that no two different rows are the same bytes.
void TableSum::add_row(const Statement& row, int columns) {
  bytes_.push_back('R');
  for (int column = 0; column < columns; ++column) {
    const char kind = row.kind_at(column);
    bytes_.push_back(kind);
    if (kind == 'i') {
      put_number(row.u64_at(column), &bytes_);
    } else if (kind == 't' || kind == 'b') {
      const std::string_view bytes = row.bytes_at(column);
      put_number(bytes.size(), &bytes_);
      bytes_.append(bytes);
    }
  }
  if (bytes_.size() >= kPieceBytes) flush();
}

void TableSum::add_series(const SeriesStats& s, std::string_view name) {
  const uint64_t numbers[] = {s.def.id,
                              static_cast<uint64_t>(s.def.type),
                              s.points,
                              uint64_t{s.has_steps},
                              static_cast<uint64_t>(s.step_min),
                              static_cast<uint64_t>(s.step_max),
                              static_cast<uint64_t>(s.last_step),
                              static_cast<uint64_t>(s.time_first_us),
                              static_cast<uint64_t>(s.time_last_us),
                              s.finite,
                              std::bit_cast<uint64_t>(s.min),
                              std::bit_cast<uint64_t>(s.max),
                              std::bit_cast<uint64_t>(s.sum),
                              s.nan,
                              s.pos_inf,
                              s.neg_inf,
                              s.first_bits,
                              s.last_bits,
                              name.size()};
  static_assert(std::endian::native == std::endian::little, "the numbers are little-endian");
  bytes_.push_back('R');
  bytes_.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  bytes_.append(name);
  if (bytes_.size() >= kPieceBytes) flush();
}

void TableSum::flush() {
  crc_ = crc32c(bytes_, crc_);
  bytes_.clear();
}

uint32_t TableSum::crc() {
  flush();
  return crc_;
}

Status write_table_sum(Sqlite& db, const StatsTable& series) {
  bool known = true;
  auto tables = read_all(db, [&](TableSum* sum) -> Status {
    auto names = db.prepare("SELECT id, name FROM series ORDER BY id");
    if (!names.ok()) return names.status();
    sum->begin_table();
    for (;;) {
      auto row = names->step();
      if (!row.ok()) return row.status();
      if (!*row) return {};
      const auto stats = series.find(static_cast<uint32_t>(names->int_at(0)));
      known = known && stats.has_value();
      if (known) sum->add_series(*stats, names->bytes_at(1));
    }
  });
  if (!tables.ok()) return tables.status();
  if (!known) return {};
  auto insert = db.prepare("INSERT OR REPLACE INTO meta VALUES(?,?)");
  if (!insert.ok()) return insert.status();
  const std::string bytes = encode(tables->crc);
  return insert->bind(meta_key::kChecksum).bind_blob(bytes).run();
}

Status drop_table_sum(Sqlite& db) { return db.exec("DELETE FROM meta WHERE key='checksum'"); }

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

TableVerdict judge_tables(const std::optional<std::string>& said, uint32_t crc) {
  if (!said) return TableVerdict::kNone;
  return *said == encode(crc) ? TableVerdict::kSound : TableVerdict::kWrong;
}

Result<TableVerdict> check_table_sum(Sqlite& db) {
  auto tables = read_all(db, [&db](TableSum* sum) { return read_series(db, sum).status(); });
  if (!tables.ok()) return tables.status();
  return judge_tables(tables->said, tables->crc);
}

}  // namespace tracker::internal
