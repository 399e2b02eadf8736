// SPDX-License-Identifier: MIT
// Updating the catalog: a sorted listing of the folders is merged with the sorted signatures; runs that differ are
// read.
#include <fcntl.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fs.h"
#include "model/key.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/catalog_intake.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr int kCheckpointPages = 2000;  // 8 MB of WAL

constexpr std::string_view kSignsOf =
    "SELECT folder, trust, inode, ctime_ns, mtime_ns, files, judged_by FROM signs WHERE folder>? AND folder<? "
    "ORDER BY folder";
constexpr std::string_view kSignOf =
    "SELECT folder, trust, inode, ctime_ns, mtime_ns, files, judged_by FROM signs WHERE folder=?";

CatalogSign sign_at(const Statement& row) {
  CatalogSign sign;
  const int64_t trust = row.int_at(1);
  if (trust == 1 || trust == 2) sign.trust = static_cast<CatalogTrust>(trust);
  sign.inode = row.int_at(2);
  sign.ctime_ns = row.int_at(3);
  sign.mtime_ns = row.int_at(4);
  sign.files = row.int_at(5);
  sign.judged_by = row.bytes_at(6);
  return sign;
}

// The folders of a project in the table: from "<project>/" to the character after the slash.
std::string first_of(const std::string& project) { return project + "/"; }
std::string after_all_of(const std::string& project) { return project + "0"; }

// A run that is removed while it is read is not damaged: `rm` renames its folder as a whole.
bool is_still_there(const std::string& path, const CatalogSign& seen) {
  const auto now = folder_sign(path);
  return now && now->inode == seen.inode;
}

void note(CatalogReport* report, Code code, const std::string& problem) {
  report->problems.push_back(problem);
  report->worst = worse_of(report->worst, code);
}

// Reports a folder that exists but cannot be listed: it must not count as empty.
void note_unlisted(const std::string& path, const Status& status, CatalogReport* report) {
  if (is_directory(path)) note(report, Code::kIo, status.to_string() + ": its runs are not shown");
}

}  // namespace

std::string Catalog::runs_path() const { return join_path(store_.path(), kRunsFolder); }

Status Catalog::refresh(const CatalogRefresh& options, const ReadRun& read, CatalogReport* report) {
  Status taken = in_memory_ ? Status() : take_intake(options.now_us);
  if (!taken.ok() && db_.in_transaction()) (void)db_.exec("ROLLBACK");
  TRACKER_RETURN_IF_ERROR(taken);
  std::vector<Stale> stale;
  TRACKER_RETURN_IF_ERROR(scan(options.project, report, &stale));
  std::stable_sort(stale.begin(), stale.end(), [](const Stale& a, const Stale& b) { return a.mtime_ns > b.mtime_ns; });
  Status status = update(stale, options, read, report);
  if (!status.ok() && db_.in_transaction()) (void)db_.exec("ROLLBACK");
  if (status.ok() && !stale.empty() && !in_memory_) (void)db_.checkpoint(Sqlite::Checkpoint::kPassive);
  return status;
}

Status Catalog::read_again(const std::vector<std::string>& folders, const CatalogRefresh& options, const ReadRun& read,
                           CatalogReport* report) {
  std::vector<Stale> all;
  for (const std::string& folder : folders) all.push_back({folder, 0});
  Status status = update(all, options, read, report);
  if (!status.ok() && db_.in_transaction()) (void)db_.exec("ROLLBACK");
  return status;
}

// Takes the files of the intake, in short transactions; a file is removed after its row is stored.
Status Catalog::take_intake(int64_t now_us) {
  const std::vector<std::string> names = list_intake(store_);
  for (size_t i = 0; i < names.size();) {
    TRACKER_RETURN_IF_ERROR(db_.exec("BEGIN IMMEDIATE"));
    const int64_t begun = monotonic_ns();
    std::vector<std::string> gone;
    for (const size_t end = std::min(names.size(), i + kCatalogBatchRuns);
         i < end && monotonic_ns() - begun < kCatalogBatchNs; ++i) {
      bool done = false;
      auto row = look_at_intake(store_, names[i], now_us, &done);
      if (row) {
        row->sign.judged_by = judge_;
        TRACKER_RETURN_IF_ERROR(writer_->put(row->record, row->sign));
      }
      if (done) gone.push_back(names[i]);
    }
    TRACKER_RETURN_IF_ERROR(db_.exec("COMMIT"));
    remove_intake(store_, gone);
    if (db_.wal_pages() > kCheckpointPages) (void)db_.checkpoint(Sqlite::Checkpoint::kPassive);
  }
  return {};
}

