// SPDX-License-Identifier: MIT
// A store: one folder that holds everything (docs/formats/store.md). This file finds and makes stores and run folders;
// it keeps no file open. Threads: values; any number of processes may do the same at the same time.
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

// A run's folder and the run's identity. `path` is absolute.
struct RunFolder {
  RunIdentity identity;
  std::string path;
  std::string problem = {};  // one line if run.json cannot be read and the identity is from the databases; else empty
  Code problem_code = Code::kOk;  // the error of reading it; kNotFound: it is missing
  // One path for each writer, absolute and sorted: of the first existing part of its files (writer_parts.h).
  // Empty if the folder cannot be listed; then `unlisted` has the error.
  std::vector<std::string> writer_dbs(Status* unlisted = nullptr) const;
};

// For errors of open_or_create_run(): the files under that label belong to another run, or it is unknown to which;
// another label is free.
inline bool is_of_another_run(const Status& status) {
  return status.code() == Code::kCorrupt || status.code() == Code::kLimit || status.code() == Code::kExists;
}

// kNotFound: there is no store.json in `path`. The message has what is there instead, and the command that makes it.
Status no_store_at(const std::string& path);

enum class RunNames {
  kOfRuns,     // for callers that address or continue the run's processes, which know the run by its own place
  kAndPlaces,  // for callers that read or remove folders
};

class Store {
 public:
  // The path of the store: `dir` if given, else TRACKER_DIR, else the nearest existing .tracker upward from the working
  // directory (from PWD of process start if Hydra changed it: HYDRA's original cwd is not known here; the caller passes
  // it), else ./.tracker. Absolute; nothing is created. Empty if a working directory is needed and it was deleted:
  // open() and open_or_create() report that (kInvalid).
  static std::string resolve(std::string_view dir);

  // Opens the store at `path`, or makes it: folder (0700 for the default .tracker, else by the umask; in and below a
  // shared folder by share_with_group() of base/fs.h), store.json,
  // .gitignore of "*". Safe against any number of processes doing the same. If there are runs without a store.json, it
  // gets the id that is in the runs; a damaged one is renamed and made again with that id, and problem() reports it.
  // kVersion if written by a newer version; kCorrupt as open(). `id`: for a new store; zero: random.
  static Result<Store> open_or_create(const std::string& path, Id128 id = {});
  // kNotFound if there is no store at `path`; kCorrupt names a damaged store.json if no run has the id of its store. If
  // runs have it, the store is opened, with a problem().
  static Result<Store> open(const std::string& path);

  const std::string& path() const { return path_; }
  const Id128& id() const { return id_; }
  // One line if store.json is damaged and the id is from the runs; else empty.
  const std::string& problem() const { return problem_; }

  // Makes a run's folder with its run.json. Empty `label`: a random one. If the label is taken, "-2", "-3", … is
  // appended (a second uid with the same label). `uid` zero: random. Atomic: run.json appears complete or not at all.
  // `launch`: WriterIdentity.launch of the run's first attempt, if known. `created_us`: when it started, if that is not
  // now.
  Result<RunFolder> create_run(std::string_view project, std::string_view label, Id128 uid = {},
                               const std::optional<std::string>& launch = {}, int64_t created_us = 0);
  // fsyncs store.json, run.json and their folders. Creating them omits that, because an init must not wait for a disk;
  // the store thread calls this before the first frame.
  void sync(const RunFolder& run) const;
  // The run with exactly this project and label; creates it with `uid` if absent. For processes that share one run: all
  // get the same identity; `made` is set for the first. kCorrupt if databases of a run are
  // there that do not name their run, and `uid` is zero.
  Result<RunFolder> open_or_create_run(std::string_view project, std::string_view label, Id128 uid = {},
                                       const std::optional<std::string>& launch = {}, bool* made = nullptr,
                                       int64_t created_us = 0);
  std::optional<RunFolder> find_run(std::string_view project, std::string_view label) const;
  // The same for a caller that continues the run: if its run.json is damaged or missing and one of its databases names
  // the run, run.json is made again; the problem reports that, and whether it succeeded.
  std::optional<RunFolder> find_run_to_resume(std::string_view project, std::string_view label) const;
  // By uid, whatever its folder's name and place in the store; searched first in `project`. Cost: reads each run.json.
  std::optional<RunFolder> find_run_by_uid(const Id128& uid, std::string_view project) const;
  // The folder of that label has databases and no run.json: a damaged run, and not a free label.
  bool lacks_run_file(std::string_view project, std::string_view label) const;
  std::string run_path(std::string_view project, std::string_view label) const;  // whether it exists or not
  // Whether a database or a .frames file of that writer is in the folder of that label.
  bool holds_writer(std::string_view project, std::string_view label, const Id128& writer) const;
  // By "project/id", by an id without a project if it is unique in the store, or by uid (32 hex digits or an
  // unambiguous prefix of >= 6); with kAndPlaces also by "project/folder" if a folder has another name than its run. Of
  // copies of one run within the store, the one in its own place is returned. kNotFound names similar ids; kInvalid for
  // an ambiguous name lists the candidates; kCorrupt, kVersion and kIo name the unreadable file of a run's folder of
  // that name.
  Result<RunFolder> resolve_run(std::string_view name, RunNames names = RunNames::kAndPlaces) const;
  // All runs, newest first. Damaged run folders are reported through `damaged` (one line each), and omitted if no
  // database names the run.
  std::vector<RunFolder> list_runs(std::string_view project = "", std::vector<Status>* damaged = nullptr) const;

 private:
  std::string path_;
  Id128 id_;
  std::string problem_;
};

}  // namespace tracker::internal
