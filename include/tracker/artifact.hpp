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
  uint64_t bytes = 0;    ///< of a reference: as given by its maker, 0 if unknown
  std::string digest;    ///< SHA-256, 64 hex digits; empty: a reference
  std::string uri = {};  ///< of a reference, else empty
  std::string checksum = {};
};

/// A run made a version, or used it.
struct ArtifactUse {
  std::string name;  ///< "project/name:v3"; "project/name@9f86d081ab12" if it is not in this store
  std::string type, digest, use_as;
  std::string run_project, run_id, run_uid;
  std::chrono::microseconds time{0};  ///< since 1970
  bool is_input = false;              ///< used; else made
};

/// Options of Run::log_artifact().
struct ArtifactOptions {
  std::vector<std::string> aliases = {};  ///< names that move to this version; "latest" moves automatically
  std::vector<std::string> tags = {};
  /// gc may remove the version after this time; 0: never. The longest of all calls counts
  std::chrono::seconds ttl{0};
  bool is_input = false;    ///< the run reads it; it did not make it
  std::string use_as = {};  ///< of an input: its role ("train")
};

/// Move-only. Verbs return a code and never throw for it; error() has what the last failed one expected, in one line. A
/// bad path is reported at once: kNotFound, kInvalid (a device, a pipe, a loop of links, a link that leads out of the
/// folder), kExists, kLimit.
class Artifact {
 public:
  /// ok() is false if a name or a type is empty, over 256 bytes or has "/", ":" or "@".
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
  /// A logged artifact is stored all the same.
  ~Artifact() { trk_artifact_free(artifact_); }

  bool ok() const noexcept { return artifact_ != nullptr; }
  Code code() const noexcept { return code_; }  ///< of the last verb
  const std::string& error() const noexcept { return error_; }

  /// `path`: its path in the artifact; empty: the file's name; with "/" at its end: in that folder.
  Code add_file(const std::string& file, const std::string& path = {}) {
    return verb([&](trk_error* what) { return trk_artifact_add_file(artifact_, file.c_str(), path.c_str(), what); });
  }
  /// All files below `folder`, or none. A store below it is omitted, which is reported when the artifact is logged.
  Code add_dir(const std::string& folder, const std::string& path = {}) {
    return verb([&](trk_error* what) { return trk_artifact_add_dir(artifact_, folder.c_str(), path.c_str(), what); });
  }
  /// An entry whose content stays where it is: nothing is read or fetched.
  Code add_reference(const std::string& uri, const std::string& path = {}, const std::string& checksum = {}) {
    return verb([&](trk_error* what) {
      return trk_artifact_add_reference(artifact_, uri.c_str(), path.c_str(), checksum.c_str(), what);
    });
  }
  /// A file or reference, or with "/" at its end everything below it.
  Code remove(const std::string& path) {
    return verb([&](trk_error* what) { return trk_artifact_remove(artifact_, path.c_str(), what); });
  }
  /// Makes an empty file for the caller to write, and returns its path; its content when the artifact is logged becomes
  /// `path` of the artifact. It is in the run's store and is removed when it is stored, or with the artifact, which can
  /// be logged once. Empty: see code(). kExists, kIo; kInvalid for the name of a folder.
  std::string new_file(const Run& run, const std::string& path);
  Code describe(const std::string& description) {
    return verb([&](trk_error*) { return trk_artifact_describe(artifact_, description.c_str()); });
  }
  Code set_metadata(std::string_view key, const Value& value) {
    return verb(
        [&](trk_error*) { return trk_artifact_set_metadata(artifact_, key.data(), key.size(), &value.c_value()); });
  }

  /// Waits until it is stored; returns at once if nothing is recorded. kTimeout: not yet; kBusy: a file has changed;
  /// else why it was refused.
  Code wait(std::chrono::milliseconds timeout = std::chrono::hours(24)) {
    return verb(
        [&](trk_error* what) { return trk_artifact_wait(artifact_, static_cast<int64_t>(timeout.count()), what); });
  }
  /// Writes the files of a version, stored or used, into `folder`, each checked and complete. Empty: a folder of the
  /// store, which is set in `written`; kLimit if the run's max_disk has no room for them there; nothing was written
  /// then.
  Code download(const std::string& folder = {}, std::string* written = nullptr) {
    std::string path(folder.size() + kPathBytes, '\0');
    const Code code = verb([&](trk_error* what) {
      return trk_artifact_download(artifact_, folder.empty() ? nullptr : folder.c_str(), path.data(), path.size(),
                                   what);
    });
    if (written != nullptr) *written = path.c_str();
    return code;
  }

  /// One file of a version, stored or used: written where download() writes without a folder. Returns its path there;
  /// empty: see code(), as of download(); kNotFound: no such file, kInvalid: a reference.
  std::string get_path(const std::string& path) {
    std::string written(kPathBytes, '\0');
    const Code code = verb([&](trk_error* what) {
      return trk_artifact_get_path(artifact_, path.c_str(), written.data(), written.size(), what);
    });
    return code == Code::kOk ? written.c_str() : "";
  }
  /// Checks the files of a version, stored or used; deep: reads every byte. kCorrupt names what is damaged.
  Code verify(bool deep = true) {
    return verb([&](trk_error* what) { return trk_artifact_verify(artifact_, deep ? 1 : 0, what); });
  }
  /// The entries of a version, by path; code() is kOk if the list is complete. Cost: reads its manifest.
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
  /// The runs that made this version, or used it, as far as they are stored: call Run::flush() first for this process's
  /// own. code() is not kOk if a run could not be read; error() names it. Cost: reads every run of the store.
  std::vector<ArtifactUse> logged_by() { return runs(false); }
  std::vector<ArtifactUse> used_by() { return runs(true); }

  int64_t version() const noexcept { return info().version; }  ///< 3 of "v3"; -1: not stored, or not yet
  std::string digest() const { return info().digest; }         ///< of the content, 64 hex digits; empty: not stored
  uint64_t files() const noexcept { return info().files; }
  uint64_t bytes() const noexcept { return info().bytes; }
  /// For functions that only the C ABI has.
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

  // The uses of one kind, collected from `visit`.
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
