// SPDX-License-Identifier: MIT
// The C ABI: reading a stored artifact, and which runs made and used it.
#include "artifact/lineage.h"
#include "base/fs.h"
#include "capi/capi_artifact.h"
#include "capi/capi_run.h"
#include "storage/store/run_folder.h"

using tracker::internal::ArtifactUse;
using tracker::internal::capi_error;
using tracker::internal::Code;
using tracker::internal::LineageEdge;
using tracker::internal::ManifestEntry;
using tracker::internal::Status;
using tracker::internal::Store;
using tracker::internal::stored_version;

std::optional<tracker::internal::ArtifactVersion> trk_artifact::version() const {
  if (found) return found->version;
  return logged ? logged->version() : std::nullopt;
}

namespace tracker::internal {

Result<StoredVersionOfApi> stored_version(const trk_artifact& artifact) {
  const auto version = artifact.version();
  if (!version) return Status(Code::kInvalid, "the artifact is not stored", "trk_artifact_wait says why");
  auto store = Store::open(artifact.store_path);
  if (!store.ok()) return store.status();
  ArtifactInfo info;
  info.project = artifact.found ? artifact.found->info.project : artifact.logged->project;
  info.name = artifact.found ? artifact.found->info.name : artifact.logged->name;
  return StoredVersionOfApi{std::move(*store), std::move(info), *version};
}

Status capi_room(std::string_view argument, const std::string& text, size_t bytes) {
  if (text.size() < bytes) return {};
  return Status(Code::kInvalid,
                std::string(argument) + ": the path needs " + std::to_string(text.size() + 1) + " bytes");
}

}  // namespace tracker::internal

