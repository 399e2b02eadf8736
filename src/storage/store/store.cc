// SPDX-License-Identifier: MIT
#include "storage/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "model/did_you_mean.h"
#include "model/key.h"
#include "storage/store/run_folder.h"
#include "storage/store/share_store.h"
#include "storage/store/store_identity.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

constexpr const char* kDefaultFolder = ".tracker";
// Limit: runs of one label in a project. Beyond it: an error of init.
constexpr int kLabelTriesMax = 100'000;

Status make_store_folder(const std::string& path) {
  if (is_directory(path)) return {};
  const std::string name = last_name(path);
  const std::string above = parent_path(path);
  TRACKER_RETURN_IF_ERROR(make_dirs(above));
  // The default store may be in a home or project folder that other users can read.
  return make_dirs(path, name != kDefaultFolder ? 0777 : is_shared_folder(above) ? 0770 : 0700);
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool holds_databases(const std::string& path) { return !RunFolder{{}, path, ""}.writer_dbs().empty(); }

// Claims the folder for `run`: run.json appears complete and once. kExists if another run has it.
Status claim_folder(const std::string& path, const RunIdentity& run, const std::optional<std::string>& launch) {
  TRACKER_RETURN_IF_ERROR(make_run_dirs([&path] { return make_dirs(path); }));
  return create_file_exclusive(join_path(path, kRunFile), run_document(run, launch), 0666, false);
}

Status no_working_directory() {
  return Status(Code::kInvalid, "the working directory was deleted, so the store cannot be found from it",
                "name the store by an absolute path: dir, or TRACKER_DIR");
}

}  // namespace

std::string Store::resolve(std::string_view dir) {
  if (!dir.empty()) return without_trailing_slashes(absolute_path(std::string(dir)));
  const char* from_environment = std::getenv("TRACKER_DIR");
  if (from_environment != nullptr && *from_environment != '\0')
    return without_trailing_slashes(absolute_path(from_environment));
  const std::string start = absolute_path("");
  if (start.empty()) return start;
  for (std::string at = start;; at = parent_path(at)) {
    std::string candidate = join_path(at, kDefaultFolder);
    if (is_directory(candidate)) return candidate;
    if (at == "/") return join_path(start, kDefaultFolder);
  }
}

Status make_run_dirs(const std::function<Status()>& make) {
  Status made = make();
  for (int i = 1; i < kFolderTriesMax && made.code() == Code::kNotFound; ++i) made = make();
  return made;
}

Status no_store_at(const std::string& path) {
  const std::string runs = join_path(path, kRunsFolder);
  if (list_dir(runs).value_or({}).empty())
    return Status(Code::kNotFound, fmt::format("no store at {}", path),
                  "--dir or TRACKER_DIR says where it is; the first run makes it");
  return Status(Code::kNotFound, fmt::format("no store at {}: it has {}, but store.json is missing", path, runs),
                "nothing is lost: the next run that is recorded there makes it again, with the id that its runs have");
}

Result<Store> Store::open(const std::string& path) {
  Store store;
  store.path_ = without_trailing_slashes(absolute_path(path));
  if (store.path_.empty()) return no_working_directory();
  auto id = read_store_document(join_path(store.path_, kStoreFile));
  if (!id.ok() && id.status().code() == Code::kNotFound) return no_store_at(store.path_);
  if (id.ok()) {
    store.id_ = *id;
    return store;
  }
  if (id.status().code() != Code::kCorrupt && id.status().code() != Code::kLimit)
    return with_way_into(id.status(), store.path_);
  const auto found = identity_of_runs(store.path_);
  if (!found.ok()) {
    const bool none = found.status().code() == Code::kNotFound;
    const std::string file = join_path(store.path_, kStoreFile);
    return Status(
        Code::kCorrupt, id.status().message() + "; " + found.status().message(),
        none ? fmt::format("remove {}, and the next run makes it with a new id", file)
             : fmt::format("write {} as a copy of the store has it, with the id of these that is right", file));
  }
  store.id_ = found->id;
  store.problem_ = fmt::format("{}; the store's id was taken from {}", id.status().message(), found->from);
  return store;
}

