// SPDX-License-Identifier: MIT
#include "storage/upkeep/spooled_media.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>

#include "base/fs.h"
#include "model/media.h"

namespace tracker::internal {

std::optional<Id128> spooled_by(std::string_view name) {
  constexpr std::string_view kPrefix = kSpooledPrefix;
  constexpr size_t kWriterDigits = 32, kOwnDigits = 16;
  if (name.size() != kPrefix.size() + kWriterDigits + 1 + kOwnDigits || !name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  if (name[kWriterDigits] != '-') return {};
  if (name.find_first_not_of("0123456789abcdef", kWriterDigits + 1) != std::string_view::npos) return {};
  return Id128::from_hex(name.substr(0, kWriterDigits));
}

std::vector<SpooledMedium> spooled_media(const std::string& run_dir) {
  std::vector<SpooledMedium> out;
  const std::string folder = join_path(run_dir, kMediaFolder);
  const auto names = list_dir(folder);
  if (!names.ok()) return out;
  for (const std::string& name : *names) {
    const auto writer = spooled_by(name);
    if (!writer) continue;
    SpooledMedium one{join_path(folder, name), *writer, 0, 0};
    struct stat st{};
    if (::lstat(one.path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    one.bytes = static_cast<uint64_t>(st.st_size);
    one.changed_s = st.st_mtim.tv_sec;
    out.push_back(std::move(one));
  }
  return out;
}

Result<SpoolLock> SpoolLock::take(const std::string& run_dir, int tries) {
  const std::string path = join_path(join_path(run_dir, kMediaFolder), kSpoolLockFile);
  for (int i = 0; i < tries; ++i) {
    auto fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
    if (!fd.ok()) return fd.status();
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(fd->get(), F_OFD_SETLK, &lock) == 0) {
      struct stat st{};  // who had it removes it with its lock: then this is a lock on nothing
      if (::fstat(fd->get(), &st) == 0 && st.st_nlink > 0) return SpoolLock(std::move(*fd), path);
      continue;
    }
    if (errno != EAGAIN && errno != EACCES) return Status::from_errno(errno, "cannot lock", path);
    if (i + 1 < tries) std::this_thread::sleep_for(kSpoolLockPause);
  }
  return Status(Code::kBusy, "another process encodes the media that wait in " + parent_path(path));
}

SpoolLock::SpoolLock(SpoolLock&& other) noexcept
    : fd_(std::move(other.fd_)), path_(std::exchange(other.path_, std::string())) {}

SpoolLock::~SpoolLock() {
  if (!path_.empty()) remove_file(path_);
}

}  // namespace tracker::internal
