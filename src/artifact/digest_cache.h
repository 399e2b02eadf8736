// SPDX-License-Identifier: MIT
// Digests of files by (device, inode, size, mtime, ctime): an unchanged folder is not read again. A table of fixed
// slots in <store>/blobs/digests-<n>, read and written without locks: for a torn or lost slot the file is hashed again.
// Derived: may be deleted at any time. Threads: one an object; any number of processes. Cost: one pread for each
// look-up, one pwrite for each digest.
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

// A file with an equal stamp is unchanged.
struct SourceStamp {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  static SourceStamp of(const struct stat& st);
  bool operator==(const SourceStamp&) const = default;
};

class DigestCache {
 public:
  // No file is made before the first put(). A full table of 2^shift_max groups does not grow: each further digest
  // replaces another one.
  explicit DigestCache(const std::string& store_path, int shift_max = kDigestCacheShiftMax);
  std::optional<Digest> find(const SourceStamp& stamp) const;
  // Best effort. The caller has made sure that any change of the file since would give it another stamp.
  void put(const SourceStamp& stamp, const Digest& digest);
  // Call when the blob with this content was found damaged: files with that content are then read again, which repairs
  // the blob. Best effort. Cost: reads the table.
  void forget(const Digest& digest);

 private:
  bool grow();

  std::string folder_;
  const int shift_max_;
  Fd fd_;
  int shift_ = 0;  // 0: no table yet
};

}  // namespace tracker::internal
