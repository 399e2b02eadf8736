// SPDX-License-Identifier: MIT
// The bytes of artifacts by content: <store>/blobs/sha256/<2>/<62>, shared by all runs (docs/formats/artifact.md). A
// blob appears whole under its name or not at all, is never changed, and may be removed by `tracker gc` when nothing
// refers to it and it is older than a day: so a writer touches a blob before it refers to it. Threads: any, and any
// number of processes; a BlobBatch belongs to one thread. Cost: system calls; commit() waits for the disk.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "artifact/digest.h"
#include "artifact/held_name.h"
#include "base/fs.h"
#include "base/status.h"

namespace tracker::internal {

constexpr const char* kBlobsFolder = "blobs";
constexpr const char* kStagingFolder =
    "staging";  // files that are written for an artifact: artifact-<8 letters>/file-*, held by that folder's name
constexpr std::chrono::seconds kBlobAge{24 * 3600};       // what gc leaves alone
constexpr std::chrono::seconds kBlobTouchAge{12 * 3600};  // what was touched since then needs no touch
// A blob in the making of a process that died; where locks do not tell whether it did, this or what it staged.
constexpr std::chrono::seconds kBlobLeftoverAge{600};
constexpr std::chrono::seconds kAgeWithoutLocks{7 * 24 * 3600};
// Written and not yet on the disk: on a local disk, which syncs them all by one call; elsewhere, where each is an open
// file until it is fsynced; in bytes.
constexpr size_t kBlobsABatch = 1024;
constexpr size_t kOpenBlobsABatch = 64;
constexpr uint64_t kBlobBytesABatch = 64u << 20;
// From so many files on the whole file system is synced once: each fsync is a flush of the disk, 2 ms for 4 KiB.
constexpr size_t kSyncedByOneMin = 8;
// The disk begins at once with blobs of this size. For a small one the call costs as much as all else about it.
constexpr uint64_t kEarlyWriteBytesMin = 1 << 20;

class BlobStore {
 public:
  explicit BlobStore(const std::string& store_path);
  // The folder that holds the blobs of one first byte each, and those in the making.
  const std::string& folder() const { return folder_; }
  std::string store_path() const { return parent_path(lock_folder()); }
  // Where batches are held, by the first 8 of the 16 digits behind each name of theirs.
  std::string lock_folder() const { return parent_path(folder_); }
  std::string path_of(const Digest& digest) const;
  // kNotFound names the digest; kCorrupt: no regular file stands there.
  Result<Fd> open(const Digest& digest) const;
  // Whether the blob is there with this size; then gc will not take it within the next 12 hours. Reads none of it.
  bool keep(const Digest& digest, uint64_t bytes) const;
  // Whether the blob is there with this size, and was made or touched within `age`.
  bool is_younger(const Digest& digest, uint64_t bytes, std::chrono::seconds age) const;
  // Whether the blob can be read and holds what `file` does. kClosed: `cancel` was set. Cost: reads both.
  Result<bool> holds(const Digest& digest, const Fd& file, const std::atomic<bool>* cancel) const;

 private:
  std::string folder_;
};

// Blobs in the making whose process died. The next process that makes one removes them, and `tracker gc`.
std::vector<Leftover> dead_temporaries(const BlobStore& store);
size_t remove_dead_temporaries(const BlobStore& store);  // says how many

// Blobs that are written and not yet named. Destroyed without commit() they are removed.
class BlobBatch {
 public:
  explicit BlobBatch(const BlobStore& store);
  ~BlobBatch();
  BlobBatch(const BlobBatch&) = delete;
  BlobBatch& operator=(const BlobBatch&) = delete;

  struct Temporary {
    Fd fd;
    std::string path;
  };
  // An empty file to write a blob to. kIo: the disk's answer.
  Result<Temporary> begin();
  // Takes what begin() gave, written to its end. A blob that is there already is read: where it holds the same bytes it
  // is kept and `file` removed, where it is damaged `file` takes its place. A full batch is committed first. kClosed:
  // `cancel` was set.
  Status add(Temporary file, const Digest& digest, uint64_t bytes, const std::atomic<bool>* cancel = nullptr);
  // All of them are on the disk under their names when this returns ok.
  Status commit();

 private:
  struct Staged {
    Temporary file;  // closed where one call will sync it with the others
    Digest digest;
  };
  Status name_staged();
  Status place(const Staged& staged);

  const BlobStore& store_;
  bool is_local_ = false;   // syncfs(2) covers what is there
  uint32_t number_;         // of the batch: the first digits of its temporary files
  uint32_t next_name_ = 0;  // the others
  HeldName held_;
  bool has_folder_ = false;
  std::vector<Staged> staged_;
  uint64_t staged_bytes_ = 0;
  std::set<std::string> folders_;  // to be fsynced
};

}  // namespace tracker::internal
