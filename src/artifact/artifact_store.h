// SPDX-License-Identifier: MIT
// Artifacts go into a store and come out of it. Threads: any, and any number of processes, on the same artifact too; a
// process that is killed at any point leaves a whole version or none, and blobs that gc takes after a day. Cost: reads
// every file that changed since it was last stored; blocks on the disk; at most 64 MiB of memory for files of any size.
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

constexpr size_t kManifestMappedBytes = 16u << 20;  // from here on it is mapped
// Below this much room artifacts are refused, and metrics go on: 2 GiB, or 2 % where that is less of a small disk.
// Limit: bytes of the disk that artifacts and media leave free, or 1/50 of a smaller disk. Beyond it: an error, media
// are dropped and counted; metrics go on.
constexpr uint64_t kArtifactFreeBytesMin = 2ull << 30;
constexpr uint64_t kArtifactFreeShare = 50;

// What takes longer looks at all its blobs again before it names the version: gc may have taken one in between.
constexpr std::chrono::seconds kLookAgainAfter{3600};

// Files and bytes of them that are done so far.
using ArtifactProgress = std::function<void(uint64_t files, uint64_t bytes)>;

struct StoreArtifactOptions {
  std::vector<std::string> aliases;  // "latest" may stand among them and says nothing
  std::vector<std::string> tags;
  // The version may go so long after `now_us`, unless another call that logged this content wants it longer. None, 0:
  // it stays for ever, whatever was said before.
  std::optional<int64_t> ttl_s;
  std::string run;     // uid of the run that logs it; may be empty
  int64_t now_us = 0;  // 0: now
  // 0: kArtifactFreeBytesMin, or kArtifactFreeShare of the disk where that is less; 1: no bound.
  uint64_t free_bytes_min = 0;
  const std::atomic<bool>* cancel = nullptr;
  ArtifactProgress progress;
  // Called before the last bytes are on the disk: the version is about to be named, with `now_us` as the time it was
  // made.
  std::function<void(const Digest& content, const Digest& manifest, int64_t now_us)> about_to_name;
  std::function<bool()> may_name;  // asked when all is on the disk; false: no version is made of it, kClosed
  std::function<void()> between_reads_for_testing;
  std::chrono::seconds look_again_after = kLookAgainAfter;
};

struct StoredArtifact {
  ArtifactVersion version;
  bool is_new = false;      // false: a version with this content was there
  uint64_t files_read = 0;  // the others were known by their stamps
  uint64_t bytes_read = 0;
  uint64_t files_cloned = 0;  // of files_read: share their blocks with the user's file
  uint64_t redacted = 0;      // values of the metadata
};

// The version that holds what the draft names: all of it, or none is made. Errors of the draft's files by name (kBusy:
// one has changed, or gc took a blob of it while others were stored for half a day and more), kLimit: not enough room,
// kClosed: cancelled, kIo. What was stored of it until then is removed by gc.
Result<StoredArtifact> store_artifact(const Store& store, std::string_view project, const ArtifactDraft& draft,
                                      const StoreArtifactOptions& options);

// What storing the draft's files would add to the store's blobs: a content that is there, or that several files have,
// counts once. Stops where that is more than `enough`. Errors as of store_artifact(). Cost: reads the files whose
// content is not known by their stamps; writes nothing but the cache of digests.
Result<uint64_t> new_artifact_bytes(const Store& store, const ArtifactDraft& draft, uint64_t enough,
                                    const std::atomic<bool>* cancel = nullptr);

// A manifest in the store, in memory for as long as this lives: read, or where it is large and on a local disk mapped.
class StoredManifest {
 public:
  // kNotFound, kCorrupt, kIo. Its entries are checked as they are read.
  static Result<StoredManifest> open(const Store& store, const Digest& manifest);
  StoredManifest(StoredManifest&& other) noexcept;
  StoredManifest& operator=(StoredManifest&&) = delete;
  ~StoredManifest();
  std::string_view bytes() const {
    return at_ != nullptr ? std::string_view(static_cast<const char*>(at_), bytes_) : std::string_view(text_);
  }
  // Calls `visit` for each entry in order; its failure ends the visit.
  Status visit(const std::function<Status(const ManifestEntry&)>& visit) const;
  // Of the last visit that came to its end.
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
  uint64_t kept = 0;                    // were there already with this content
  std::vector<std::string> references;  // paths of what is not in the store, and was not fetched
};

// Which files: those whose path begins with `prefix`, or one alone, for which the manifest is not read.
struct DownloadChoice {
  std::string_view prefix;
  const ManifestEntry* one = nullptr;  // of that version
};

// Where a version is written when nobody says where: <store>/downloads/<project>/<name>/v3. Whoever likes removes it.
std::string download_folder(const Store& store, const ArtifactInfo& info, const ArtifactVersion& version);

// Writes the files of a version below `root`, which is made. Each is checked against its digest while it is written,
// appears whole, and takes the place of what stood there. No link below `root` is followed. kCorrupt names a blob that
// is damaged, kNotFound one that is missing.
Result<DownloadReport> download_artifact(const Store& store, const ArtifactVersion& version, const std::string& root,
                                         const DownloadChoice& choice = {}, const ArtifactProgress& progress = {});
// Bytes on the disk, in whole blocks, that those files would take beside what is there: one that stands there with its
// size counts nothing.
Result<uint64_t> new_download_bytes(const Store& store, const ArtifactVersion& version, const std::string& root,
                                    const DownloadChoice& choice = {});
// Below download_folder(). Where that cannot be written, in a store that is read-only, the error says what to do.
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
// Holds a version against its manifest and its blobs; `deep` also reads every blob.
Result<ArtifactFindings> verify_artifact(const Store& store, const ArtifactVersion& version, bool deep,
                                         const ArtifactProgress& progress = {});

}  // namespace tracker::internal
