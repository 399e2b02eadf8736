// SPDX-License-Identifier: MIT
// The bytes of artifacts by content: <store>/blobs/sha256/<2>/<62>, shared by all runs (docs/formats/artifact.md). A
// blob appears complete under its name or not at all, is never changed, and `tracker gc` may remove it if nothing
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
#include "artifact/name_lease.h"
#include "base/fs.h"
#include "base/status.h"

namespace tracker::internal {

constexpr const char* kBlobsFolder = "blobs";
constexpr const char* kStagingFolder =
    // files that are written for an artifact: artifact-<8 letters>/file-*, with a lease on that folder's name
    "staging";
constexpr std::chrono::seconds kBlobAge{24 * 3600};       // gc does not remove younger blobs
constexpr std::chrono::seconds kBlobTouchAge{12 * 3600};  // a blob that was touched since then is not touched again
// Temporary blobs of a dead process are removed, and where locks do not show that it is dead, those of this age; the
// same for its staged files.
constexpr std::chrono::seconds kBlobLeftoverAge{600};
constexpr std::chrono::seconds kAgeWithoutLocks{7 * 24 * 3600};
// Blobs that are written and not yet synced: on a local disk, which syncs all by one call; elsewhere, where each is an
// open file until its fsync; in bytes.
constexpr size_t kBlobsABatch = 1024;
constexpr size_t kOpenBlobsABatch = 64;
constexpr uint64_t kBlobBytesABatch = 64u << 20;
// From so many files on the whole file system is synced once: each fsync is a flush of the disk, 2 ms for 4 KiB.
constexpr size_t kSyncedByOneMin = 8;
// Blobs of this size are sent to the disk at once. For a small one that call costs as much as everything else.
constexpr uint64_t kEarlyWriteBytesMin = 1 << 20;

class BlobStore {
 public:
  explicit BlobStore(const std::string& store_path);
  // The folder with the folders of blobs by first byte, and with the temporary files.
  const std::string& folder() const { return folder_; }
  std::string store_path() const { return parent_path(lock_folder()); }
  // The folder of the leases of batches, named by the first 8 of the 16 digits at the end of their files' names.
  std::string lock_folder() const { return parent_path(folder_); }
  std::string path_of(const Digest& digest) const;
  // kNotFound names the digest; kCorrupt: not a regular file.
  Result<Fd> open(const Digest& digest) const;
  // Whether the blob exists with this size; then gc does not remove it within the next 12 hours. Does not read it.
  bool keep(const Digest& digest, uint64_t bytes) const;
  // Whether the blob exists with this size, and was made or touched within `age`.
  bool is_younger(const Digest& digest, uint64_t bytes, std::chrono::seconds age) const;
  // Whether the blob can be read and has the bytes of `file`. kClosed: `cancel` was set. Cost: reads both.
  Result<bool> holds(const Digest& digest, const Fd& file, const std::atomic<bool>* cancel) const;

 private:
  std::string folder_;
};

// Temporary blobs of dead processes. The next process that makes a blob removes them, and so does `tracker gc`.
std::vector<Leftover> dead_temporaries(const BlobStore& store);
size_t remove_dead_temporaries(const BlobStore& store);  // returns how many

// Blobs that are written and have no name yet. Without commit() the destructor removes them.
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
  // A new file to write a blob to. kIo: the error of the disk.
  Result<Temporary> begin();
  // Takes a file of begin(), written to its end. An existing blob is read: if it has the same bytes it is kept and
  // `file` removed; if it is damaged `file` replaces it. A full batch is committed first. kClosed: `cancel` was set.
  Status add(Temporary file, const Digest& digest, uint64_t bytes, const std::atomic<bool>* cancel = nullptr);
  // When this returns ok, all of them are on the disk under their names.
  Status commit();

 private:
  struct Staged {
    Temporary file;  // closed if one call will sync it with the others
    Digest digest;
  };
  Status name_staged();
  Status place(const Staged& staged);

  const BlobStore& store_;
  bool is_local_ = false;   // syncfs(2) covers it
  uint32_t number_;         // of the batch: the first digits of the names of its temporary files
  uint32_t next_name_ = 0;  // the others
  NameLease held_;
  bool has_folder_ = false;
  std::vector<Staged> staged_;
  uint64_t staged_bytes_ = 0;
  std::set<std::string> folders_;  // to be fsynced
};

}  // namespace tracker::internal
