// SPDX-License-Identifier: MIT
// The spill file of a journal: encoded frames that the database could not take yet, in tmpfs beside the rings, so that
// ring space may be released while a commit is stuck (docs/formats/ring.md). Append-only until every frame in it is
// committed, then emptied. Threads: one at a time, under the writer's lock. Cost: a write(2) to tmpfs a frame.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/guarded_fd.h"
#include "journal/ring/frame_record.h"

namespace tracker::internal {

class SpillFile {
 public:
  // Opens nothing yet: the file appears with the first frame.
  SpillFile(const std::string& dir, uint64_t nonce)
      : path_(dir.empty() ? "" : join_path(dir, "spill")), nonce_(nonce) {}
  // A new folder (the old one was unlinked); what was in the file is gone with it.
  void move_to(const std::string& dir, uint64_t nonce);
  // False (and nothing written) when that would make the file larger than `limit_bytes`, or on any error.
  bool append(const FrameRecord& record, uint64_t limit_bytes);
  // Empties the file: every frame in it is committed.
  void clear();
  void unlink_file();
  bool still_linked();  // false when somebody unlinked it under us, or closed it
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // any thread

 private:
  bool regain();
  std::string path_;
  uint64_t nonce_;
  GuardedFd fd_;
  std::atomic<uint64_t> bytes_{0};
};

struct SpillContents {
  std::vector<FrameRecord> frames;  // the sound records, in the order of the file
  uint64_t damaged_bytes = 0;       // that belong to none of them
  std::string problem;              // what is wrong with the file; empty: nothing is
  Status refused;   // by a disk or by rights, which may let it be read later, or as a file of an unreleased state
  int version = 1;  // a newer one is not read at all
};

// A record that does not verify is damage, and sound records after it are read; the search for them reads at most
// kResyncBytesMax (ring_reader.h). A record cut short at the end is none: its process died while it wrote it, and what
// was to be in it is still in the rings.
SpillContents parse_spill(std::string_view bytes, uint64_t nonce);
constexpr int kSpillVersion = 1;
// Of a dead journal; empty when there is none. What cannot be read, or is no regular file, is a problem. `nonce` is the
// first 8 bytes of the writer's id.
SpillContents read_spill(const std::string& dir, uint64_t nonce);

}  // namespace tracker::internal
