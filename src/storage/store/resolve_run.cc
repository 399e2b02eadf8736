// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/shell_word.h"
#include "model/did_you_mean.h"
#include "model/key.h"
#include "storage/store/resolve_run.h"
#include "storage/store/run_folder.h"
#include "storage/store/store.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

constexpr size_t kUidPrefixMin = 6;

std::string run_name(const RunIdentity& run) { return run.project + "/" + run.id; }

Status not_found(const std::string& store, std::string_view name, const std::vector<RunFolder>& all) {
  std::vector<std::string> names;
  const bool with_project = name.find('/') != std::string_view::npos;
  for (const RunFolder& run : all) names.push_back(with_project ? run_name(run.identity) : run.identity.id);
  return Status(Code::kNotFound, fmt::format("no run \"{}\" in {}{}", name, store, did_you_mean(name, names)),
                all.empty() ? "the store has no runs" : "`tracker ls` lists all runs");
}

// By its place: "project/folder".
bool is_at_place(const RunFolder& run, std::string_view name) {
  const std::string& project = run.identity.project;
  const bool in_project = last_name(parent_path(run.path)) == folder_name(project);
  return place_of(run) == name || (in_project && project + "/" + last_name(run.path) == name);
}

// How a user can choose between several, by what distinguishes them.
const char* way_out(const std::vector<RunFolder>& found, bool are_copies) {
  if (are_copies) return "give the place of one of these copies of a run";
  std::set<std::string> names;
  for (const RunFolder& run : found) names.insert(run_name(run.identity));
  return names.size() == found.size() ? "give project/id, or more of it" : "give more of the uid";
}

// Several folders of one run, which a user has copied within its store: takes the one in its own place.
Result<RunFolder> the_only_one(std::string_view name, std::vector<RunFolder> found) {
  const Id128 uid = found.front().identity.uid;
  const bool are_copies =
      std::all_of(found.begin(), found.end(), [&uid](const RunFolder& run) { return run.identity.uid == uid; });
  const auto own = std::find_if(found.begin(), found.end(), is_in_own_place);
  if (found.size() == 1) return std::move(found.front());
  if (are_copies && own != found.end()) return std::move(*own);
  std::string candidates;
  for (size_t i = 0; i < found.size() && i < 5; ++i)
    candidates += fmt::format("\n  {} ({} {})", run_name(found[i].identity), are_copies ? "in" : "uid",
                              are_copies ? place_of(found[i]) : found[i].identity.uid.hex());
  if (found.size() > 5) candidates += fmt::format("\n  and {} more", found.size() - 5);
  return Status(Code::kInvalid,
                fmt::format("\"{}\" is ambiguous; {}:{}", name, way_out(found, are_copies), candidates));
}

// The error that prevents reading the folder of the run with this name; ok if there is no such folder, or no error.
Status unreadable_run(const std::string& folder) {
  const auto run = read_run_folder(folder);
  if (run.ok() || run.status().code() == Code::kVersion) return run.status();
  const auto files = RunFolder{{}, folder, ""}.writer_dbs();
  if (files.empty() && run.status().code() == Code::kNotFound) return {};  // it is being made
  const auto first =
      files.empty() ? Result<std::unique_ptr<WriterReader>>(Status()) : WriterReader::open(files.front());
  const std::string why = !files.empty() && !first.ok() ? "; " + first.status().message() : "";
  if (run.status().code() == Code::kIo) return Status(Code::kIo, run.status().message() + why);
  return Status(
      Code::kCorrupt, run.status().message() + why,
      fmt::format("`tracker verify` says what of the run is intact, `rm -r {}` removes it", shell_word(folder)));
}

// kVersion, kCorrupt or kIo, with the file, if the folder of a run of that name cannot be read; else ok. A project's
// folder that cannot be read may contain any id: checks that of "project/id", or all of them for an id without a
// project.
Status unreadable_run(const std::string& runs, std::string_view name) {
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    const std::string project = join_path(runs, folder_name(name.substr(0, slash)));
    TRACKER_RETURN_IF_ERROR(unreadable_run(join_path(project, folder_name(name.substr(slash + 1)))));
  }
  const bool with_project = name.find('/') != std::string_view::npos;
  const auto projects = list_dir(runs);
  for (const std::string& project : projects.ok() ? *projects : std::vector<std::string>()) {
    const Status status = unreadable_run(join_path(join_path(runs, project), folder_name(name)));
    if (status.code() != Code::kIo || !with_project) TRACKER_RETURN_IF_ERROR(status);
  }
  return {};
}

}  // namespace

Result<RunFolder> resolve_run(const Store& store, std::string_view name, RunNames names, const RunsByName& by_name) {
  // A project or an id may contain "/" itself, so every split is tried.
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1))
    if (auto found = store.find_run(name.substr(0, slash), name.substr(slash + 1))) return std::move(*found);
  const std::vector<RunFolder> all = store.list_runs();
  std::vector<RunFolder> found;
  const auto take = [&all, &found](const auto& is_meant) {
    if (found.empty()) std::copy_if(all.begin(), all.end(), std::back_inserter(found), is_meant);
  };
  // The search by name above does not find a folder that was renamed, or whose run.json is damaged.
  take([name](const RunFolder& run) { return run.identity.id == name || run_name(run.identity) == name; });
  if (name.size() >= kUidPrefixMin)
    take([name](const RunFolder& run) { return run.identity.uid.hex().rfind(name, 0) == 0; });
  if (!found.empty() && std::none_of(found.begin(), found.end(), is_in_own_place)) {
    // Do not use a copy if the original is there and cannot be read.
    const RunIdentity& run = found.front().identity;
    TRACKER_RETURN_IF_ERROR(unreadable_run(store.run_path(run.project, run.id)));
  }
  if (names == RunNames::kAndPlaces) take([name](const RunFolder& run) { return is_at_place(run, name); });
  if (!found.empty()) return the_only_one(name, std::move(found));
  TRACKER_RETURN_IF_ERROR(unreadable_run(join_path(store.path(), kRunsFolder), name));
  if (by_name) found = by_name(name);
  if (by_name && !name.empty())
    take([name](const RunFolder& run) {
      return run.identity.id.starts_with(name) || run_name(run.identity).starts_with(name);
    });
  return found.empty() ? not_found(store.path(), name, all) : the_only_one(name, std::move(found));
}

Result<RunFolder> Store::resolve_run(std::string_view name, RunNames names) const {
  return internal::resolve_run(*this, name, names);
}

}  // namespace tracker::internal
