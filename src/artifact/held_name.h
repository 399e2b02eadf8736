// SPDX-License-Identifier: MIT
// What a living process is writing in a folder of the store, by name: `tracker gc` leaves it there however old it is. A
// name is one byte of <folder>/lock, by its hash, on which its process has a shared lock (F_OFD_SETLK); the kernel
// takes the lock away when the process ends, and when the last of its forked children does. Two names with one hash
// keep each other, no more. Threads: one at a time. Cost: two system calls a name, and a descriptor as long as it is
// held.
#pragma once

#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/lasting_fd.h"

namespace tracker::internal {

constexpr const char* kHeldNamesFile = "lock";

class HeldName {
 public:
  HeldName() = default;
  // Until the object goes. Best effort: where there are no locks, or the disk is full, gc has the age alone.
  HeldName(const std::string& folder, std::string_view name);
  void release() { lock_.reset(); }

 private:
  LastingFd lock_;
};

// The names of a folder as gc sees them.
class HeldNames {
 public:
  explicit HeldNames(const std::string& folder);
  // False where nobody has locked anything, and where locks may not tell of other machines: on network and FUSE file
  // systems.
  bool are_known() const { return known_; }
  bool holds(std::string_view name) const;

 private:
  Fd lock_;
  bool known_ = false;
};

}  // namespace tracker::internal
