// SPDX-License-Identifier: MIT
// The lock that says a journal's process is alive: a POSIX fcntl write lock on byte 0 of <journal>/lock. The kernel
// drops it when the process dies by any cause, and it does not outlive it through a forked child (flock would).
//
// Closing any descriptor of a locked file drops the process's POSIX locks on it, so a process must never open its own
// lock files a second time: a registry of our own journals, by writer id and by file, is asked before any lock file is
// opened. Other code of the process (a copy of the whole store) does not ask: an OFD write lock on byte 1 outlives such
// a close, and says as much until hold() has put the POSIX lock back. Since a forked child inherits the OFD lock, that
// one alone counts only while the process table knows the owner (docs/decisions/0001). To its owner it says that
// no process has recovered the journal meanwhile. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "base/fs.h"
#include "base/guarded_fd.h"
#include "model/records.h"

namespace tracker::internal {

class OwnerLock {
 public:
  // Creates and locks <made_in>/lock of a journal that this process makes and will rename to `dir`; registers `dir` as
  // our own.
  static Result<OwnerLock> create(const std::string& made_in, const std::string& dir);
  // Takes the lock of a dead process's journal. kBusy: its process lives, or it is our own, or another recoverer works
  // on it, in another process or thread. kNotFound: somebody recovered it meanwhile, or there is no lock file; with
  // `make_missing` it is made, which is right only when the journal's process is known to be dead.
  static Result<OwnerLock> take(const std::string& dir, bool make_missing = false);
  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&& other) noexcept;
  ~OwnerLock();               // drops the lock
  bool still_linked() const;  // false when somebody unlinked the lock file under us, or closed its descriptor
  bool is_open() const { return fd_.is_ours(); }
  bool in_place() const;  // it is still the file at its path
  // kStill: no process can have taken this file, for the OFD lock was there (of file systems that have none this is
  // assumed). kAgain: it was gone, so one may have; both locks are there again, unless the kernel has no room for one.
  // kClosed: the descriptor is closed, so there is none, and another file is to be locked. kElsewhere: another process
  // holds the POSIX lock, and considers the owner of this journal dead.
  enum class Held { kStill, kAgain, kClosed, kElsewhere };
  // Puts the POSIX lock back where a close elsewhere in this process has dropped it, and then the OFD lock. Where that
  // fails the file system is one that has none. Cost: four system calls.
  Held hold();
  // The OFD lock is there, so no process has taken this file since the last hold(), also where it was unlinked
  // meanwhile. False where the file system has none.
  bool kept() const;
  // Where the file is no longer at its path: another one is there, made by a process that considers this one dead.
  // True: it is held. Opens and closes it, so ask only when still_linked() is false.
  std::optional<bool> another_is_held() const;

 private:
  enum class Of { kNobody, kThisProcess, kDeadProcess };  // whose journal; kNobody: moved from
  OwnerLock(std::string dir, Of of) : dir_(std::move(dir)), of_(of) {}
  void list() const;
  GuardedFd fd_;
  std::string dir_;
  Of of_ = Of::kNobody;
  bool has_second_ = false;  // the file system has OFD locks
};

// True when this process writes the journal of the writer that the folder `dir` is named by, wherever that is and
// however it is spelled. Not of a dead process's that one of our threads recovers.
bool is_own_journal(const std::string& dir);
// Is the lock of `dir` held by a living process? nullopt when there is no lock file. `dir` is a name found in one of
// our own roots, never one that a run or a store brings along.
std::optional<bool> is_locked(const std::string& dir);
// The same by the POSIX lock alone. Where that is free and is_locked() is true the process has ended and a child that
// it forked holds its descriptor; or it lives, and a second copy of this library in it has dropped the POSIX lock.
std::optional<bool> is_locked_by_process(const std::string& dir);

}  // namespace tracker::internal
