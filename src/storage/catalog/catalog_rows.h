// SPDX-License-Identifier: MIT
// The tables of the catalog and their rows (docs/formats/catalog.md): what the catalog holds of a run, and how it is
// written and read back. Threads: as Sqlite.
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

// Among the attributes of a run, where they are not 0: how many rings of dead processes could not be read; how many
// texts, and entries such as config and summary values, were dropped; how many alerts it has.
constexpr std::string_view kUnreadRings = "unread_rings";
constexpr std::string_view kTextsDropped = "texts_dropped", kEntriesDropped = "entries_dropped", kAlertCount = "alerts";

// What the catalog holds of a run.
struct CatalogRecord {
  std::string folder;  // "<project folder>/<run folder>" below runs/
  RunIdentity identity;
  std::string name, detail, host;
  RunState state = RunState::kCrashed;
  int64_t ended_us = 0;  // 0: it has not
  int64_t last_seen_us = 0;
  uint64_t points = 0, dropped = 0;  // points both
  // tags, notes, group, job_type, archived, unread_rings, texts_dropped, entries_dropped, alerts, inputs, outputs:
  // those that are there
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

  // Not stored: what decides how long the row is believed.
  bool at_rest = false;                // every writer has its end or was recovered
  bool live = false;                   // a process is known to write it
  std::vector<WaitingPoints> waiting;  // for long, or of dead processes: such a run is live, so it is read each time
  std::vector<std::string> problems;
  Code problem_code = Code::kOk;
};

// How a later look at a run's folder tells that nothing has changed.
enum class CatalogTrust : uint8_t {
  kNone = 0,    // not at all: the run is read each time
  kFolder = 1,  // at rest: the times of its folder
  kFiles = 2,   // left without an end, or with a WAL: the size and times of its databases and WALs
};

struct CatalogSign {
  CatalogTrust trust = CatalogTrust::kNone;
  int64_t inode = 0, ctime_ns = 0, mtime_ns = 0;  // of the folder
  int64_t files = 0;                              // hash over names, inodes, sizes and times of databases and WALs
  std::string judged_by;  // host and boot: kFiles holds where the state was judged from, for another sees other locks
};

// Whether `folder` is what CatalogRecord.folder is to be: two plain names. Whoever can write the catalog could lead a
// listing, and whatever takes a run's folder from it, out of the store by another one.
bool is_run_place(std::string_view folder);
Status no_run_place(std::string_view folder);  // kCorrupt

// Tables and version, in one transaction; does nothing to a catalog that has them.
Status create_catalog_tables(Sqlite& db);
// kCorrupt when `schema` ("main", or that of an attached file) holds other tables or indexes than those.
Status check_catalog_schema(Sqlite& db, const std::string& schema, const std::string& path);

// Columns in the order that read_catalog_record() takes them; the documents come last.
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
// kCorrupt when the documents of the row are not what was written: SQLite's own checks do not cover a blob's bytes.
Status check_documents(const Statement& row);
enum class CatalogDocuments : uint8_t { kNone, kSummary, kAll };
// kCorrupt when a document cannot be decoded, or the folder is none of a run.
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
