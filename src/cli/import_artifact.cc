// SPDX-License-Identifier: MIT
#include "cli/import_artifact.h"

#include <fmt/format.h>

#include <algorithm>

#include "artifact/lineage.h"
#include "model/key.h"

namespace tracker::internal {
namespace {

// "<run>-<name>" without what divides names from versions; where that is none, two ids take its place.
std::string name_of(const RunIdentity& run, const std::string& name) {
  std::string id = run.id, end = "-" + name;
  for (std::string* part : {&id, &end})
    for (char& c : *part)
      if (c == '/' || c == ':' || c == '@') c = '_';
  while (!id.empty() && id.size() + end.size() > kLabelBytesMax) id.pop_back();
  while (!id.empty() && !is_utf8(id)) id.pop_back();
  const std::string out = id + end;
  return check_artifact_name(out).ok() ? out : fmt::format("{}-{}", run.uid.hex(), Id128::hash_of(name).hex());
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
  edge.name = name_of(identity, files.name);
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
