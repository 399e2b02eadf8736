// SPDX-License-Identifier: MIT
#include "base/guarded_fd.h"

#include <sys/stat.h>

#include <cerrno>

namespace tracker::internal {

GuardedFd::GuardedFd(Fd fd) : fd_(std::move(fd)) {
  struct stat st;
  if (!fd_ || ::fstat(fd_.get(), &st) != 0) return;
  device_ = st.st_dev;
  inode_ = st.st_ino;
}

GuardedFd& GuardedFd::operator=(GuardedFd&& other) noexcept {
  if (this == &other) return *this;
  reset();
  fd_ = std::move(other.fd_);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

bool GuardedFd::is_ours() const {
  struct stat st;
  if (!fd_) return false;
  if (::fstat(fd_.get(), &st) != 0) return errno != EBADF;  // the server of a network file system has forgotten it
  return st.st_dev == device_ && st.st_ino == inode_;
}

void GuardedFd::reset() {
  if (fd_ && !is_ours()) (void)fd_.release();
  fd_.reset();
}

}  // namespace tracker::internal
