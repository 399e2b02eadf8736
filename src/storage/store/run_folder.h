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
// to make a run's folder, each of them undone by the removal of its project's last run
// Limit: tries to make a run's folder while others remove its project. Beyond it: an error of init.
constexpr int kFolderTriesMax = 1000;

std::string store_document(const Id128& id);
// kNotFound, kCorrupt, kVersion; all name the file.
Result<Id128> read_store_document(const std::string& path);

// The run in the folder `path`: from run.json; if that is damaged or missing, from a database in the folder, and then
// with a problem. Errors as of read_run_document().
Result<RunFolder> read_run_folder(const std::string& path);

// Before a run with a problem is continued: makes a missing or damaged run.json again from the identity
// (repair_document(), with its errors), and adds that to the problem. One that this user cannot read is kept. Ok
// without a problem.
Status repair_run_document(RunFolder* run);

// This process, for `made_by`.
Value this_process_document();
// For a run that this process makes. `launch`: WriterIdentity.launch of its first attempt, if known.
std::string run_document(const RunIdentity& run, const std::optional<std::string>& launch = {});
Result<RunIdentity> read_run_document(const std::string& path);
// Databases and .frames files in the folder of `run`, with all their parts, that belong to another run and were copied
// there. Cost: opens each writer's.
struct ForeignFile {
  std::string begin;  // of the names: 32 hex digits
  RunIdentity run;
};
std::vector<ForeignFile> files_of_other_runs(const RunFolder& run);

std::string place_of(const RunFolder& run);  // its folder in the store: "project/folder"
// Whether its folder is that of its project and id, or on a server of its project and uid: neither renamed nor a copy.
bool is_in_own_place(const RunFolder& run);

// The process that made the run, or started an attempt, with the fields that probe_writer() uses; none if the document,
// run.json or attempt-<n>.json, does not have them.
std::optional<WriterIdentity> read_claim_maker(const std::string& path);

// Makes a run's folder and those above it by `make`, which returns kNotFound if the removal of the project's last run
// has removed the project's folder meanwhile: then it is called again, kFolderTriesMax times in all.
Status make_run_dirs(const std::function<Status()>& make);

}  // namespace tracker::internal
