// SPDX-License-Identifier: MIT
// A store: one folder that holds everything (docs/formats/store.md). This file finds and makes stores and run folders;
// nothing here keeps a file open. Threads: values; any number of processes may do the same at the same time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "model/records.h"

namespace tracker::internal {

constexpr int kStoreVersion = 1;

// A run's folder and who it is. `path` is absolute.
struct RunFolder {
  RunIdentity identity;
  std::string path;
  std::string problem = {};  // one line where run.json cannot be read and its databases told who the run is; else empty
  Code problem_code = Code::kOk;  // what reading it has answered then; kNotFound: it is gone
  // One path a writer, absolute and sorted: of the first part of its files that is there (writer_parts.h).
  // Empty where the folder cannot be listed, which `unlisted` says.
  std::vector<std::string> writer_dbs(Status* unlisted = nullptr) const;
};

// Of open_or_create_run(): what stands under that label is another run's, or nobody can say whose; another label is
// free.
inline bool is_of_another_run(const Status& status) {
  return status.code() == Code::kCorrupt || status.code() == Code::kLimit || status.code() == Code::kExists;
}

// kNotFound: there is no store.json in `path`. Says what is there instead, and what makes it.
Status no_store_at(const std::string& path);

enum class RunNames {
  kOfRuns,     // for callers that address or continue the run's processes, which know it by its own place
  kAndPlaces,  // for callers that read or remove folders
};

class Store {
 public:
  // Where the store is: `dir` if given, else TRACKER_DIR, else the nearest existing .tracker upward from the working
  // directory (from PWD of process start when Hydra changed it: HYDRA's original cwd is not known here; the caller
  // passes it), else ./.tracker. Absolute; nothing is created. Empty where that needs a working directory and it was
  // deleted: open() and open_or_create() then say so (kInvalid).
  static std::string resolve(std::string_view dir);

  // Opens the store at `path`, or makes it: folder (0700 for the default .tracker, else umask; in a shared folder, and
  // below one, what share_with_group() of base/fs.h says), store.json,
  // .gitignore of "*". Safe against any number of processes doing the same. Where runs are there without a store.json
  // it gets the id that they say; a damaged one is kept under another name and made again with that id, and problem()
  // says so. kVersion when written by a newer version; kCorrupt as open(). `id`: of a store that is made here; zero:
  // random.
  static Result<Store> open_or_create(const std::string& path, Id128 id = {});
  // kNotFound when there is no store at `path`; kCorrupt names a store.json that is damaged where no runs say which
  // store they are of. Where they do it is opened all the same, with a problem().
  static Result<Store> open(const std::string& path);

  const std::string& path() const { return path_; }
  const Id128& id() const { return id_; }
  // One line where store.json is damaged and the runs told which store it is; else empty.
  const std::string& problem() const { return problem_; }

  // Makes a run's folder with its run.json. Empty `label`: a random one is made up. When the label is taken, "-2",
  // "-3", … is appended (a second uid with the same label). `uid` zero: random. Atomic: run.json appears whole or not
  // at all. `launch`: WriterIdentity.launch of the run's first attempt, where that is known. `created_us`: when it
  // began, where that is not now.
  Result<RunFolder> create_run(std::string_view project, std::string_view label, Id128 uid = {},
                               const std::optional<std::string>& launch = {}, int64_t created_us = 0);
  // fsyncs store.json, run.json and their folders. Making them leaves that out, because an init must not wait for a
  // disk; the store thread calls this before the first frame.
  void sync(const RunFolder& run) const;
  // The run with exactly this project and label; creates it with `uid` when absent. For processes that share one run:
  // all get the same identity; `made` is set for the first. kCorrupt where databases of a run stand
  // there that do not say who it is, and `uid` is zero.
  Result<RunFolder> open_or_create_run(std::string_view project, std::string_view label, Id128 uid = {},
                                       const std::optional<std::string>& launch = {}, bool* made = nullptr,
                                       int64_t created_us = 0);
  std::optional<RunFolder> find_run(std::string_view project, std::string_view label) const;
  // The same for a caller that continues the run: where its run.json is damaged or gone and one of its databases names
  // the run, run.json is made again; the problem says so, and whether that succeeded.
  std::optional<RunFolder> find_run_to_resume(std::string_view project, std::string_view label) const;
  // By uid, whatever its folder is called and wherever in the store it stands; first looked for in `project`. Cost:
  // reads each run.json.
  std::optional<RunFolder> find_run_by_uid(const Id128& uid, std::string_view project) const;
  // The folder of that label holds databases and no run.json: a damaged run, and no free label.
  bool lacks_run_file(std::string_view project, std::string_view label) const;
  std::string run_path(std::string_view project, std::string_view label) const;  // whether one is there or not
  // A database or a .frames file of that writer is in the folder of that label.
  bool holds_writer(std::string_view project, std::string_view label, const Id128& writer) const;
  // By "project/id", by an id alone where it is unique in the store, or by uid (32 hex digits or an unambiguous
  // prefix of >= 6); with kAndPlaces also by "project/folder" where a folder has another name than its run. Of copies
  // of one run within the store the one in its own place is meant. kNotFound names close ids; kInvalid for an ambiguous
  // one names the candidates; kCorrupt, kVersion and kIo name the file of a run's folder of that name that nobody can
  // read.
  Result<RunFolder> resolve_run(std::string_view name, RunNames names = RunNames::kAndPlaces) const;
  // All runs, newest first. Damaged run folders are reported through `damaged` (one line each), and left out where not
  // even a database says who the run is.
  std::vector<RunFolder> list_runs(std::string_view project = "", std::vector<Status>* damaged = nullptr) const;

 private:
  std::string path_;
  Id128 id_;
  std::string problem_;
};

}  // namespace tracker::internal
