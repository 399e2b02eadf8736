// SPDX-License-Identifier: MIT
#include "storage/upkeep/collect.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "base/fs.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/place.h"
#include "model/media.h"
#include "storage/catalog/catalog.h"
#include "storage/frames/database_build.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/trash.h"
#include "storage/store/run_folder.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {
namespace {

uint64_t bytes_of(const std::string& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) ? static_cast<uint64_t>(st.st_size) : 0;
}

uint64_t bytes_below(const std::string& folder) {
  uint64_t out = 0;
  const auto names = list_dir(folder);
  if (!names.ok()) return 0;
  for (const std::string& name : *names) out += bytes_of(join_path(folder, name));
  return out;
}

class Collector {
 public:
  Collector(const Store& store, const CollectOptions& options) : store_(store), options_(options) {}

  CollectReport run() {
    journals();
    files_in(store_.path());
    const std::vector<RunFolder> runs = store_.list_runs();
    for (size_t i = 0; i < runs.size(); ++i) {
      files_in(runs[i].path);
      files_in(join_path(runs[i].path, kMediaFolder));
      frames_in(runs[i]);
      compact(runs[i]);
      if (options_.progress) options_.progress(i + 1, runs.size());
    }
    trash();
    catalog();
    for (const Garbage& item : report_.removed) report_.bytes += item.bytes;
    return std::move(report_);
  }

 private:
  // The journals of this store's dead processes, and those without a writer; called after recovery, so that what it did
  // is seen.
  void journals() {
    std::vector<Garbage> dead;
    for (const std::string& root : journal_roots(store_.path())) {
      if (!is_directory(root)) continue;
      const std::vector<std::string> unborn = list_unborn_journals(root);
      for (const std::string& dir : unborn) dead.push_back({"unborn journal", dir, bytes_below(dir)});
      for (const std::string& dir : journal_dirs(root)) {
        const auto writer = writer_of_journal(dir, store_);
        if (!writer.ok() || !is_of(*writer, store_) || is_locked(dir).value_or(true)) continue;
        dead.push_back({"journal", dir, bytes_below(dir)});
      }
    }
    if (!options_.dry_run) {
      report_.recovery = recover_dead_writers(store_);
      for (const std::string& root : journal_roots(store_.path()))
        if (is_directory(root)) remove_unborn_journals(root);
    }
    for (Garbage& journal : dead)
      if (options_.dry_run || !path_exists(journal.path)) report_.removed.push_back(std::move(journal));
    for (const std::string& root : journal_roots(store_.path())) kept_in(root);
  }

  void kept_in(const std::string& root) {
    const auto names = list_dir(root);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      const std::string dir = join_path(root, name);
      if (!name.starts_with("damaged-")) continue;
      const auto writer = writer_of_journal(dir, store_);
      if (writer.ok() && is_of(*writer, store_)) report_.kept.push_back({"damaged journal", dir, bytes_below(dir)});
    }
  }

  void files_in(const std::string& folder) {
    for (const Leftover& leftover : list_leftovers(folder, kLeftoverAge.count())) {
      if (!options_.dry_run) remove_file(leftover.path);
      if (options_.dry_run || !path_exists(leftover.path))
        report_.removed.push_back({"temporary file", leftover.path, leftover.bytes});
      else report_.problems.push_back(leftover.path + " cannot be removed");
    }
  }

  // Removes a frames file whose database exists; converts those whose writer has ended.
  void frames_in(const RunFolder& run) {
    const auto names = list_dir(run.path);
    if (!names.ok()) return;
    bool any = false;
    for (const std::string& name : *names) {
      const std::string path = join_path(run.path, name);
      if (!is_frames_path(name)) continue;
      any = true;
      const std::string db = db_path_of(path);
      if (!is_whole_database(db) || !covers(db, path)) continue;
      const uint64_t bytes = bytes_of(path);
      if (!options_.dry_run) remove_file(path);
      report_.removed.push_back({"frames file", path, bytes});
    }
    if (any && !options_.dry_run) build_ended_frames(run.path);
  }

  void compact(const RunFolder& run) {
    CompactEndedReport found = compact_ended(store_, run, {.dry_run = options_.dry_run, .now_us = options_.now_us});
    std::move(found.compacted.begin(), found.compacted.end(), std::back_inserter(report_.compacted));
    std::move(found.problems.begin(), found.problems.end(), std::back_inserter(report_.problems));
  }

  void trash() {
    const Removed removed = empty_trash(store_, options_.dry_run, options_.now_us, &report_.problems);
    if (removed.files > 0) report_.removed.push_back({"trash", join_path(store_.path(), kTrashFolder), removed.bytes});
  }

  void catalog() {
    if (!path_exists(join_path(store_.path(), kCatalogFile))) return;
    auto catalog = Catalog::open(store_, options_.dry_run ? Catalog::Place::kMemory : Catalog::Place::kStore);
    if (!catalog.ok()) return report_.problems.push_back(catalog.status().to_string());
    auto rows = catalog->forget_gone();
    if (rows.ok()) report_.catalog_rows = *rows;
    else report_.problems.push_back(rows.status().to_string());
  }

  const Store& store_;
  const CollectOptions& options_;
  CollectReport report_;
};

}  // namespace

CollectReport collect_garbage(const Store& store, const CollectOptions& options) {
  return Collector(store, options).run();
}

}  // namespace tracker::internal
