// SPDX-License-Identifier: MIT
#include "storage/upkeep/disk_use.h"

#include <sys/stat.h>

#include "base/fs.h"

namespace tracker::internal {
namespace {

// Limit: nesting of folders that max_disk measures. Beyond it: deeper files do not count.
constexpr int kDiskDepthMax = 64;  // as deep as runs are removed
constexpr uint64_t kBlockBytes = 512;

uint64_t bytes_at(const std::string& path, const std::string& except, bool wal_twice, dev_t device, int depth) {
  struct stat st{};
  if (path == except) return 0;
  const bool top = depth == kDiskDepthMax;  // a store that is named by a link is where the link leads
  if ((top ? ::stat(path.c_str(), &st) : ::lstat(path.c_str(), &st)) != 0 || st.st_dev != device) return 0;
  uint64_t out = static_cast<uint64_t>(st.st_blocks) * kBlockBytes;
  if (wal_twice && path.ends_with("-wal")) out *= 2;
  if (!S_ISDIR(st.st_mode) || depth == 0) return out;
  const auto names = list_dir(path);
  if (!names.ok()) return out;
  for (const std::string& name : *names) out += bytes_at(join_path(path, name), except, wal_twice, device, depth - 1);
  return out;
}

}  // namespace

uint64_t disk_bytes(const std::string& path, const std::string& except, bool wal_twice) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? bytes_at(path, except, wal_twice, st.st_dev, kDiskDepthMax) : 0;
}

}  // namespace tracker::internal
