// SPDX-License-Identifier: MIT
// The C ABI: making, logging and using artifacts.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "artifact/reference.h"
#include "base/fs.h"
#include "capi/capi_artifact.h"
#include "capi/capi_run.h"
#include "run/services/artifacts.h"

using tracker::internal::ArtifactDraft;
using tracker::internal::capi_error;
using tracker::internal::capi_room;
using tracker::internal::capi_text;
using tracker::internal::Code;
using tracker::internal::join_path;
using tracker::internal::LogArtifactOptions;
using tracker::internal::NewFile;
using tracker::internal::Result;
using tracker::internal::Run;
using tracker::internal::run_of_handle;
using tracker::internal::Status;
using tracker::internal::stored_version;
using tracker::internal::Value;

namespace {

constexpr int64_t kDayMs = 86'400'000;

std::chrono::milliseconds timeout_of(int64_t ms) {
  return std::chrono::milliseconds(std::clamp<int64_t>(ms, 0, kDayMs));
}

std::string text_of(const char* text) { return std::string(capi_text(text)); }

Status out_of_memory(const std::exception& failure) { return Status(Code::kLimit, failure.what()); }

// Changes an artifact that the caller is making.
template <typename F>
trk_code change(trk_artifact* artifact, trk_error* error, const F& verb) noexcept {
  try {
    if (artifact == nullptr) return capi_error(error, Status(Code::kInvalid, "artifact is NULL"));
    if (!artifact->draft) return capi_error(error, Status(Code::kInvalid, "a version that is stored does not change"));
    return capi_error(error, verb(*artifact->draft));
  } catch (const std::exception& failure) {
    return capi_error(error, out_of_memory(failure));
  }
}

LogArtifactOptions options_of(const trk_artifact_options& in) {
  LogArtifactOptions out;
  for (size_t i = 0; in.aliases != nullptr && i < in.alias_count; ++i) out.aliases.push_back(text_of(in.aliases[i]));
  for (size_t i = 0; in.tags != nullptr && i < in.tag_count; ++i) out.tags.push_back(text_of(in.tags[i]));
  if (in.ttl_s != 0) out.ttl_s = in.ttl_s;
  if (in.is_input != 0) out.use = tracker::internal::ArtifactUse::kInput;
  out.use_as = text_of(in.use_as);
  return out;
}

Status download(const trk_artifact& artifact, const char* folder, char* written, size_t written_size) {
  const auto stored = stored_version(artifact);
  if (!stored.ok()) return stored.status();
  const auto& [store, info, version] = *stored;
  const std::string root = folder != nullptr ? folder : tracker::internal::download_folder(store, info, version);
  if (written != nullptr) TRACKER_RETURN_IF_ERROR(capi_room("written", root, written_size));
  const auto report = folder != nullptr
                          ? tracker::internal::download_artifact(store, version, root)
                          : tracker::internal::download_into_bounded_store(store, info, version, {}, artifact.max_disk);
  if (!report.ok()) return report.status();
  if (written != nullptr) std::memcpy(written, root.c_str(), root.size() + 1);
  return {};
}

// If there is no store to write to: a temporary folder.
Result<std::string> make_temporary() {
  const char* above = ::getenv("TMPDIR");
  std::string folder = join_path(above != nullptr && above[0] == '/' ? above : "/tmp", "tracker-XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) return Status::from_errno(errno, "mkdtemp", folder);
  return folder;
}

// Removes those that will not be stored: the thread that stores an artifact removes its own, and reads them until then.
void remove_new_files(const trk_artifact& artifact) {
  if (artifact.staging.empty() || artifact.staged_by != ::getpid()) return;
  if (artifact.gave_files && artifact.logged->state() == tracker::internal::ArtifactState::kPending) return;
  tracker::internal::remove_staging(artifact.staging);
}

// The draft with the new files as they are now.
Result<ArtifactDraft> whole_draft(const trk_artifact& artifact, const ArtifactDraft& draft) {
  ArtifactDraft out = draft;
  for (const NewFile& file : artifact.new_files) TRACKER_RETURN_IF_ERROR(out.add_file(file.file, file.path));
  return out;
}

Status remove(trk_artifact* artifact, ArtifactDraft* draft, std::string_view path) {
  const bool folder = !path.empty() && path.back() == '/';
  const auto taken = std::remove_if(artifact->new_files.begin(), artifact->new_files.end(), [&](const NewFile& file) {
    const bool is_it = folder ? file.path.compare(0, path.size(), path) == 0 : file.path == path;
    if (is_it) (void)tracker::internal::remove_file(file.file);
    return is_it;
  });
  if (taken == artifact->new_files.end()) return draft->remove(path);
  artifact->new_files.erase(taken, artifact->new_files.end());
  if (folder) (void)draft->remove(path);  // there may be none besides them
  return {};
}

// The path of a new file, by the rules for an added file; nothing is added.
Status check_new_path(const trk_artifact& artifact, ArtifactDraft* draft, const std::string& path) {
  if (path.empty() || path.back() == '/')
    return Status(Code::kInvalid, "path: \"" + path + "\" is the name of no file");
  for (const NewFile& file : artifact.new_files)
    if (file.path == path) return Status(Code::kExists, "\"" + path + "\" is in the artifact already");
  TRACKER_RETURN_IF_ERROR(draft->add_reference("file:", path));
  return draft->remove(path);
}

Status new_file(const Run& run, trk_artifact* artifact, ArtifactDraft* draft, const std::string& path, char* file,
                size_t file_size) {
  if (artifact->gave_files)
    return Status(Code::kInvalid, "the artifact has new files and was logged: make another one");
  TRACKER_RETURN_IF_ERROR(check_new_path(*artifact, draft, path));
  if (artifact->staging.empty()) {
    auto folder =
        run.recording() ? tracker::internal::make_staging(run.store_path(), &artifact->held) : make_temporary();
    if (!folder.ok()) return folder.status();
    artifact->staging = std::move(*folder);
    artifact->staged_by = ::getpid();
  }
  const std::string where = join_path(artifact->staging, "file-" + std::to_string(artifact->next_file));
  if (file == nullptr) file_size = 0;
  TRACKER_RETURN_IF_ERROR(capi_room("file", where, file_size));
  const auto made = tracker::internal::open_file(where, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!made.ok()) return made.status();
  ++artifact->next_file;
  artifact->new_files.push_back({path, where});
  std::memcpy(file, where.c_str(), where.size() + 1);
  return {};
}

}  // namespace

extern "C" {

trk_artifact* trk_artifact_new(const char* name, const char* type, trk_error* error) noexcept {
  try {
    auto draft = ArtifactDraft::make(capi_text(name), capi_text(type));
    if (!draft.ok()) {
      capi_error(error, draft.status());
      return nullptr;
    }
    auto out = std::make_unique<trk_artifact>();
    out->draft = std::move(*draft);
    return out.release();
  } catch (const std::exception& failure) {
    capi_error(error, out_of_memory(failure));
    return nullptr;
  }
}

trk_code trk_artifact_add_file(trk_artifact* artifact, const char* file, const char* path, trk_error* error) noexcept {
  return change(artifact, error, [&](ArtifactDraft& draft) { return draft.add_file(text_of(file), capi_text(path)); });
}

trk_code trk_artifact_add_dir(trk_artifact* artifact, const char* folder, const char* path, trk_error* error) noexcept {
  return change(artifact, error,
                [&](ArtifactDraft& draft) { return draft.add_folder(text_of(folder), capi_text(path)); });
}

trk_code trk_artifact_add_reference(trk_artifact* artifact, const char* uri, const char* path, const char* checksum,
                                    trk_error* error) noexcept {
  return change(artifact, error, [&](ArtifactDraft& draft) {
    return draft.add_reference(capi_text(uri), capi_text(path), capi_text(checksum));
  });
}

trk_code trk_artifact_remove(trk_artifact* artifact, const char* path, trk_error* error) noexcept {
  return change(artifact, error, [&](ArtifactDraft& draft) { return remove(artifact, &draft, capi_text(path)); });
}

trk_code trk_artifact_new_file(trk_run* run, trk_artifact* artifact, const char* path, char* file, size_t file_size,
                               trk_error* error) noexcept {
  if (run == nullptr) return capi_error(error, Status(Code::kInvalid, "run is NULL"));
  return change(artifact, error, [&](ArtifactDraft& draft) {
    return new_file(run_of_handle(run), artifact, &draft, text_of(path), file, file_size);
  });
}

trk_code trk_artifact_describe(trk_artifact* artifact, const char* description) noexcept {
  return change(artifact, nullptr, [&](ArtifactDraft& draft) {
    draft.description = text_of(description);
    return Status();
  });
}

trk_code trk_artifact_set_metadata(trk_artifact* artifact, const char* key, size_t key_size,
                                   const trk_value* value) noexcept {
  return change(artifact, nullptr, [&](ArtifactDraft& draft) {
    Value converted;
    const std::string_view name = capi_text(key, key_size);
    if (name.empty() || !tracker::internal::capi_value(value, &converted))
      return Status(Code::kInvalid, "key or value");
    draft.metadata.set_path(name, std::move(converted));
    return Status();
  });
}

trk_code trk_log_artifact(trk_run* run, trk_artifact* artifact, const trk_artifact_options* options,
                          trk_error* error) noexcept {
  if (run == nullptr) return capi_error(error, Status(Code::kInvalid, "run is NULL"));
  trk_artifact_options given = TRK_ARTIFACT_OPTIONS_INIT;
  if (options != nullptr) {
    if (options->size < sizeof(size_t))
      return capi_error(error, Status(Code::kInvalid, "begin with TRK_ARTIFACT_OPTIONS_INIT"));
    std::memcpy(&given, options, std::min(options->size, sizeof given));
  }
  return change(artifact, error, [&](const ArtifactDraft& draft) {
    if (artifact->gave_files)
      return Status(Code::kInvalid, "the artifact has new files and was logged: make another one");
    auto whole = whole_draft(*artifact, draft);
    if (!whole.ok()) return whole.status();
    LogArtifactOptions how = options_of(given);
    how.staging = artifact->staging;
    how.held = artifact->held;
    auto logged = run_of_handle(run).log_artifact(std::move(*whole), std::move(how));
    if (!logged.ok()) return logged.status();
    artifact->gave_files = !artifact->new_files.empty();
    artifact->logged = std::move(*logged);
    artifact->store_path = run_of_handle(run).store_path();
    artifact->max_disk = run_of_handle(run).max_disk();
    return Status();
  });
}

trk_code trk_artifact_wait(trk_artifact* artifact, int64_t timeout_ms, trk_error* error) noexcept {
  try {
    if (artifact == nullptr) return capi_error(error, Status(Code::kInvalid, "artifact is NULL"));
    if (artifact->found) return TRK_OK;
    if (!artifact->logged) return capi_error(error, Status(Code::kInvalid, "the artifact was not logged"));
    return capi_error(error, artifact->logged->wait(timeout_of(timeout_ms)));
  } catch (const std::exception& failure) {
    return capi_error(error, out_of_memory(failure));
  }
}

trk_code trk_wait_artifacts(trk_run* run, int64_t timeout_ms) noexcept {
  try {
    if (run == nullptr) return TRK_INVALID;
    return capi_error(nullptr, run_of_handle(run).wait_artifacts(timeout_of(timeout_ms)));
  } catch (const std::exception&) {
    return TRK_LIMIT;
  }
}

trk_artifact* trk_use_artifact(trk_run* run, const char* name, const char* use_as, trk_error* error) noexcept {
  try {
    if (run == nullptr) {
      capi_error(error, Status(Code::kInvalid, "run is NULL"));
      return nullptr;
    }
    auto found = run_of_handle(run).use_artifact(capi_text(name), capi_text(use_as));
    if (!found.ok()) {
      capi_error(error, found.status());
      return nullptr;
    }
    auto out = std::make_unique<trk_artifact>();
    out->found = std::move(*found);
    out->store_path = run_of_handle(run).store_path();
    out->max_disk = run_of_handle(run).max_disk();
    return out.release();
  } catch (const std::exception& failure) {
    capi_error(error, out_of_memory(failure));
    return nullptr;
  }
}

trk_code trk_artifact_download(trk_artifact* artifact, const char* folder, char* written, size_t written_size,
                               trk_error* error) noexcept {
  try {
    if (artifact == nullptr) return capi_error(error, Status(Code::kInvalid, "artifact is NULL"));
    return capi_error(error, download(*artifact, folder, written, written_size));
  } catch (const std::exception& failure) {
    return capi_error(error, out_of_memory(failure));
  }
}

trk_code trk_artifact_get_info(const trk_artifact* artifact, trk_artifact_info* out) noexcept {
  if (artifact == nullptr || out == nullptr || out->size < sizeof(size_t)) return TRK_INVALID;
  try {
    trk_artifact_info info;
    std::memset(&info, 0, sizeof info);
    info.size = std::min(out->size, sizeof info);
    info.version = -1;
    if (const auto version = artifact->version()) {
      info.version = version->number;
      info.files = version->files + version->references;
      info.bytes = version->bytes;
      const std::string digest = version->content.hex();
      std::memcpy(info.digest, digest.c_str(), digest.size() + 1);
    } else if (artifact->draft) {
      info.files = artifact->draft->files() + artifact->new_files.size();
      info.bytes = artifact->draft->bytes();
    }
    std::memcpy(out, &info, info.size);
    return TRK_OK;
  } catch (const std::exception&) {
    return TRK_LIMIT;
  }
}

void trk_artifact_free(trk_artifact* artifact) noexcept {
  if (artifact == nullptr) return;
  try {
    remove_new_files(*artifact);
  } catch (const std::exception&) {}  // no memory: `tracker gc` takes them
  delete artifact;
}

}  // extern "C"
