// SPDX-License-Identifier: MIT
// The runs of a store that match a filter, in an order, page by page: what `tracker ls`, tracker.runs() and the
// console's table show. Goes through the catalog, which it brings up to date first. Threads: any; each call by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/filter/filter.h"
#include "storage/catalog/catalog.h"
#include "storage/store/store.h"

namespace tracker::internal {

struct RunsQuery {
  std::string project;               // empty: all
  std::string where;                 // docs/filter.md; empty: every run
  std::string sort;                  // "-metrics.val/acc.max,created"; empty: newest first
  std::vector<FilterField> columns;  // values to return with each run
  uint64_t limit = 0;                // 0: all
  uint64_t offset = 0;
  CatalogDocuments documents = CatalogDocuments::kNone;  // what of them comes with each run
  bool name_unknown = false;                             // keys that no run has, in RunsList::unknown
  bool may_write = true;                                 // the catalog; false in a process that records a run
  // For who acts on the answer: what the catalog finds is read again from the runs' own files, and a run that then does
  // not match is left out. Cost: a read a run that the catalog finds.
  bool afresh = false;
  int64_t now_us = 0;        // what "now" means, and the end of what still runs; 0: the clock
  int64_t files_now_us = 0;  // the clock that the folders' times are compared with; 0: the machine's
  std::function<void(uint64_t done, uint64_t total)> progress;  // of runs that have to be read
  // What versions that runs of other stores speak of are called in this one (artifact/lineage.h); none: by their
  // digest.
  std::function<std::string(const std::string& name)> version_name;
};

struct RunRow {
  CatalogRecord record;
  std::string path;  // absolute
  std::vector<std::optional<Value>> columns;
  RunFolder run_folder() const { return {record.identity, path}; }
};

struct RunsList {
  std::vector<RunRow> rows;
  uint64_t matched = 0;                                        // before limit and offset
  std::vector<std::string> notes;                              // "config.lr is text in 12 runs"
  std::vector<std::string> unknown;                            // "no run has config.lrr; did you mean config.lr?"
  std::vector<std::string> problems;                           // damaged runs, one line each
  std::vector<std::pair<std::string, WaitingPoints>> waiting;  // project/id, and a journal with points of that run
  std::vector<std::string> unsound;                            // paths of runs among all, a problem of which is named
  Code worst = Code::kOk;                                      // of the problems
  uint64_t read = 0;                                           // runs that were read afresh
  bool in_memory = false;                                      // the catalog could not be written, or was not to be
  uint64_t denied = 0;  // runs that matched in the catalog and not in their own files (RunsQuery::afresh)
};

// Of a filter, an order or columns of which a word is no field (FilterError::key): the same status, with the fields of
// config, summary and metrics that the word is a key of in some run. Cost: a row a run.
Status name_known_field(const Store& store, const RunsQuery& query, const Status& status, FilterError* error);

// kInvalid and kLimit for `where` and `sort`; `error` then says where. A catalog that is damaged, locked or cannot be
// written is never a failure. Cost: a stat a run, a read of every run that changed, a row a run where the filter or the
// order needs config, summary or metrics.
Result<RunsList> query_runs(const Store& store, const RunsQuery& query, FilterError* error = nullptr);

}  // namespace tracker::internal
