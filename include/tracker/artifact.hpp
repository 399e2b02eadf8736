// SPDX-License-Identifier: MIT
// Artifacts of the C++ API: files, folders and references under a name, stored by content in numbered versions.
// Included by tracker.hpp.
//
//   tracker::Artifact model("model", "model");
//   model.add_file("model.pt");
//   run.log_artifact(model, {.aliases = {"best"}});      // returns at once; a thread of the run reads the file
//   if (model.wait() != tracker::Code::kOk) std::puts(model.error().c_str());
//   run.use_artifact("data:latest").download("./data");
//
// Threads: an Artifact belongs to one thread at a time. Cost: adding is one stat a file; bytes are read after
// log_artifact(), in the background.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "error.hpp"
#include "tracker.h"
#include "value.hpp"

namespace tracker {
inline namespace TRACKER_INLINE_NAMESPACE {

class Run;

/// A file or a reference of a version.
struct ArtifactFile {
  std::string path;
  uint64_t bytes = 0;    ///< of a reference as its maker said, 0 where unknown
  std::string digest;    ///< SHA-256, 64 hex digits; empty: a reference
  std::string uri = {};  ///< of a reference, else empty
  std::string checksum = {};
};

/// That a run made a version, or used it.
struct ArtifactUse {
  std::string name;  ///< "project/name:v3"; "project/name@9f86d081ab12" where it is not in this store
  std::string type, digest, use_as;
  std::string run_project, run_id, run_uid;
  std::chrono::microseconds time{0};  ///< since 1970
  bool is_input = false;              ///< used; else made
};

/// Options of Run::log_artifact().
struct ArtifactOptions {
  std::vector<std::string> aliases = {};  ///< names that move to this version; "latest" moves by itself
  std::vector<std::string> tags = {};
  std::chrono::seconds ttl{0};  ///< the version may go after so long; 0: it stays. The longest of all counts
  bool is_input = false;        ///< the run reads it; it did not make it
  std::string use_as = {};      ///< of an input: the part it plays ("train")
};

/// Move-only. Verbs answer a code and never throw for it; error() says in one line what the last one that failed
/// expected. What the caller names wrongly is said at once: kNotFound, kInvalid (a device, a pipe, a loop of links, a
/// link that leads out of the folder), kExists, kLimit.
class Artifact {
 public:
  /// ok() is false for a name or a type that is empty, over 256 bytes or holds "/", ":" or "@".
  Artifact(const std::string& name, const std::string& type) {
    trk_error what = TRK_ERROR_INIT;
    artifact_ = trk_artifact_new(name.c_str(), type.c_str(), &what);
    if (artifact_ == nullptr) note(static_cast<trk_code>(what.code), what);
  }
  Artifact(Artifact&& other) noexcept { swap(other); }
  Artifact& operator=(Artifact&& other) noexcept {
    if (this != &other) {
      trk_artifact_free(std::exchange(artifact_, nullptr));
      swap(other);
    }
    return *this;
  }
  Artifact(const Artifact&) = delete;
  Artifact& operator=(const Artifact&) = delete;
  /// What was logged is stored all the same.
  ~Artifact() { trk_artifact_free(artifact_); }

  bool ok() const noexcept { return artifact_ != nullptr; }
  Code code() const noexcept { return code_; }  ///< of the last verb
  const std::string& error() const noexcept { return error_; }

  /// `path`: where it stands in the artifact; empty: as it is called; with "/" at its end: in that folder.
  Code add_file(const std::string& file, const std::string& path = {}) {
    return verb([&](trk_error* what) { return trk_artifact_add_file(artifact_, file.c_str(), path.c_str(), what); });
  }
  /// All files below `folder`, or none. A store below it is left out, which is said when the artifact is logged.
  Code add_dir(const std::string& folder, const std::string& path = {}) {
    return verb([&](trk_error* what) { return trk_artifact_add_dir(artifact_, folder.c_str(), path.c_str(), what); });
  }
  /// Something that stays where it is: nothing is read or fetched.
  Code add_reference(const std::string& uri, const std::string& path = {}, const std::string& checksum = {}) {
    return verb([&](trk_error* what) {
      return trk_artifact_add_reference(artifact_, uri.c_str(), path.c_str(), checksum.c_str(), what);
    });
  }
  /// A file or reference, or with "/" at its end all below it.
  Code remove(const std::string& path) {
    return verb([&](trk_error* what) { return trk_artifact_remove(artifact_, path.c_str(), what); });
  }
  /// Makes an empty file for the caller to write, and answers where; what it holds when the artifact is logged becomes
  /// `path` of it. It lies in the run's store and goes when it is stored, or with the artifact, which is logged once.
  /// Empty: code() says why. kExists, kIo; kInvalid for the name of a folder.
  std::string new_file(const Run& run, const std::string& path);
  Code describe(const std::string& description) {
    return verb([&](trk_error*) { return trk_artifact_describe(artifact_, description.c_str()); });
  }
  Code set_metadata(std::string_view key, const Value& value) {
    return verb(
        [&](trk_error*) { return trk_artifact_set_metadata(artifact_, key.data(), key.size(), &value.c_value()); });
  }

  /// Until it is stored, and at once where nothing is recorded. kTimeout: not yet; kBusy: a file has changed; else why
  /// it was refused.
  Code wait(std::chrono::milliseconds timeout = std::chrono::hours(24)) {
    return verb(
        [&](trk_error* what) { return trk_artifact_wait(artifact_, static_cast<int64_t>(timeout.count()), what); });
  }
  /// Writes the files of a version, stored or used, into `folder`, each checked and whole. Empty: a folder of the
  /// store, which `written` says; kLimit where the run's max_disk has no room for them there, and nothing was written.
  Code download(const std::string& folder = {}, std::string* written = nullptr) {
    std::string path(folder.size() + kPathBytes, '\0');
    const Code code = verb([&](trk_error* what) {
      return trk_artifact_download(artifact_, folder.empty() ? nullptr : folder.c_str(), path.data(), path.size(),
                                   what);
    });
    if (written != nullptr) *written = path.c_str();
    return code;
  }

  /// One file of a version, stored or used: written where download() writes without a folder. Answers its name there;
  /// empty: code() says why, as of download(); kNotFound: no such file, kInvalid: a reference.
  std::string get_path(const std::string& path) {
    std::string written(kPathBytes, '\0');
    const Code code = verb([&](trk_error* what) {
      return trk_artifact_get_path(artifact_, path.c_str(), written.data(), written.size(), what);
    });
    return code == Code::kOk ? written.c_str() : "";
  }
  /// Holds a version, stored or used, against its files; deep: every byte is read. kCorrupt names what is damaged.
  Code verify(bool deep = true) {
    return verb([&](trk_error* what) { return trk_artifact_verify(artifact_, deep ? 1 : 0, what); });
  }
  /// What a version holds, by path; code() says whether that is all. Cost: reads its manifest.
  std::vector<ArtifactFile> list_files() {
    std::vector<ArtifactFile> out;
    const auto take = [](const trk_artifact_file* file, void* all) {
      static_cast<std::vector<ArtifactFile>*>(all)->push_back(
          {file->path, file->bytes, file->digest, file->uri, file->checksum});
      return int32_t{0};
    };
    (void)verb([&](trk_error* what) { return trk_artifact_visit_files(artifact_, take, &out, what); });
    return out;
  }
  /// The runs that made this version, or used it, as far as they are stored: Run::flush() first where this process did
  /// it. code() is not kOk where a run could not be read, which error() names. Cost: a look at every run of the store.
  std::vector<ArtifactUse> logged_by() { return runs(false); }
  std::vector<ArtifactUse> used_by() { return runs(true); }

  int64_t version() const noexcept { return info().version; }  ///< 3 of "v3"; -1: not stored, or not yet
  std::string digest() const { return info().digest; }         ///< of the content, 64 hex digits; empty: not stored
  uint64_t files() const noexcept { return info().files; }
  uint64_t bytes() const noexcept { return info().bytes; }
  /// For what only the C ABI has.
  trk_artifact* c_artifact() const noexcept { return artifact_; }

 private:
  friend class Run;
  Artifact() noexcept = default;

  template <typename Verb>
  Code verb(const Verb& call) {
    trk_error what = TRK_ERROR_INIT;
    return note(call(&what), what);
  }
  Code note(trk_code code, const trk_error& what) {
    code_ = static_cast<Code>(code);
    error_ = code == TRK_OK ? "" : what.message[0] != 0 ? what.message : to_string(code_);
    return code_;
  }
  static constexpr size_t kPathBytes = 8192;

  // The uses of one kind that `visit` shows.
  template <typename Visit>
  static std::vector<ArtifactUse> uses(bool inputs, const Visit& visit) {
    struct Taken {
      bool inputs;
      std::vector<ArtifactUse> all;
    } taken{inputs, {}};
    const auto take = [](const trk_artifact_use* use, void* context) {
      auto* into = static_cast<Taken*>(context);
      if ((use->is_input != 0) == into->inputs)
        into->all.push_back({use->name, use->type, use->digest, use->use_as, use->run_project, use->run_id,
                             use->run_uid, std::chrono::microseconds(use->time_us), use->is_input != 0});
      return int32_t{0};
    };
    visit(+take, &taken);
    return std::move(taken.all);
  }
  std::vector<ArtifactUse> runs(bool inputs) {
    return uses(inputs, [this](trk_artifact_use_visitor take, void* taken) {
      (void)verb([&](trk_error* what) { return trk_artifact_visit_runs(artifact_, take, taken, what); });
    });
  }
  trk_artifact_info info() const noexcept {
    trk_artifact_info out = TRK_ARTIFACT_INFO_INIT;
    (void)trk_artifact_get_info(artifact_, &out);
    return out;
  }
  void swap(Artifact& other) noexcept {
    std::swap(artifact_, other.artifact_);
    std::swap(code_, other.code_);
    error_.swap(other.error_);
  }

  trk_artifact* artifact_ = nullptr;
  Code code_ = Code::kOk;
  std::string error_;
};

}  // namespace TRACKER_INLINE_NAMESPACE
}  // namespace tracker
