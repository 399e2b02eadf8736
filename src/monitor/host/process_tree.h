// SPDX-License-Identifier: MIT
// What a process and its descendants take, by /proc. Children are found by the kernel's own lists (task/*/children), so
// what other processes there are costs nothing. Threads: one at a time. Cost: some three small files a process and one
// a thread, within the bounds.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace tracker::internal {

// Limit: processes of the run's tree in a sample. Beyond it: left out.
constexpr size_t kTreeProcessesMax = 1'024;
// Limit: threads whose children a sample reads. Beyond it: left out.
constexpr size_t kTreeThreadsMax = 4'096;

struct TreeUse {
  uint64_t processes = 0, threads = 0, rss_bytes = 0;
  uint64_t cpu_ticks = 0;                    // since the look before, of all that were alive at this one
  uint64_t read_bytes = 0, write_bytes = 0;  // of storage, since the look before
  bool cut = false;                          // the tree is larger than the bounds
};

class ProcessTree {
 public:
  explicit ProcessTree(int64_t pid, std::string proc = "/proc") : pid_(pid), proc_(std::move(proc)) {}
  // What has been used since the look before; of the first one nothing, nor of a process that came into the tree since
  // and is older than that look (adopted, or missed by it): what it used before is not of this time.
  TreeUse look();

 private:
  struct Seen {
    uint64_t start = 0, ticks = 0, read_bytes = 0, write_bytes = 0;
    uint64_t look = 0;
  };
  bool add(int64_t pid, TreeUse* out);
  std::string children_of(int64_t pid, size_t* threads_left, bool* cut) const;

  const int64_t pid_;
  const std::string proc_;
  std::unordered_map<int64_t, Seen> seen_;
  uint64_t looks_ = 0;
  uint64_t looked_at_ = 0, before_ = 0;  // when the look began and the one before, ticks since boot
};

}  // namespace tracker::internal
