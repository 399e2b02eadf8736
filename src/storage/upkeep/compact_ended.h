// SPDX-License-Identifier: MIT
// Compacts the frames that a writer left uncompacted at its end, where it compacts for kCompactAtEndNs only: each chart
// of the run would decode what a burst has left. The database is copied; the copy is compacted, summed up, fsynced and
// renamed over the original (database_build.h). Open readers go on reading the original; a kill, a failing or a full
// disk leaves it as it is. No other process writes such a file, because its writer has ended and left it whole; where a
// journal of the run or a sign of a living writer is seen, or the file changes meanwhile, it is not replaced. Threads:
// one a run. Cost: about 0.2 µs a point that stands in frames, as much room again as the database takes, and the memory
// of a compaction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/store/store.h"

namespace tracker::internal {

constexpr uint64_t kEndedFramePointsMin = 65'536;       // fewer stay in frames: charts decode them in a few ms
constexpr uint64_t kCompactEndedRoomBytes = 64u << 20;  // left on the disk beside the copy, or it is not begun

struct CompactedWriter {
  RunFolder run;
  std::string path;                            // of the database
  uint64_t points = 0, points_after = 0;       // of the run's metrics that stand in frames, not in segments
  uint64_t bytes_before = 0, bytes_after = 0;  // of the database; after a dry run `after` is 0
};

struct CompactEndedReport {
  std::vector<CompactedWriter> compacted;  // or what would be
  std::vector<std::string> problems;       // one line a database that is due and stays as it is
};

struct CompactEndedOptions {
  bool dry_run = false;
  int64_t now_us = 0;
  uint64_t room_bytes = kCompactEndedRoomBytes;
};

// The databases of one run. What is damaged is left to `tracker verify`, without a line.
CompactEndedReport compact_ended(const Store& store, const RunFolder& run, const CompactEndedOptions& options);

}  // namespace tracker::internal
