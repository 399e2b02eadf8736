// SPDX-License-Identifier: MIT
// verify: the catalog. All of it follows from the runs, so nothing that is wrong with it loses anything.
#include <fmt/format.h>

#include "base/fs.h"
#include "storage/catalog/catalog.h"
#include "storage/sqlite/schema_check.h"
#include "storage/store/run_folder.h"
#include "storage/verify/verify_internal.h"

namespace tracker::internal {
namespace {

constexpr const char* kCatalogAdvice = "remove it; nothing is lost, and the next `tracker ls` makes it anew";
constexpr const char* kRefreshAdvice = "the next `tracker ls` brings it up to date";

class CatalogCheck {
 public:
  CatalogCheck(Verifier& verifier, const Store& store, std::string path)
      : verifier_(verifier), store_(store), path_(std::move(path)) {}

  std::vector<Finding> run() {
    // At rest there is no WAL; with one a listing is at work, or was killed.
    const bool wal = size_of_file(path_ + "-wal") > 0;
    auto db = Sqlite::open(path_, wal ? SqliteOpen::kReadPrivateWal : SqliteOpen::kReadImmutable, 0);
    const Status status = db.ok() ? check(*db) : db.status();
    if (!status.ok()) damage(status.message());
    return std::move(findings_);
  }

 private:
  void damage(std::string what) {
    findings_.push_back({FindingLevel::kDamage, "catalog", path_, std::move(what), "every run", kCatalogAdvice});
  }
  void note(std::string what) {
    findings_.push_back({FindingLevel::kNote, "catalog", path_, std::move(what), "", kRefreshAdvice});
  }

  Status check(Sqlite& db) {
    auto tables = db.query_int("SELECT count(*) FROM sqlite_master");
    if (!tables.ok()) return tables.status();
    if (*tables == 0) return {};  // made just now
    auto application = db.query_int("PRAGMA application_id");
    auto version = db.query_int("PRAGMA user_version");
    if (!application.ok()) return application.status();
    if (!version.ok()) return version.status();
    if (*application != kCatalogApplicationId) return Status(Code::kCorrupt, "is no catalog");
    if (*version != kCatalogVersion) {
      note(fmt::format("has version {}, this program's is {}", *version, kCatalogVersion));
      return {};
    }
    TRACKER_RETURN_IF_ERROR(check_catalog_schema(db, "main", path_));
    auto id = db.query_text("SELECT value FROM meta WHERE key='store'");
    if (!id.ok()) return id.status();
    if (*id != store_.id().hex()) return Status(Code::kCorrupt, "is the catalog of another store");
    auto tree = db.query_text("PRAGMA integrity_check(1)");
    if (!tree.ok()) return tree.status();
    if (*tree != "ok") return Status(Code::kCorrupt, fmt::format("the b-tree is damaged: {}", tree_finding(*tree)));
    TRACKER_RETURN_IF_ERROR(check_signs(db));
    TRACKER_RETURN_IF_ERROR(check_rows(db));
    report_outdated();
    return {};
  }

  Status check_signs(Sqlite& db) {
    auto rows = db.prepare("SELECT folder FROM signs");
    if (!rows.ok()) return rows.status();
    for (auto row = rows->step(); !row.ok() || *row; row = rows->step()) {
      if (!row.ok()) return row.status();
      if (!is_run_place(rows->bytes_at(0))) return no_run_place(rows->bytes_at(0));
    }
    return {};
  }

  // Documents against their CRC, counts against what was just counted in the runs, where the row still holds.
  Status check_rows(Sqlite& db) {
    auto rows = db.prepare(
        fmt::format("SELECT {}, {} FROM runs LEFT JOIN documents USING(id)", kCatalogColumns, kCatalogDocuments));
    if (!rows.ok()) return rows.status();
    std::string wrong;
    for (;;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) break;
      TRACKER_RETURN_IF_ERROR(check_documents(*rows));
      auto record = read_catalog_record(*rows, CatalogDocuments::kAll);
      if (!record.ok()) return record.status();
      known_.insert(record->folder);
      const auto counted = verifier_.own_points.find(record->folder);
      if (counted == verifier_.own_points.end() || counted->second == record->points || !wrong.empty()) continue;
      auto holds = row_holds(db, record->folder);
      if (!holds.ok()) return holds.status();
      if (*holds)
        wrong = fmt::format("says {} points of {}, which holds {}", record->points, record->folder, counted->second);
    }
    return wrong.empty() ? Status() : Status(Code::kCorrupt, wrong);
  }

  Result<bool> row_holds(Sqlite& db, const std::string& folder) const {
    auto sign = db.prepare("SELECT trust, inode, ctime_ns, mtime_ns, files, judged_by FROM signs WHERE folder=?");
    if (!sign.ok()) return sign.status();
    auto row = sign->bind(folder).step();
    if (!row.ok()) return row.status();
    const std::string path = join_path(join_path(store_.path(), kRunsFolder), folder);
    const auto seen = folder_sign(path);
    if (!*row || !seen) return false;
    CatalogSign known;
    known.trust = static_cast<CatalogTrust>(sign->int_at(0));
    known.inode = sign->int_at(1);
    known.ctime_ns = sign->int_at(2);
    known.mtime_ns = sign->int_at(3);
    known.files = sign->int_at(4);
    known.judged_by = sign->bytes_at(5);
    return still_holds(known, *seen, path, catalog_judge());
  }

  void report_outdated() {
    uint64_t gone = 0, unknown = 0;
    for (const std::string& folder : known_)
      gone += is_directory(join_path(join_path(store_.path(), kRunsFolder), folder)) ? 0 : 1;
    for (const auto& [folder, points] : verifier_.own_points) unknown += known_.contains(folder) ? 0 : 1;
    if (gone + unknown > 0)
      note(fmt::format("is out of date: {} runs of it are gone, {} runs are not in it", gone, unknown));
  }

  Verifier& verifier_;
  const Store& store_;
  const std::string path_;
  std::set<std::string> known_;
  std::vector<Finding> findings_;
};

}  // namespace

void verify_catalog(Verifier& verifier, const Store& store) {
  constexpr int kLooksMax = 3;
  const std::string path = join_path(store.path(), kCatalogFile);
  for (int look = 1; path_exists(path); ++look) {
    const auto before = std::pair(stamp_of(path), stamp_of(path + "-wal"));
    std::vector<Finding> findings = CatalogCheck(verifier, store, path).run();
    // A listing was at work: what was read without locks proves nothing.
    const bool changed = before != std::pair(stamp_of(path), stamp_of(path + "-wal"));
    if (changed && look < kLooksMax && !findings.empty()) continue;
    for (Finding& finding : findings) verifier.add(std::move(finding));
    return;
  }
}

}  // namespace tracker::internal
