// SPDX-License-Identifier: MIT
// A SQLite write-ahead log (https://www.sqlite.org/fileformat2.html#walformat) as a new connection reads it: up to the
// first page that does not verify. That is right for a torn end, and silent for damage; a connection that is open reads
// the commits after it all the same. Threads: any. Cost: reads the log.
#pragma once

#include <cstdint>
#include <string>

namespace tracker::internal {

struct WalScan {
  bool is_empty = true;  // there is none, or it has no header yet
  bool has_bad_header = false;
  uint64_t sound_pages = 0;     // in front of the first that does not verify
  uint64_t commits_behind = 0;  // that page: of this round of the log, and not read
  std::string damage() const;   // for verify; "" where it is whole, torn at its end, or there is none
};
WalScan scan_wal(const std::string& path);

}  // namespace tracker::internal
