// SPDX-License-Identifier: MIT
// Storing and reading artifacts. Threads: any, and any number of processes, on the same artifact too; a process that is
// killed at any point leaves a complete version or none, and blobs that gc removes after a day. Cost: reads every file
// that changed since it was last stored; blocks on the disk; at most 64 MiB of memory for files of any size.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/draft.h"
#include "artifact/registry.h"
#include "artifact/snapshot.h"

namespace tracker::internal {

constexpr size_t kManifestMappedBytes = 16u << 20;  // larger manifests are mapped
// With less free space artifacts are refused, and metrics continue: 2 GiB, or 2 % if that is less, on a small disk.
// Limit: bytes of the disk that artifacts and media leave free, or 1/50 of a smaller disk. Beyond it: an error, media
// are dropped and counted; metrics go on.
constexpr uint64_t kArtifactFreeBytesMin = 2ull << 30;
constexpr uint64_t kArtifactFreeShare = 50;

// If storing took longer, all its blobs are checked again before the version gets its name: gc may have removed one.
constexpr std::chrono::seconds kLookAgainAfter{3600};

// Files, and bytes of them, that are done so far.
using ArtifactProgress = std::function<void(uint64_t files, uint64_t bytes)>;

struct StoreArtifactOptions {
  std::vector<std::string> aliases;  // "latest" may be among them and has no effect
  std::vector<std::string> tags;
  // gc may remove the version so long after `now_us`, unless another call that logged this content asked for longer.
  // None, 0: it is kept for ever, whatever was recorded before.
  std::optional<int64_t> ttl_s;
  std::string run;     // uid of the run that logs it; may be empty
  int64_t now_us = 0;  // 0: now
  // 0: kArtifactFreeBytesMin, or kArtifactFreeShare of the disk if that is less; 1: no limit.
  uint64_t free_bytes_min = 0;
  const std::atomic<bool>* cancel = nullptr;
  ArtifactProgress progress;
  // Called before the last bytes are on the disk: the version is about to get its name, with `now_us` as its time.
  std::function<void(const Digest& content, const Digest& manifest, int64_t now_us)> about_to_name;
  std::function<bool()> may_name;  // called when everything is on the disk; false: no version is made, kClosed
  std::function<void()> between_reads_for_testing;
  std::chrono::seconds look_again_after = kLookAgainAfter;
};

struct StoredArtifact {
  ArtifactVersion version;
  bool is_new = false;      // false: a version with this content exists
  uint64_t files_read = 0;  // the others were known by their stamps
  uint64_t bytes_read = 0;
  uint64_t files_cloned = 0;  // of files_read: those that share blocks with the user's file
  uint64_t redacted = 0;      // values of the metadata
};

// Stores everything that the draft names and makes the version, or makes none. Errors of the draft's files by name
// (kBusy: one has changed, or gc removed a blob of it while others were stored for half a day and more), kLimit: not
// enough space, kClosed: cancelled, kIo. After an error gc removes what was stored.
Result<StoredArtifact> store_artifact(const Store& store, std::string_view project, const ArtifactDraft& draft,
                                      const StoreArtifactOptions& options);

// How many bytes the draft's files would add to the store's blobs: an existing content, or one of several files, counts
// once. Stops when that is more than `enough`. Errors as of store_artifact(). Cost: reads the files whose stamps are
// not known; writes only the cache of digests.
Result<uint64_t> new_artifact_bytes(const Store& store, const ArtifactDraft& draft, uint64_t enough,
                                    const std::atomic<bool>* cancel = nullptr);

// A manifest of the store, in memory as long as this object: read, or mapped if it is large and on a local disk.
class StoredManifest {
 public:
  // kNotFound, kCorrupt, kIo. The entries are checked as they are read.
  static Result<StoredManifest> open(const Store& store, const Digest& manifest);
  StoredManifest(StoredManifest&& other) noexcept;
  StoredManifest& operator=(StoredManifest&&) = delete;
  ~StoredManifest();
  std::string_view bytes() const {
    return at_ != nullptr ? std::string_view(static_cast<const char*>(at_), bytes_) : std::string_view(text_);
  }
  // Calls `visit` for each entry in order; an error of `visit` ends it.
  Status visit(const std::function<Status(const ManifestEntry&)>& visit) const;
  // Of the last complete visit.
  const ManifestTotals& totals() const { return totals_; }

 private:
  StoredManifest() = default;
  mutable ManifestTotals totals_;
  std::string text_;
  void* at_ = nullptr;
  size_t bytes_ = 0;
};

struct DownloadReport {
  uint64_t files = 0, bytes = 0;        // written
  uint64_t kept = 0;                    // were there with this content
  std::vector<std::string> references;  // paths of references, which are not stored and were not fetched
};

// Which files: those whose path starts with `prefix`, or a single one, for which the manifest is not read.
struct DownloadChoice {
  std::string_view prefix;
  const ManifestEntry* one = nullptr;  // of that version
};

// The default target of a download: <store>/downloads/<project>/<name>/v3. Users may delete it.
std::string download_folder(const Store& store, const ArtifactInfo& info, const ArtifactVersion& version);

// Writes the files of a version below `root`, which is made. Each is checked against its digest while it is written,
// appears complete, and replaces a file of that path. No link below `root` is followed. kCorrupt names a damaged blob,
// kNotFound a missing one.
Result<DownloadReport> download_artifact(const Store& store, const ArtifactVersion& version, const std::string& root,
                                         const DownloadChoice& choice = {}, const ArtifactProgress& progress = {});
// Bytes on the disk, in whole blocks, that those files would add: a file that exists with its size counts nothing.
Result<uint64_t> new_download_bytes(const Store& store, const ArtifactVersion& version, const std::string& root,
                                    const DownloadChoice& choice = {});
// Below download_folder(). In a read-only store the error has the way out.
Result<DownloadReport> download_into_store(const Store& store, const ArtifactInfo& info, const ArtifactVersion& version,
                                           const DownloadChoice& choice = {});

struct ArtifactFinding {
  std::string path;  // in the artifact, or of a blob
  std::string what;
};
struct ArtifactFindings {
  std::vector<ArtifactFinding> listed;  // at most kFindingsMax
  uint64_t left_out = 0;                // further ones
  bool empty() const { return listed.empty(); }
  uint64_t size() const { return listed.size() + left_out; }
};
// Checks a version's manifest and blobs; `deep` also reads every blob.
Result<ArtifactFindings> verify_artifact(const Store& store, const ArtifactVersion& version, bool deep,
                                         const ArtifactProgress& progress = {});

}  // namespace tracker::internal
