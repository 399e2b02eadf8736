// SPDX-License-Identifier: MIT
// A descriptor that is kept for long. Other code of the process may close it (os.closerange, a close too many) and open
// a file of its own under its number: is_ours() is false then, and that file is never closed from here.
// Whoever writes, cuts or locks asks first. Where the system has forgotten the file, as NFS may, it still is ours.
// Not seen is a file with the inode of one that had no name left. Threads: one at a time. Cost: one system call.
#pragma once

#include <cstdint>
#include <utility>

#include "base/fs.h"

namespace tracker::internal {

class LastingFd {
 public:
  LastingFd() = default;
  explicit LastingFd(Fd fd);
  LastingFd(LastingFd&& other) noexcept : fd_(std::move(other.fd_)), device_(other.device_), inode_(other.inode_) {}
  LastingFd& operator=(LastingFd&& other) noexcept;
  ~LastingFd() { reset(); }
  void reset();
  bool is_ours() const;
  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  std::pair<uint64_t, uint64_t> file() const { return {device_, inode_}; }

 private:
  Fd fd_;
  uint64_t device_ = 0, inode_ = 0;
};

}  // namespace tracker::internal
