// SPDX-License-Identifier: MIT
// A store into which runs of other tools are imported: the existing runs, and a place in which a run is built before it
// appears complete. One process at a time imports into a store (`import.lock`). Threads: one at a time. Cost: opening
// reads the run.json of every run; blocks on the disk.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/status.h"
#include "model/records.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kImportLockFile = "import.lock";
constexpr std::string_view kImportFolderPrefix = "import.new-";  // and 16 hex digits: a run that is being built
constexpr std::string_view kImportJournal = "import";            // WriterIdentity.journal of imported runs
// Limit: imported runs of one label in a project. Beyond it: an error.
constexpr int kImportLabelsMax = 100'000;
// Limit: problems of an import that are listed. Beyond it: counted.
constexpr size_t kImportProblemsMax = 1'000;

// The identity of a run in its source. The uid is derived from `kind` and `key`: a second import of one source finds
// its run.
struct ImportIdentity {
  std::string kind;     // "tensorboard", "csv", …
  std::string key;      // the run's identity in its source: an id of its own, else the absolute path
  std::string source;   // where it was read, for messages and the attribute "imported_from"
  std::string project;  // empty: "imported"
  std::string label;    // wanted id; taken ones get "-2", …
  std::string host;
  int64_t created_us = 0;  // 0: now
};

// One imported run.
struct ImportedRun {
  RunIdentity run;
  std::string source;
  uint64_t points = 0, texts = 0, media = 0, alerts = 0, artifacts = 0;  // new ones
  bool is_new = false;   // false: it existed; points, texts and the rest count what was added
  bool changed = false;  // something was written
};

// The result of an import.
struct ImportReport {
  std::vector<ImportedRun> runs;
  std::vector<std::string> artifacts;        // versions that are new in the store: "project/name:v3"
  std::map<std::string, uint64_t> left_out;  // what could not be imported, counted by kind
  std::vector<std::string> problems;         // a line each: damaged or unreadable parts of the source
  uint64_t problems_more = 0;                // beyond kImportProblemsMax
  Code worst = Code::kOk;                    // of the problems
  void add_problem(Code code, std::string line);
};

class ImportStore {
 public:
  // Makes the store if there is none. kBusy: another import into it is running. Removes what killed imports left.
  static Result<std::unique_ptr<ImportStore>> open(const std::string& path);

  const Store& store() const { return store_; }
  ImportReport& report() { return report_; }
  // The run with this uid, or null.
  const RunFolder* find(const Id128& uid) const;
  // A label of that project that is free now.
  Result<std::string> free_label(const std::string& project, const std::string& label,
                                 int tries_max = kImportLabelsMax) const;
  // An empty folder with a name that readers ignore.
  Result<std::string> make_folder() const;
  // Moves a folder with a complete run to its place. kExists: another run has taken the place.
  Status put(const std::string& folder, const RunIdentity& run);

 private:
  ImportStore() = default;
  void remove_left() const;

  Store store_;
  Fd lock_;
  std::map<Id128, RunFolder> runs_;
  ImportReport report_;
};

// Removes the folder of a run that is being built, with its media; best effort.
void remove_import_folder(const std::string& path);

}  // namespace tracker::internal