Status Catalog::scan(const std::string& project, CatalogReport* report, std::vector<Stale>* stale) {
  if (!project.empty()) return scan_project(folder_name(project), report, stale);
  auto projects = list_dir(runs_path());
  if (!projects.ok()) {
    note_unlisted(runs_path(), projects.status(), report);
    projects = std::vector<std::string>();
  }
  for (const std::string& each : *projects) TRACKER_RETURN_IF_ERROR(scan_project(each, report, stale));
  return scan_lost_projects(*projects, report, stale);
}

Status Catalog::scan_project(const std::string& project, CatalogReport* report, std::vector<Stale>* stale) {
  const std::string path = join_path(runs_path(), project);
  auto names = list_dir(path);
  if (!names.ok()) {
    note_unlisted(path, names.status(), report);
    names = std::vector<std::string>();
  }
  auto dir = open_file(path, O_RDONLY | O_DIRECTORY);
  if (!dir.ok()) names->clear();
  auto rows = db_.prepare(kSignsOf);
  if (!rows.ok()) return rows.status();
  const std::string first = first_of(project), end = after_all_of(project);
  rows->bind(first).bind(end);
  // For a row that no listed name matches.
  const auto lost = [&rows, stale] {
    const std::string_view folder = rows->bytes_at(0);
    if (!is_run_place(folder)) return no_run_place(folder);
    stale->push_back({std::string(folder), 0});
    return Status();
  };
  auto row = rows->step();
  for (const std::string& name : *names) {
    const std::string folder = first + name;
    for (; row.ok() && *row && rows->bytes_at(0) < folder; row = rows->step()) TRACKER_RETURN_IF_ERROR(lost());
    if (!row.ok()) return row.status();
    const bool known = *row && rows->bytes_at(0) == folder;
    const auto seen = folder_sign_at(dir->get(), name);
    const bool holds = known && seen && still_holds(sign_at(*rows), *seen, join_path(path, name), judge_);
    if (!holds && (known || seen)) stale->push_back({folder, seen ? seen->mtime_ns : 0});
    if (known) row = rows->step();
  }
  for (; row.ok() && *row; row = rows->step()) TRACKER_RETURN_IF_ERROR(lost());
  return row.ok() ? Status() : row.status();
}

// Projects in the catalog whose folders are gone.
Status Catalog::scan_lost_projects(const std::vector<std::string>& projects, CatalogReport* report,
                                   std::vector<Stale>* stale) {
  auto next = db_.prepare("SELECT folder FROM signs WHERE folder>=? ORDER BY folder LIMIT 1");
  if (!next.ok()) return next.status();
  for (std::string from;;) {
    auto row = next->bind(from).step();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    const std::string_view folder = next->bytes_at(0);
    // SQLite sorts a blob after every text, so the next query would find this row again.
    if (!is_run_place(folder) || folder < from) return no_run_place(folder);
    const std::string project(folder.substr(0, folder.find('/')));
    next->reset();
    if (!std::binary_search(projects.begin(), projects.end(), project))
      TRACKER_RETURN_IF_ERROR(scan_project(project, report, stale));
    from = after_all_of(project);
  }
}

Result<bool> Catalog::row_holds(const std::string& folder, const CatalogSign& seen) {
  auto rows = db_.prepare(kSignOf);
  if (!rows.ok()) return rows.status();
  auto row = rows->bind(folder).step();
  if (!row.ok()) return row.status();
  return *row && still_holds(sign_at(*rows), seen, join_path(runs_path(), folder), judge_);
}

