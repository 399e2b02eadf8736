// SPDX-License-Identifier: MIT
#include "storage/recovery/wreck.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/fs.h"
#include "journal/definitions.h"
#include "journal/place.h"
#include "model/key.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/recovery.h"

namespace tracker::internal {
namespace {

// Ok: a wreck; kNotFound: none; else why its run.json cannot be read, which is not for us to judge.
Status look_at(const std::string& path) {
  if (!is_directory(path)) return Status(Code::kNotFound, path + " is no folder");
  const auto run = read_run_folder(path);
  if (run.ok()) return Status(Code::kNotFound, path + " is a run that can be named");
  if (run.status().code() == Code::kVersion) return run.status();
  const bool has_run_file = path_exists(join_path(path, kRunFile));  // without, and without databases: being made
  if (!has_run_file && RunFolder{{}, path, ""}.writer_dbs().empty())
    return Status(Code::kNotFound, path + " is no run's folder");
  return {};
}

// As a process of this machine knew it that wrote there.
void take_identity(const Store& store, RunFolder* run) {
  for (const std::string& root : journal_roots(store.path())) {
    const auto names = list_dir(root);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (!Id128::from_hex(name)) continue;
      const std::string dir = join_path(root, name);
      const auto writer = read_writer_identity(dir);
      if (!writer.ok() || !is_of(*writer, dir, store) || writer->run.uid.is_zero()) continue;
      if (folder_name(writer->run.id) != last_name(run->path) ||
          folder_name(writer->run.project) != last_name(parent_path(run->path)))
        continue;
      run->identity = writer->run;
      return;
    }
  }
}

}  // namespace

Result<RunFolder> find_wreck(const Store& store, std::string_view name) {
  const std::string runs = join_path(store.path(), kRunsFolder);
  std::vector<RunFolder> places;
  const auto add = [&](const std::string& path, std::string_view project, std::string_view id) {
    RunFolder run{{}, path, ""};
    run.identity.project = project;
    run.identity.id = id;
    const auto same = [&path](const RunFolder& other) { return other.path == path; };
    if (std::none_of(places.begin(), places.end(), same)) places.push_back(std::move(run));
  };
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    const std::string_view project = name.substr(0, slash), id = name.substr(slash + 1);
    if (!project.empty() && !id.empty())
      add(join_path(join_path(runs, folder_name(project)), folder_name(id)), project, id);
  }
  std::string path = absolute_path(std::string(name));
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (parent_path(parent_path(path)) == runs) add(path, last_name(parent_path(path)), last_name(path));
  const auto projects = list_dir(runs);
  for (const std::string& project : projects.ok() ? *projects : std::vector<std::string>())
    add(join_path(join_path(runs, project), folder_name(name)), project, name);
  std::vector<RunFolder> found;
  for (RunFolder& place : places) {
    const Status status = look_at(place.path);
    if (status.code() == Code::kVersion) return status;
    if (status.ok()) found.push_back(std::move(place));
  }
  if (found.empty()) return Status(Code::kNotFound, fmt::format("no damaged run is called \"{}\"", name));
  if (found.size() > 1)
    return Status(Code::kInvalid, fmt::format("\"{}\" is ambiguous: {}, {}", name, found[0].path, found[1].path),
                  "give project/id or the path");
  take_identity(store, &found.front());
  return std::move(found.front());
}

}  // namespace tracker::internal
