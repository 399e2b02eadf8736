// SPDX-License-Identifier: MIT
// A copy of a dead writer's ring, in memory of its own.
#pragma once

#include <sys/mman.h>

#include <string>

#include "journal/dead/dead_journal.h"
#include "journal/ring/ring_format.h"

namespace tracker::internal {

struct DeadJournal::RingCopy {
  const RingHeader* header = nullptr;
  size_t bytes = 0;
  std::string path;
  bool counts = true;  // what the header says of how much the ring has accepted can be
  ~RingCopy() {
    if (header != nullptr) ::munmap(const_cast<RingHeader*>(header), bytes);
  }
  const char* data() const { return reinterpret_cast<const char*>(header) + kRingHeaderBytes; }
};

}  // namespace tracker::internal
