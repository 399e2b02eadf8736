// SPDX-License-Identifier: MIT
// The lock that says a journal's process is alive: a POSIX fcntl write lock on <journal>/lock. The kernel drops it when
// the process dies by any cause, and it does not outlive it through a forked child (flock would).
//
// Closing any descriptor of a locked file drops the process's lock on it, so a process must never open its own lock
// files a second time: a registry of our own journals is asked before any lock file is opened. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "base/fs.h"
#include "model/records.h"

namespace tracker::internal {

class OwnerLock {
 public:
  // Creates and locks <made_in>/lock of a journal that this process makes and will rename to `dir`; registers `dir` as
  // our own.
  static Result<OwnerLock> create(const std::string& made_in, const std::string& dir);
  // Takes the lock of a dead process's journal. kBusy: its process lives (or another recoverer works on it), or it is
  // our own. kNotFound: somebody recovered it meanwhile, or there is no lock file; with `make_missing` it is made,
  // which is right only when the journal's process is known to be dead.
  static Result<OwnerLock> take(const std::string& dir, bool make_missing = false);
  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&& other) noexcept;
  ~OwnerLock();               // drops the lock
  bool still_linked() const;  // false when somebody unlinked the lock file under us

 private:
  OwnerLock(Fd fd, std::string dir, bool own) : fd_(std::move(fd)), dir_(std::move(dir)), own_(own) {}
  Fd fd_;
  std::string dir_;
  bool own_ = false;
};

// True when a journal in `dir` is being written by this process.
bool is_own_journal(const std::string& dir);
// Is the lock of `dir` held by a living process? nullopt when there is no lock file.
std::optional<bool> is_locked(const std::string& dir);

}  // namespace tracker::internal
