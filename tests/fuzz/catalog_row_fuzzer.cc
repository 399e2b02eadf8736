// SPDX-License-Identifier: MIT
// Goal: no row of a catalog, whatever its columns hold, makes a listing crash, and a row that it takes can be written
// and read again the same. Method: the input is a type and a value a column; the documents' CRC, which a fuzzer cannot
// guess, is put right where the first byte says so.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "storage/catalog/catalog_rows.h"

using namespace tracker::internal;

namespace {

struct Catalog {
  Sqlite db;
  Statement given, stored;
  CatalogWriter writer;
};

// Never destroyed: statements must go before their connection, and the process ends anyway.
Catalog& catalog() {
  static Catalog* const out = [] {
    auto* made = new Catalog;
    auto db = Sqlite::open("memory", SqliteOpen::kMemory, 0);
    if (!db.ok()) std::abort();
    made->db = std::move(*db);
    std::string values = "SELECT ?";
    for (int i = 1; i <= kColumnCrc; ++i) values += ",?";
    auto given = made->db.prepare(values);
    if (!given.ok() || !create_catalog_tables(made->db).ok() || !made->writer.prepare(made->db).ok()) std::abort();
    made->given = std::move(*given);
    auto stored = made->db.prepare("SELECT " + std::string(kCatalogColumns) + "," + std::string(kCatalogDocuments) +
                                   " FROM runs JOIN documents USING(id) WHERE folder=?");
    if (!stored.ok()) std::abort();
    made->stored = std::move(*stored);
    return made;
  }();
  return *out;
}

void bind(ByteReader* in, std::string_view* bytes, Statement* to) {
  switch (in->u8() % 4) {
    case 0: to->bind(static_cast<int64_t>(in->u64())); break;
    case 1: to->bind(*bytes = in->sized()); break;
    case 2: to->bind_blob(*bytes = in->sized()); break;
    default: to->bind_null(); break;
  }
}

bool same(const CatalogRecord& a, const CatalogRecord& b) {
  return a.folder == b.folder && a.identity.uid == b.identity.uid && a.identity.project == b.identity.project &&
         a.identity.id == b.identity.id && a.name == b.name && a.state == b.state && a.detail == b.detail &&
         a.ended_us == b.ended_us && a.last_seen_us == b.last_seen_us && a.points == b.points &&
         a.dropped == b.dropped && a.host == b.host && a.attributes == b.attributes && a.config == b.config &&
         a.summary == b.summary && a.metrics == b.metrics;
}

void write_and_compare(const CatalogRecord& record) {
  Catalog& c = catalog();
  if (!c.writer.put(record, {}).ok()) std::abort();
  auto found = c.stored.bind(record.folder).step();
  if (!found.ok() || !*found || !check_documents(c.stored).ok()) std::abort();
  const auto again = read_catalog_record(c.stored, CatalogDocuments::kAll);
  if (!again.ok() || !same(record, *again)) std::abort();
  c.stored.reset();
  if (!c.writer.erase(record.folder).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader in({reinterpret_cast<const char*>(data), size});
  const bool repair = in.u8() % 2 == 0;
  Statement& row = catalog().given;
  std::vector<std::string_view> bytes(kColumnCrc + 1);
  for (int i = 0; i < kColumnCrc; ++i) bind(&in, &bytes[static_cast<size_t>(i)], &row);
  const uint32_t crc = crc32c(bytes[kColumnMetrics], crc32c(bytes[kColumnSummary], crc32c(bytes[kColumnConfig])));
  if (repair) row.bind(int64_t{crc});
  else bind(&in, &bytes[kColumnCrc], &row);
  const auto found = row.step();
  if (!found.ok() || !*found) std::abort();
  const bool sound = check_documents(row).ok();
  (void)read_catalog_record(row, CatalogDocuments::kNone);
  (void)read_catalog_record(row, CatalogDocuments::kSummary);
  const auto record = read_catalog_record(row, CatalogDocuments::kAll);
  if (record.ok() && sound) write_and_compare(*record);
  row.reset();
  return 0;
}