// Short transactions, so that another listing waits only a moment; it then finds these rows done.
Status Catalog::update(const std::vector<Stale>& stale, const CatalogRefresh& options, const ReadRun& read,
                       CatalogReport* report) {
  for (size_t i = 0; i < stale.size();) {
    TRACKER_RETURN_IF_ERROR(db_.exec("BEGIN IMMEDIATE"));
    const int64_t begun = monotonic_ns();
    const size_t end = std::min(stale.size(), i + kCatalogBatchRuns);
    while (i < end && monotonic_ns() - begun < kCatalogBatchNs)
      TRACKER_RETURN_IF_ERROR(update_run(stale[i++].folder, options, read, report));
    TRACKER_RETURN_IF_ERROR(db_.exec("COMMIT"));
    if (!in_memory_ && db_.wal_pages() > kCheckpointPages) (void)db_.checkpoint(Sqlite::Checkpoint::kPassive);
    if (options.progress) options.progress(i, stale.size());
  }
  return {};
}

Result<uint64_t> Catalog::forget_gone() {
  std::vector<std::string> gone;
  {
    auto rows = db_.prepare("SELECT folder FROM signs UNION SELECT folder FROM runs");
    if (!rows.ok()) return rows.status();
    for (auto row = rows->step(); !row.ok() || *row; row = rows->step()) {
      if (!row.ok()) return row.status();
      const std::string folder(rows->bytes_at(0));
      if (!is_run_place(folder) || !folder_sign(join_path(runs_path(), folder))) gone.push_back(folder);
    }
  }
  for (size_t i = 0; i < gone.size();) {
    TRACKER_RETURN_IF_ERROR(db_.exec("BEGIN IMMEDIATE"));
    Status status;
    // If the row exists again, another listing has read the run, or will.
    for (const size_t end = std::min(gone.size(), i + kCatalogBatchRuns); i < end && status.ok(); ++i)
      if (!is_run_place(gone[i]) || !folder_sign(join_path(runs_path(), gone[i]))) status = writer_->erase(gone[i]);
    if (status.ok()) status = db_.exec("COMMIT");
    if (!status.ok() && db_.in_transaction()) (void)db_.exec("ROLLBACK");
    if (!status.ok()) return status;
  }
  return gone.size();
}

Status Catalog::update_run(const std::string& folder, const CatalogRefresh& options, const ReadRun& read,
                           CatalogReport* report) {
  const std::string path = join_path(runs_path(), folder);
  auto seen = folder_sign(path);  // before anything is read: the next refresh sees a change after it
  if (!seen) return writer_->erase(folder);
  auto done = row_holds(folder, *seen);
  if (!done.ok()) return done.status();
  if (*done) return {};
  const CatalogFiles files = look_at_files(path);
  auto found = read_run_folder(path);
  auto record = found.ok() ? read(*found) : Result<CatalogRecord>(found.status());
  if (!is_still_there(path, *seen)) return writer_->erase(folder);
  if (!found.ok()) {
    // Without run.json and databases the run is being created, or the folder is not a run's.
    const bool is_nothing = found.status().code() == Code::kNotFound && RunFolder{{}, path, ""}.writer_dbs().empty();
    if (!is_nothing) note(report, found.status().code(), found.status().to_string());
    return writer_->erase(folder);
  }
  ++report->read;
  if (!record.ok()) {
    note(report, record.status().code(), record.status().to_string());
    return writer_->erase(folder);
  }
  for (const std::string& problem : record->problems) note(report, record->problem_code, problem);
  if (!record->problems.empty()) report->unsound.push_back(folder);
  for (WaitingPoints& each : record->waiting)
    report->waiting.emplace_back(record->identity.project + "/" + record->identity.id, std::move(each));
  record->folder = folder;
  seen->trust = trust_of(*record, *seen, files, options.now_us);
  seen->files = files.hash;
  seen->judged_by = judge_;
  return writer_->put(*record, *seen);
}

}  // namespace tracker::internal
