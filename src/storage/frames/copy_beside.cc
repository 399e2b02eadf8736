// SPDX-License-Identifier: MIT
#include "storage/frames/copy_beside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/fs.h"
#include "base/ids.h"
#include "storage/frames/frames_format.h"

namespace tracker::internal {
namespace {

constexpr size_t kCopyChunkBytes = 1 << 20;

}  // namespace

Status copy_beside(int fd, uint64_t size, const std::string& path, const std::string& to) {
  const std::string temporary = fmt::format("{}.new-{:016x}", path, random_u64());
  auto out = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (!out.ok()) return out.status();
  struct stat st{};
  // Whose it is stays as it was, where root does this for somebody; a file system may know neither.
  if (::fstat(fd, &st) == 0 && ::fchown(out->get(), st.st_uid, st.st_gid) == 0)
    (void)::fchmod(out->get(), st.st_mode & 07777);
  FileBytes bytes(fd, size);
  Status status;
  for (uint64_t at = 0; at < size && status.ok();) {
    auto part = bytes.view(at, kCopyChunkBytes);
    status = !part.ok()      ? part.status()
             : part->empty() ? Status(Code::kIo, path + " was cut while it was copied")
                             : write_all(out->get(), *part);
    at += part.ok() ? part->size() : 0;
  }
  if (status.ok() && ::fsync(out->get()) != 0) status = Status::from_errno(errno, "fsync failed", temporary);
  if (status.ok() && ::rename(temporary.c_str(), to.c_str()) != 0)
    status = Status::from_errno(errno, "cannot rename", temporary);
  if (!status.ok()) remove_file(temporary);
  else sync_path(parent_path(path));
  return status;
}

}  // namespace tracker::internal