Result<Store> Store::open_or_create(const std::string& path, Id128 id) {
  auto store = open(path);
  if (store.ok() && !store->problem_.empty()) {
    const auto kept = repair_store_document(store->path_, store->id_);
    store->problem_ += !kept.ok()      ? "; it cannot be written again: " + kept.status().message()
                       : kept->empty() ? "; it is complete again"
                                       : fmt::format("; it is written again, the damaged one is {}", *kept);
  }
  if (store.ok() || store.status().code() != Code::kNotFound) return store;
  const std::string absolute = without_trailing_slashes(absolute_path(path));
  TRACKER_RETURN_IF_ERROR(make_store_folder(absolute));
  if (const auto found = identity_of_runs(absolute); found.ok()) id = found->id;  // somebody removed store.json
  // A store exists when store.json exists, so that is made last. A process that loses a race uses the winner's files.
  for (const auto& [name, text] : {std::pair<const char*, std::string>{".gitignore", "*\n"},
                                   {kStoreFile, store_document(id.is_zero() ? Id128::random() : id)}}) {
    Status status = create_file_exclusive(join_path(absolute, name), text, 0666, false);
    if (!status.ok() && status.code() != Code::kExists) return with_way_into(status, absolute);
  }
  return open(absolute);
}

void Store::sync(const RunFolder& run) const {
  const std::string project = parent_path(run.path);
  for (const std::string& path : {join_path(path_, kStoreFile), path_, parent_path(path_),
                                  join_path(run.path, kRunFile), run.path, project, parent_path(project)})
    sync_path(path);
}

std::optional<RunFolder> Store::find_run(std::string_view project, std::string_view label) const {
  const std::string project_path = join_path(join_path(path_, kRunsFolder), folder_name(project));
  const std::string path = join_path(project_path, folder_name(label));
  auto identity = read_run_document(join_path(path, kRunFile));
  if (!identity.ok() || identity->project != project || identity->id != label) return std::nullopt;
  return RunFolder{std::move(*identity), path, ""};
}

std::optional<RunFolder> Store::find_run_to_resume(std::string_view project, std::string_view label) const {
  if (auto found = find_run(project, label)) return found;
  auto read = read_run_folder(run_path(project, label));
  if (!read.ok() || read->identity.project != project || read->identity.id != label) return std::nullopt;
  (void)repair_run_document(&*read);
  return std::move(*read);
}

Result<RunFolder> Store::create_run(std::string_view project, std::string_view label, Id128 uid,
                                    const std::optional<std::string>& launch, int64_t created_us) {
  TRACKER_RETURN_IF_ERROR(check_label("project", project));
  if (!label.empty()) TRACKER_RETURN_IF_ERROR(check_label("run id", label));
  const std::string project_path = join_path(join_path(path_, kRunsFolder), folder_name(project));
  RunIdentity run;
  run.uid = uid.is_zero() ? Id128::random() : uid;
  run.project = project;
  for (int i = 1; i <= kLabelTriesMax; ++i) {
    run.id = label.empty() ? random_label() : i == 1 ? std::string(label) : fmt::format("{}-{}", label, i);
    run.created_us = created_us != 0 ? created_us : realtime_us();
    const std::string path = join_path(project_path, folder_name(run.id));
    // Databases without run.json are a damaged run, not a free label.
    if (path_exists(join_path(path, kRunFile)) || holds_databases(path)) continue;
    Status status = claim_folder(path, run, launch);
    if (status.ok()) return RunFolder{std::move(run), path, ""};
    if (status.code() != Code::kExists) return status;
  }
  return Status(Code::kLimit, fmt::format("{} runs are called \"{}\" in {}", kLabelTriesMax, label, project_path));
}

bool Store::lacks_run_file(std::string_view project, std::string_view label) const {
  const std::string path = run_path(project, label);
  return !path_exists(join_path(path, kRunFile)) && holds_databases(path);
}

