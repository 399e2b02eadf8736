// SPDX-License-Identifier: MIT
// A lease on a name in a folder of the store, held by the process that writes under that name: `tracker gc` does not
// remove what has a lease, however old it is. A name is one byte of <folder>/lock, by its hash, on which its process
// has a shared lock (F_OFD_SETLK); the kernel releases the lock when the process and its forked children have ended.
// Two names with the same hash protect each other, which is harmless. Threads: one at a time. Cost: two system calls a
// name, and a descriptor as long as it is held.
#pragma once

#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/guarded_fd.h"

namespace tracker::internal {

constexpr const char* kLeasesFile = "lock";

class NameLease {
 public:
  NameLease() = default;
  // Held for the life of the object. Best effort: without locks, or on a full disk, gc goes by the age only.
  NameLease(const std::string& folder, std::string_view name);
  void release() { lock_.reset(); }

 private:
  GuardedFd lock_;
};

// The leases of a folder, for gc.
class NameLeases {
 public:
  explicit NameLeases(const std::string& folder);
  // False if no process has made a lease, and where locks may not show those of other machines: on network and FUSE
  // file systems.
  bool are_known() const { return known_; }
  bool holds(std::string_view name) const;

 private:
  Fd lock_;
  bool known_ = false;
};

}  // namespace tracker::internal
