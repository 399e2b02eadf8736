// SPDX-License-Identifier: MIT
#include "cli/commands/import_artifact.h"

#include <fmt/format.h>

#include <algorithm>

#include "artifact/lineage.h"
#include "artifact/registry.h"
#include "model/key.h"

namespace tracker::internal {
namespace {

constexpr size_t kRunDigits = 8;

// Whether versions of the run go there: nothing has the name, or what has it is of this run and this type.
bool is_of_run(const Store& store, const RunImport& run, const std::string& name, const std::string& type) {
  const RunIdentity& identity = run.so_far().run;
  const auto info = ArtifactRegistry(store).read(identity.project, name);
  if (!info.ok()) return info.status().code() == Code::kNotFound || run.made_artifact(name);
  if (info->type != type) return false;
  const auto made = [&](const ArtifactVersion& version) { return version.run == identity.uid.hex(); };
  const bool is_empty = info->versions.empty() && info->problems.empty();
  return is_empty || run.made_artifact(name) || std::any_of(info->versions.begin(), info->versions.end(), made);
}

// "<run>-<name>" without what divides names from versions, and with digits of the run's uid where that is no longer the
// run's own name or what another one made; else two ids. One run's artifact has the same name at each import.
std::string name_of(const Store& store, const RunImport& run, const std::string& name, const std::string& type) {
  const RunIdentity& identity = run.so_far().run;
  std::string id = identity.id, end = "-" + name;
  for (std::string* part : {&id, &end})
    for (char& c : *part)
      if (c == '/' || c == ':' || c == '@') c = '_';
  const bool is_own = id + end == identity.id + "-" + name && check_artifact_name(id + end).ok();
  if (is_own && is_of_run(store, run, id + end, type)) return id + end;
  end += "-" + identity.uid.hex().substr(0, kRunDigits);
  while (!id.empty() && id.size() + end.size() > kLabelBytesMax) id.pop_back();
  while (!id.empty() && !is_utf8(id)) id.pop_back();
  if (check_artifact_name(id + end).ok() && is_of_run(store, run, id + end, type)) return id + end;
  return fmt::format("{}-{}", identity.uid.hex(), Id128::hash_of(name + "\n" + type).hex());
}

Result<StoredArtifact> store_files(const Store& store, const RunIdentity& run, const ImportedFiles& files,
                                   const std::string& name, const ArtifactProgress& progress) {
  auto draft = ArtifactDraft::make(name, files.type);
  if (!draft.ok()) return draft.status();
  TRACKER_RETURN_IF_ERROR(draft->add_files_below(files.folder, files.paths));
  StoreArtifactOptions options;
  options.run = run.uid.hex();
  options.now_us = files.time_us;
  options.progress = progress;
  return store_artifact(store, run.project, *draft, options);
}

}  // namespace

Status import_artifact(ImportStore* store, RunImport* run, ImportedFiles files, const std::string& left_out,
                       const ArtifactProgress& progress) {
  const auto odd = std::erase_if(files.paths, [](const auto& path) { return !check_artifact_path(path).ok(); });
  if (odd > 0) run->leave_out(left_out, odd);
  if (files.paths.empty()) return {};
  const RunIdentity identity = run->so_far().run;
  LineageEdge edge;
  edge.project = identity.project;
  edge.name = name_of(store->store(), *run, files.name, files.type);
  edge.type = files.type;
  const auto stored = store_files(store->store(), identity, files, edge.name, progress);
  if (!stored.ok()) {
    const Code code = stored.status().code();
    store->report().add_problem(
        code == Code::kCorrupt || code == Code::kVersion ? code : Code::kIo,  // nothing is damaged
        fmt::format("the artifact {}/{} was left out, and comes with the next import that can store it: {}",
                    edge.project, edge.name, stored.status().to_string()));
    return {};
  }
  edge.number = stored->version.number;
  edge.content = stored->version.content;
  edge.manifest = stored->version.manifest;
  edge.aliases = stored->version.aliases;
  if (stored->is_new) store->report().artifacts.push_back(edge.version_name());
  return run->artifact(artifact_event(edge), files.time_us);
}

}  // namespace tracker::internal