namespace {

constexpr std::string_view kEnough = "the visitor has seen enough";

template <typename F>
trk_code answer(const void* handle, trk_error* error, const F& verb) noexcept {
  try {
    if (handle == nullptr) return capi_error(error, Status(Code::kInvalid, "a NULL was given"));
    return capi_error(error, verb());
  } catch (const std::exception& failure) {
    return capi_error(error, Status(Code::kLimit, failure.what()));
  }
}

Status visit_files(const trk_artifact& artifact, trk_artifact_file_visitor visitor, void* context) {
  const auto stored = stored_version(artifact);
  if (!stored.ok()) return stored.status();
  const auto manifest = tracker::internal::StoredManifest::open(stored->store, stored->version.manifest);
  if (!manifest.ok()) return manifest.status();
  bool enough = false;
  const Status status = manifest->visit([&](const ManifestEntry& entry) {
    const bool is_file = entry.kind == tracker::internal::EntryKind::kFile;
    const std::string digest = is_file ? entry.digest.hex() : "";
    const trk_artifact_file file{sizeof file,    entry.path.c_str(), entry.bytes,
                                 digest.c_str(), entry.uri.c_str(),  entry.checksum.c_str()};
    enough = visitor(&file, context) != 0;
    return enough ? Status(Code::kClosed, std::string(kEnough)) : Status();
  });
  return enough ? Status() : status;
}

Status get_path(trk_artifact& artifact, const std::string& path, char* written, size_t written_size) {
  const auto stored = stored_version(artifact);
  if (!stored.ok()) return stored.status();
  const auto& [store, info, version] = *stored;
  if (artifact.index == nullptr || artifact.index->manifest() != version.manifest) {
    auto made = tracker::internal::ManifestIndex::build(store, version.manifest);
    if (!made.ok()) return made.status();
    artifact.index = std::make_unique<const tracker::internal::ManifestIndex>(std::move(*made));
  }
  const auto looked_up = artifact.index->find(store, path);
  if (!looked_up.ok()) return looked_up.status();
  const std::optional<ManifestEntry>& found = *looked_up;
  if (!found) return Status(Code::kNotFound, "the artifact has no file \"" + path + "\"");
  if (found->kind != tracker::internal::EntryKind::kFile)
    return Status(Code::kInvalid, "\"" + path + "\" is a reference to " + found->uri + ": it is not in the store");
  const std::string file = tracker::internal::join_path(tracker::internal::download_folder(store, info, version), path);
  TRACKER_RETURN_IF_ERROR(tracker::internal::capi_room("written", file, written == nullptr ? 0 : written_size));
  const auto report =
      tracker::internal::download_into_bounded_store(store, info, version, {{}, &*found}, artifact.max_disk);
  if (!report.ok()) return report.status();
  file.copy(written, file.size());
  written[file.size()] = 0;
  return {};
}

Status verify(const trk_artifact& artifact, bool deep) {
  const auto stored = stored_version(artifact);
  if (!stored.ok()) return stored.status();
  const auto findings = tracker::internal::verify_artifact(stored->store, stored->version, deep);
  if (!findings.ok()) return findings.status();
  if (findings->empty()) return {};
  const auto& first = findings->listed.front();
  const std::string more = findings->size() > 1 ? " (and " + std::to_string(findings->size() - 1) + " more)" : "";
  return Status(Code::kCorrupt, first.path + ": " + first.what + more);
}

// False: the visitor has seen enough.
bool show(const LineageEdge& edge, const std::string& name, trk_artifact_use_visitor visitor, void* context) {
  const std::string digest = edge.content.hex(), uid = edge.run.uid.hex();
  trk_artifact_use use{};
  use.size = sizeof use;
  use.name = name.c_str();
  use.type = edge.type.c_str();
  use.digest = digest.c_str();
  use.use_as = edge.use_as.c_str();
  use.run_project = edge.run.project.c_str();
  use.run_id = edge.run.id.c_str();
  use.run_uid = uid.c_str();
  use.time_us = edge.time_us;
  use.is_input = edge.use == ArtifactUse::kInput ? 1 : 0;
  return visitor(&use, context) == 0;
}

Status visit_artifacts(const tracker::internal::Run& run, trk_artifact_use_visitor visitor, void* context) {
  if (!run.recording()) return {};
  const auto store = Store::open(run.store_path());
  if (!store.ok()) return store.status();
  const auto folder = tracker::internal::read_run_folder(run.dir());
  if (!folder.ok()) return folder.status();
  std::vector<Status> problems;
  tracker::internal::VersionNumbers numbers(*store);
  for (const LineageEdge& edge : tracker::internal::edges_of_run(*folder, &problems))
    if (!show(edge, numbers.name_of(edge.version(), edge.number), visitor, context)) return {};
  return problems.empty() ? Status() : problems.front();
}

Status visit_runs(const trk_artifact& artifact, trk_artifact_use_visitor visitor, void* context) {
  const auto stored = stored_version(artifact);
  if (!stored.ok()) return stored.status();
  const auto& [store, info, version] = *stored;
  const tracker::internal::Lineage lineage = tracker::internal::read_lineage(store);
  for (const ArtifactUse use : {ArtifactUse::kOutput, ArtifactUse::kInput})
    for (const LineageEdge& edge :
         tracker::internal::edges_of_version(lineage, {info.project, info.name, version.content}, use)) {
      const std::string name = info.project + "/" + info.name + ":v" + std::to_string(version.number);
      if (!show(edge, name, visitor, context)) return {};
    }
  if (!lineage.problems.empty()) return lineage.problems.front();
  if (!lineage.cut) return {};
  return Status(Code::kLimit, "only the first " + std::to_string(tracker::internal::kLineageEdgesMax) +
                                  " uses of the store were examined");
}

}  // namespace

extern "C" {

trk_code trk_artifact_visit_files(trk_artifact* artifact, trk_artifact_file_visitor visitor, void* context,
                                  trk_error* error) noexcept {
  if (visitor == nullptr) artifact = nullptr;
  return answer(artifact, error, [&] { return visit_files(*artifact, visitor, context); });
}

trk_code trk_artifact_get_path(trk_artifact* artifact, const char* path, char* written, size_t written_size,
                               trk_error* error) noexcept {
  return answer(artifact, error, [&] {
    return get_path(*artifact, std::string(tracker::internal::capi_text(path)), written, written_size);
  });
}

trk_code trk_artifact_verify(trk_artifact* artifact, int32_t deep, trk_error* error) noexcept {
  return answer(artifact, error, [&] { return verify(*artifact, deep != 0); });
}

trk_code trk_run_visit_artifacts(trk_run* run, trk_artifact_use_visitor visitor, void* context,
                                 trk_error* error) noexcept {
  if (visitor == nullptr) run = nullptr;
  return answer(run, error, [&] { return visit_artifacts(tracker::internal::run_of_handle(run), visitor, context); });
}

trk_code trk_artifact_visit_runs(trk_artifact* artifact, trk_artifact_use_visitor visitor, void* context,
                                 trk_error* error) noexcept {
  if (visitor == nullptr) artifact = nullptr;
  return answer(artifact, error, [&] { return visit_runs(*artifact, visitor, context); });
}

}  // extern "C"
