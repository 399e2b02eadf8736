// SPDX-License-Identifier: MIT
// A descriptor that is open for a long time. Other code of the process may close it by mistake (os.closerange, a double
// close) and open its own file under the same number. is_ours() returns false then, and that file is never closed here.
// Callers check is_ours() before they write, truncate or lock. A stale handle (NFS, ESTALE) still is ours. Not
// detected: another file with the inode number of a deleted one. Threads: one at a time. Cost: one system call.
#pragma once

#include <cstdint>
#include <utility>

#include "base/fs.h"

namespace tracker::internal {

class GuardedFd {
 public:
  GuardedFd() = default;
  explicit GuardedFd(Fd fd);
  GuardedFd(GuardedFd&& other) noexcept : fd_(std::move(other.fd_)), device_(other.device_), inode_(other.inode_) {}
  GuardedFd& operator=(GuardedFd&& other) noexcept;
  ~GuardedFd() { reset(); }
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
