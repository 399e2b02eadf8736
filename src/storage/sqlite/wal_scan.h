// SPDX-License-Identifier: MIT
// Reads a SQLite write-ahead log (https://www.sqlite.org/fileformat2.html#walformat) as a new connection does: up to
// the first page that does not verify. That is right for a torn end, but hides damage; a connection that is already
// open reads the commits after it. Threads: any. Cost: reads the log.
#pragma once

#include <cstdint>
#include <string>

namespace tracker::internal {

struct WalScan {
  bool is_empty = true;  // there is none, or it has no header yet
  bool has_bad_header = false;
  uint64_t sound_pages = 0;    // before the first one that does not verify
  uint64_t commits_after = 0;  // from that page on: commits of this round of the log that are not read
  std::string damage() const;  // for verify; "" if the log is complete, torn at its end, or absent
};
WalScan scan_wal(const std::string& path);

}  // namespace tracker::internal
