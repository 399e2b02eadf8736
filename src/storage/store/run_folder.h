// SPDX-License-Identifier: MIT
// The small JSON documents of a store: store.json and run.json (docs/formats/store.md). Threads: pure functions and
// file reads.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "storage/database/writer_paths.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kStoreFile = "store.json";
constexpr const char* kRunFile = "run.json";
constexpr const char* kUploadFile = "upload.json";  // sync/server_project.h
constexpr const char* kRunsFolder = "runs";
// Limit: tries to make a run's folder while others remove its project. Beyond it: an error of init.
constexpr int kFolderTriesMax = 1000;

std::string store_document(const Id128& id);
// kNotFound, kCorrupt, kVersion; all name the file.
Result<Id128> read_store_document(const std::string& path);

// The run in the folder `path`: by run.json; where that is damaged or gone, by what a database in it says, and then
// with a problem. Errors as of read_run_document().
Result<RunFolder> read_run_folder(const std::string& path);

// Before a run with a problem is continued: makes a missing or damaged run.json again from the identity
// (mend_document(), whose errors it has), and adds that to the problem. One that this user cannot read stays. Ok
// without a problem.
Status mend_run_document(RunFolder* run);

// This process, as `made_by` says it.
Value this_process_document();
// Of a run that this process makes. `launch`: WriterIdentity.launch of its first attempt, where that is known.
std::string run_document(const RunIdentity& run, const std::optional<std::string>& launch = {});
Result<RunIdentity> read_run_document(const std::string& path);
// Databases and .frames files in the folder of `run`, with all their parts, that belong to another run: somebody has
// copied them there. Cost: opens each writer's.
struct ForeignFile {
  std::string begin;  // of the names: 32 hex digits
  RunIdentity run;
};
std::vector<ForeignFile> files_of_other_runs(const RunFolder& run);

std::string place_of(const RunFolder& run);  // its folder in the store: "project/folder"
// The one of its project and id, or on a server of its project and uid: neither renamed nor a copy.
bool is_in_own_place(const RunFolder& run);

// The process that made the run, or began an attempt, as far as probe_writer() asks; none where the document, run.json
// or attempt-<n>.json, does not say.
std::optional<WriterIdentity> read_claim_maker(const std::string& path);

// Makes a run's folder and those above it by `make`, which is kNotFound where a removal of the project's last run has
// taken the project's folder away in between: it is called again then, kFolderTriesMax times in all.
Status make_run_dirs(const std::function<Status()>& make);

}  // namespace tracker::internal
