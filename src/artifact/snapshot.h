// SPDX-License-Identifier: MIT
// Makes a blob of a file: cloned if the file system shares blocks (FICLONE), else copied, and hashed at the same time.
// A file that changes meanwhile is read again, at most kSnapshotTriesMax times, and then refused by name. A write
// through a shared mapping gives a file a new time only if the page was clean: so dirty pages are written out before
// the file is stamped. Where that is not done (a tmpfs, a file server, small files of an overlay), a young file is read
// each time. A write(2) sets the time only when it starts: a file that some process has open for writing is read twice
// and must be the same. Whether it is open is found by a lease that is released at once: a held lease would make a
// training wait. Threads: one an object. Cost: reads the file once; kSnapshotBufferBytes of memory for any size.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "artifact/blob_store.h"
#include "artifact/digest_cache.h"
#include "artifact/held_files.h"
#include "artifact/source_files.h"

namespace tracker::internal {

// Limit: tries to read a file that changes meanwhile. Beyond it: the artifact is refused by name.
constexpr int kSnapshotTriesMax = 3;
// A write(2) of 1 MiB into the page cache takes four times the CPU of eight of 128 KiB: 0.27 GB/s against 1.1,
// with hash and fallocate(2).
constexpr size_t kSnapshotBufferBytes = 128 << 10;
// A write may give a file its present time again, until the kernel's clock ticks: 10 ms at 100 Hz.
constexpr std::chrono::milliseconds kTimestampTick{20};
// Some file servers store times in seconds.
constexpr std::chrono::seconds kNetworkTimestampTick{2};

// On a stacked file system writing out is a flush of a disk, some ms: done for files from this size on. Digests of
// smaller ones, and of all on a file server, are not remembered until the kernel has written the files out, after 30 s.
constexpr uint64_t kSyncedSourceBytesMin = 1 << 20;
constexpr std::chrono::seconds kDirtyAge{60};

// The free space is read once for so many bytes, and each file counts as so many more than it has.
constexpr uint64_t kRoomAskedBytes = 16u << 20;
constexpr uint64_t kRoomAFileBytes = 16 << 10;
// From this size on space for a copy is reserved first: a full disk is noticed before the copy, and the blocks are
// adjacent.
constexpr uint64_t kAllocatedBytesMin = 1 << 20;

// Whether any process has the file open or mapped for writing. False too where the kernel does not report it: another
// user's file, most file servers.
bool is_open_for_writing(const Fd& file);

// After this any write gives the file another stamp. Does not wait for a time in the future.
void wait_for_tick(const SourceStamp& stamp);

struct SnapshotOptions {
  uint64_t free_bytes_min = 0;                // kLimit if the store would have less space than this after the file
  const std::atomic<bool>* cancel = nullptr;  // true: kClosed before the next read
  std::function<void(uint64_t bytes)> read;   // gets the position in the current file, which may be read again
  std::function<void()> between_reads_for_testing;  // called before each read of kSnapshotBufferBytes
  std::chrono::seconds dirty_age = kDirtyAge;
};

// Between the two readings of a file that is open for writing.
constexpr std::chrono::milliseconds kWriterPause{20};

class Snapshooter {
 public:
  Snapshooter(const BlobStore& blobs, BlobBatch* batch, DigestCache* cache, SnapshotOptions options);
  // Makes the blob of the file, which is in the batch or the store when this returns. `expected`: as the file was when
  // the user named it. kBusy: it has changed since, or continues to change; kNotFound, kInvalid as of open_source();
  // kIo. `held`: its content at that time, if that was held (artifact/held_files.h). A copy becomes the blob.
  Result<Digest> take(const std::string& folder, const ListedFile& expected, const HeldFile* held = nullptr);
  // The digest of the file if no blob has its content; else none. Reads the file if its stamp is not known, and stores
  // nothing. Errors as of take().
  Result<std::optional<Digest>> missing(const std::string& folder, const ListedFile& expected,
                                        const HeldFile* held = nullptr);

  uint64_t files_read() const { return files_read_; }  // the others were in the cache
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t files_cloned() const { return files_cloned_; }

 private:
  Result<Digest> read(const std::string& folder, const ListedFile& expected, const HeldFile* held, bool* changed);
  Result<Digest> take_copy(const HeldFile& held, OpenedFile copy);
  // Reads it once more: ok if it is the same, else sets *changed, or returns why it cannot be read.
  Status read_again(const OpenedFile& source, const Digest& digest, uint64_t bytes, const std::string& path,
                    bool* changed);
  // Into `target`, or without one nowhere.
  Result<Digest> copy_and_hash(const OpenedFile& source, const Fd* target, uint64_t bytes, const std::string& path);
  Status check_room(uint64_t bytes);
  bool clone(const Fd& source, const Fd& target, const SourceStamp& stamp);
  // Writes the file out. Returns whether from now on each write gives it another stamp.
  bool write_out(const OpenedFile& source, const std::string& path);
  const FsType& fs_of(const SourceStamp& stamp, const std::string& path);
  std::chrono::nanoseconds tick(const SourceStamp& stamp, const std::string& path);

  const BlobStore& blobs_;
  BlobBatch* batch_;
  DigestCache* cache_;
  const SnapshotOptions options_;
  std::vector<char> buffer_;
  std::optional<uint64_t> uncloned_device_;  // files of this device cannot be cloned into the store
  std::optional<uint64_t> fs_device_;        // which fs_ is of
  FsType fs_;
  uint64_t room_known_bytes_ = 0;  // so many more may be stored before the free space is read again
  uint64_t files_read_ = 0, bytes_read_ = 0, files_cloned_ = 0;
};

}  // namespace tracker::internal