std::string Store::run_path(std::string_view project, std::string_view label) const {
  return join_path(join_path(join_path(path_, kRunsFolder), folder_name(project)), folder_name(label));
}

bool Store::holds_writer(std::string_view project, std::string_view label, const Id128& writer) const {
  const auto files = RunFolder{{}, run_path(project, label), ""}.writer_dbs();
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& file) { return file.find(writer.hex()) != std::string::npos; });
}

Result<RunFolder> Store::open_or_create_run(std::string_view project, std::string_view label, Id128 uid,
                                            const std::optional<std::string>& launch, bool* made, int64_t created_us) {
  TRACKER_RETURN_IF_ERROR(check_label("project", project));
  TRACKER_RETURN_IF_ERROR(check_label("run id", label));
  if (auto found = find_run_to_resume(project, label)) return std::move(*found);
  const std::string project_path = join_path(join_path(path_, kRunsFolder), folder_name(project));
  const std::string path = join_path(project_path, folder_name(label));
  if (uid.is_zero() && lacks_run_file(project, label))
    return Status(
        Code::kCorrupt,
        fmt::format("{} is missing, and no database beside it says that it is this run", join_path(path, kRunFile)),
        "`tracker verify` says what of the run is intact; another id begins another run");
  RunIdentity run;
  run.uid = uid.is_zero() ? Id128::random() : uid;
  run.project = project;
  run.id = label;
  run.created_us = created_us != 0 ? created_us : realtime_us();
  Status status = claim_folder(path, run, launch);
  if (made != nullptr) *made = status.ok();
  if (status.ok()) return RunFolder{std::move(run), path, ""};
  if (status.code() != Code::kExists) return status;
  auto identity = read_run_document(join_path(path, kRunFile));
  if (!identity.ok()) return identity.status();
  if (identity->project != project || identity->id != label)
    return Status(Code::kExists, fmt::format("{} holds the run {}/{}", path, identity->project, identity->id));
  return RunFolder{std::move(*identity), path, ""};
}

std::optional<RunFolder> Store::find_run_by_uid(const Id128& uid, std::string_view project) const {
  for (const std::string_view where : {project, std::string_view()})
    for (RunFolder& run : list_runs(where))
      if (run.identity.uid == uid) return std::move(run);
  return std::nullopt;
}

std::vector<RunFolder> Store::list_runs(std::string_view project, std::vector<Status>* damaged) const {
  std::vector<RunFolder> out;
  const std::string runs = join_path(path_, kRunsFolder);
  std::vector<std::string> projects;
  if (!project.empty()) projects.push_back(folder_name(project));
  else if (auto names = list_dir(runs); names.ok()) projects = std::move(*names);
  else if (damaged != nullptr && is_directory(runs)) damaged->push_back(with_way_into(names.status(), path_));
  for (const std::string& project_name : projects) {
    const std::string project_path = join_path(runs, project_name);
    auto names = list_dir(project_path);
    if (!names.ok() && damaged != nullptr && is_directory(project_path))
      damaged->push_back(with_way_into(names.status(), path_));
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const std::string path = join_path(project_path, name);
      auto folder = read_run_folder(path);
      if (folder.ok()) {
        if (damaged != nullptr && !folder->problem.empty())
          damaged->emplace_back(folder->problem_code == Code::kIo ? Code::kIo : Code::kCorrupt, folder->problem);
        out.push_back(std::move(*folder));
        continue;
      }
      // Without run.json and databases the run is being created, or the folder is not a run's.
      const bool is_nothing = folder.status().code() == Code::kNotFound && !holds_databases(path);
      if (damaged != nullptr && is_directory(path) && !is_nothing) damaged->push_back(folder.status());
    }
  }
  std::sort(out.begin(), out.end(), [](const RunFolder& a, const RunFolder& b) {
    if (a.identity.created_us != b.identity.created_us) return a.identity.created_us > b.identity.created_us;
    return a.path < b.path;
  });
  return out;
}

}  // namespace tracker::internal
