// SPDX-License-Identifier: MIT
// The tables of the catalog and their rows (docs/formats/catalog.md): how a run's record is written and read. Threads:
// as Sqlite.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/records.h"
#include "storage/recovery/recovery.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr int64_t kCatalogApplicationId = 0x54524b49;  // "TRKI"
constexpr int kCatalogVersion = 1;
// Limit: inputs, and outputs, of a run in the catalog. Beyond it: left out of listings, named as a problem.
constexpr size_t kCatalogArtifactsMax = 1000;
// Limit: bytes of config, of summary or of metrics of a run in the catalog, encoded. Beyond it: left out of listings,
// named as a problem.
constexpr size_t kCatalogDocumentBytesMax = 16 * 1024 * 1024;

// Attributes of a run, present if not 0: how many rings of dead processes could not be read; how many texts, and
// entries such as config and summary values, were dropped; how many alerts it has.
constexpr std::string_view kUnreadRings = "unread_rings";
constexpr std::string_view kTextsDropped = "texts_dropped", kEntriesDropped = "entries_dropped", kAlertCount = "alerts";

// The catalog's record of a run.
struct CatalogRecord {
  std::string folder;  // "<project folder>/<run folder>" below runs/
  RunIdentity identity;
  std::string name, detail, host;
  RunState state = RunState::kCrashed;
  int64_t ended_us = 0;  // 0: not ended
  int64_t last_seen_us = 0;
  uint64_t points = 0, dropped = 0;  // points both
  // those present of: tags, notes, group, job_type, archived, unread_rings, texts_dropped, entries_dropped, alerts,
  // inputs, outputs
  Value attributes = Value::map();
  uint64_t unread_rings() const { return count_of(kUnreadRings); }
  uint64_t texts_dropped() const { return count_of(kTextsDropped); }
  uint64_t entries_dropped() const { return count_of(kEntriesDropped); }
  uint64_t others_dropped() const { return texts_dropped() + entries_dropped(); }
  uint64_t count_of(std::string_view attribute) const {
    return static_cast<uint64_t>(std::max<int64_t>(0, attributes.int_or(attribute, 0)));
  }
  Value config = Value::map();
  Value summary = Value::map();
  Value metrics = Value::map();  // name -> [last, first, min, max, mean, count, nan], the order of MetricStat

  // Not stored: these fields decide how long the row is trusted.
  bool at_rest = false;  // every writer has its end or was recovered
  bool live = false;     // some process is known to write the run
  // points that have waited for long, or are of dead processes: such a run is live, so it is read each time
  std::vector<WaitingPoints> waiting;
  std::vector<std::string> problems;
  Code problem_code = Code::kOk;
};

// How a later refresh recognises that a run's folder is unchanged.
enum class CatalogTrust : uint8_t {
  kNone = 0,    // it cannot: the run is read each time
  kFolder = 1,  // a run at rest: by the times of its folder
  kFiles = 2,   // a run that stopped without an end, or has a WAL: by size and times of its databases and WALs
};

struct CatalogSign {
  CatalogTrust trust = CatalogTrust::kNone;
  int64_t inode = 0, ctime_ns = 0, mtime_ns = 0;  // of the folder
  int64_t files = 0;                              // hash over names, inodes, sizes and times of databases and WALs
  // host and boot: kFiles is valid only where the state was determined, because another host sees other locks
  std::string judged_by;
};

// Whether `folder` may be a CatalogRecord.folder: two plain names. With other names, a process that can write the
// catalog could direct a listing, or any user of the folder's path, out of the store.
bool is_run_place(std::string_view folder);
Status no_run_place(std::string_view folder);  // kCorrupt

// Creates tables and version in one transaction; does nothing if the catalog has them.
Status create_catalog_tables(Sqlite& db);
// kCorrupt if `schema` ("main", or that of an attached file) has other tables or indexes.
Status check_catalog_schema(Sqlite& db, const std::string& schema, const std::string& path);

// Columns in the order in which read_catalog_record() reads them; the documents are last.
constexpr std::string_view kCatalogColumns =
    "runs.id, runs.folder, project, run_id, uid, name, state, detail, created_us, ended_us, last_seen_us, points, "
    "dropped, host, attributes";
constexpr std::string_view kCatalogDocuments = "config, summary, metrics, crc";
enum CatalogColumn : int {
  kColumnRow,
  kColumnFolder,
  kColumnProject,
  kColumnId,
  kColumnUid,
  kColumnName,
  kColumnState,
  kColumnDetail,
  kColumnCreated,
  kColumnEnded,
  kColumnLastSeen,
  kColumnPoints,
  kColumnDropped,
  kColumnHost,
  kColumnAttributes,
  kColumnConfig,
  kColumnSummary,
  kColumnMetrics,
  kColumnCrc,
};
// kCorrupt if the documents of the row are not as they were written: SQLite's own checks do not cover the bytes of a
// blob.
Status check_documents(const Statement& row);
enum class CatalogDocuments : uint8_t { kNone, kSummary, kAll };
// kCorrupt if a document cannot be decoded, or the folder is not a run's.
Result<CatalogRecord> read_catalog_record(const Statement& row, CatalogDocuments documents);

// Writes rows; prepared once, used within transactions.
class CatalogWriter {
 public:
  Status prepare(Sqlite& db);
  Status put(const CatalogRecord& record, const CatalogSign& sign);
  Status erase(std::string_view folder);

 private:
  Status put_documents(int64_t row, const CatalogRecord& record);

  Statement find_, insert_run_, insert_documents_, insert_sign_, erase_run_, erase_documents_, erase_sign_, last_row_;
};

}  // namespace tracker::internal
