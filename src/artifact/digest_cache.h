// SPDX-License-Identifier: MIT
// What files were hashed to, by (device, inode, size, mtime, ctime): a folder that did not change costs no reading. A
// table of fixed slots in <store>/blobs/digests-<n>, read and written without locks: a slot that is torn or lost is a
// file that is hashed again. Derived: may be deleted at any time. Threads: one an object; any number of processes.
// Cost: one pread a look, one pwrite a digest.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "artifact/digest.h"
#include "base/fs.h"

namespace tracker::internal {

constexpr int kDigestCacheShiftMin = 10;  // 2^10 groups of 4 slots of 64 bytes: 256 KiB
constexpr int kDigestCacheShiftMax = 22;  // 16 M digests, 1 GiB

// What tells that a file is the same as it was.
struct SourceStamp {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  static SourceStamp of(const struct stat& st);
  bool operator==(const SourceStamp&) const = default;
};

class DigestCache {
 public:
  // Nothing is made before the first put(). A full table of 2^shift_max groups grows no more: each further digest takes
  // the place of another one.
  explicit DigestCache(const std::string& store_path, int shift_max = kDigestCacheShiftMax);
  std::optional<Digest> find(const SourceStamp& stamp) const;
  // Best effort. The caller has made sure that the file cannot have changed since without another stamp.
  void put(const SourceStamp& stamp, const Digest& digest);
  // The blob of this content was found damaged: who has it in a file reads that anew, and so mends the blob. Best
  // effort. Cost: reads the table.
  void forget(const Digest& digest);

 private:
  bool grow();

  std::string folder_;
  const int shift_max_;
  Fd fd_;
  int shift_ = 0;  // 0: no table yet
};

}  // namespace tracker::internal
