// SPDX-License-Identifier: MIT
#include "artifact/name_lease.h"

#include <fcntl.h>

#include "artifact/digest.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kLockMode = 0666;

struct flock byte_of(std::string_view name, short type) {
  const Digest digest = sha256(name);
  int64_t at = 0;
  for (int i = 0; i < 7; ++i) at = at << 8 | digest.bytes[i];  // 56 bits: an offset is not negative
  struct flock out{};
  out.l_type = type;
  out.l_whence = SEEK_SET;
  out.l_start = at;
  out.l_len = 1;
  return out;
}

}  // namespace

NameLease::NameLease(const std::string& folder, std::string_view name) {
  // A shared lock needs only the right to read: the file may be another user's.
  auto fd = open_file(join_path(folder, kLeasesFile), O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, kLockMode);
  if (!fd.ok()) return;
  struct flock lock = byte_of(name, F_RDLCK);
  // Released only by closing: an explicit unlock in a forked child would release the parent's lock too.
  if (::fcntl(fd->get(), F_OFD_SETLK, &lock) == 0) lock_ = GuardedFd(std::move(*fd));
}

NameLeases::NameLeases(const std::string& folder) {
  auto fd = open_file(join_path(folder, kLeasesFile), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok()) return;
  lock_ = std::move(*fd);
  const FsKind kind = fs_kind(folder);
  struct flock lock = byte_of("", F_WRLCK);
  known_ = (kind == FsKind::kLocal || kind == FsKind::kTmpfs) && ::fcntl(lock_.get(), F_OFD_GETLK, &lock) == 0;
}

bool NameLeases::holds(std::string_view name) const {
  if (!lock_) return false;
  struct flock lock = byte_of(name, F_WRLCK);  // only queried, never taken: that needs no right to write
  if (::fcntl(lock_.get(), F_OFD_GETLK, &lock) != 0) return known_;
  return lock.l_type != F_UNLCK;
}

}  // namespace tracker::internal
