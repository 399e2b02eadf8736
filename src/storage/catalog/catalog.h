// SPDX-License-Identifier: MIT
// <store>/catalog.db: an index over the runs of a store (docs/formats/catalog.md). Everything in it is derived from the
// runs' folders: it may be deleted at any time, and is rebuilt if it is damaged or of another store.
//
// Listings write it (ls, ui, server), never a process that records a run. Any number of processes may refresh it at
// once, each in short transactions; a process that is killed leaves it as after its last commit. Where it cannot be
// written, the same tables are made in memory. Threads: one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "storage/catalog/catalog_rows.h"
#include "storage/catalog/catalog_scan.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kCatalogFile = "catalog.db";
constexpr const char* kCatalogLockFile = "catalog.lock";
// Limit: time that a listing waits for another listing. Beyond it: it is made in memory.
constexpr std::chrono::milliseconds kCatalogBusy{5000};
constexpr int64_t kCatalogBatchNs = 100'000'000;  // a transaction of a refresh ends with the first run after this time
constexpr size_t kCatalogBatchRuns = 256;         // or after so many runs

// Reads the catalog's record of the run in `folder`, or returns why it cannot. Called within a transaction of the
// catalog.
using ReadRun = std::function<Result<CatalogRecord>(const RunFolder& folder)>;

struct CatalogRefresh {
  std::string project;  // empty: all
  int64_t now_us = 0;   // the clock of the folders' times
  // called with the number of runs read, of those that must be read
  std::function<void(uint64_t done, uint64_t total)> progress;
};

struct CatalogReport {
  uint64_t read = 0;                  // runs read afresh
  std::vector<std::string> problems;  // damaged runs, and folders that cannot be listed, one line each
  std::vector<std::string> unsound;   // folders of runs that have a row and a problem
  Code worst = Code::kOk;
  // project/id, and a journal with points of that run that are not in the store
  std::vector<std::pair<std::string, WaitingPoints>> waiting;
};

class Catalog {
 public:
  // kStore: the file if it can be written, else kMemory. kMemory: starts with a copy of the file, which is not changed.
  enum class Place { kStore, kMemory, kEmptyMemory };
  static Result<Catalog> open(const Store& store, Place place);
  Catalog(Catalog&&) = default;
  Catalog& operator=(Catalog&&) = default;
  ~Catalog() { writer_.reset(); }  // its statements must be destroyed before the connection

  bool in_memory() const { return in_memory_; }
  // Updates the rows from the folders: runs with a changed signature are read, newest first; runs that may change
  // without a new signature are read each time. kBusy if another listing held the catalog too long, kCorrupt if it is
  // damaged: the caller opens another catalog then (runs_query.cc).
  Status refresh(const CatalogRefresh& options, const ReadRun& read, CatalogReport* report);
  // For a catalog in memory that was empty at first: the rows of these folders, read from them. Errors: as refresh().
  Status read_again(const std::vector<std::string>& folders, const CatalogRefresh& options, const ReadRun& read,
                    CatalogReport* report);
  // Deletes the rows of runs whose folders are gone; returns how many. Errors: as refresh().
  Result<uint64_t> forget_gone();
  Sqlite& db() { return db_; }

  // Deletes a damaged catalog, unless a process has a catalog of this store open.
  static Status discard(const Store& store);

 private:
  explicit Catalog(Store store) : store_(std::move(store)) {}
  // A run whose row is out of date, or whose folder is gone.
  struct Stale {
    std::string folder;
    int64_t mtime_ns = 0;
  };

  std::string runs_path() const;
  Status open_in_store();
  Status open_in_memory(bool with_file);
  Status take_intake(int64_t now_us);
  Status scan(const std::string& project, CatalogReport* report, std::vector<Stale>* stale);
  Status scan_project(const std::string& project, CatalogReport* report, std::vector<Stale>* stale);
  Status scan_lost_projects(const std::vector<std::string>& projects, CatalogReport* report, std::vector<Stale>* stale);
  Result<bool> row_holds(const std::string& folder, const CatalogSign& seen);
  Status update(const std::vector<Stale>& stale, const CatalogRefresh& options, const ReadRun& read,
                CatalogReport* report);
  Status update_run(const std::string& folder, const CatalogRefresh& options, const ReadRun& read,
                    CatalogReport* report);

  Store store_;
  Fd lock_;  // shared while the file is open; declared before db_, so released after it
  Sqlite db_;
  std::unique_ptr<CatalogWriter> writer_;
  std::string judge_;
  bool in_memory_ = false;
};

}  // namespace tracker::internal
