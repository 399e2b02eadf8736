// SPDX-License-Identifier: MIT
// Compacts the frames that a writer left at its end, where it compacts for kCompactAtEndNs only: without this, each
// chart of the run would decode them. The database is copied; the copy is compacted, gets its checksum, is fsynced and
// renamed over the original (database_build.h). Open readers continue to read the original; a kill, a failing or a full
// disk leaves it unchanged. No other process writes such a file, because its writer has ended; if there is a journal of
// the run or a sign of a living writer, or the file changes meanwhile, it is not replaced. Threads: one a run. Cost:
// about 0.2 µs for each point in frames, as much room again as the database takes, and the memory of a compaction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/store/store.h"

namespace tracker::internal {

constexpr uint64_t kEndedFramePointsMin = 65'536;       // fewer stay frames: charts decode them in a few ms
constexpr uint64_t kCompactEndedRoomBytes = 64u << 20;  // disk space that must remain besides the copy

struct CompactedWriter {
  RunFolder run;
  std::string path;                            // of the database
  uint64_t points = 0, points_after = 0;       // of the run's metrics that are in frames, not in segments
  uint64_t bytes_before = 0, bytes_after = 0;  // of the database; after a dry run `after` is 0
};

struct CompactEndedReport {
  std::vector<CompactedWriter> compacted;  // or would be compacted
  std::vector<std::string> problems;       // one line for each database that is due and is not changed
};

struct CompactEndedOptions {
  bool dry_run = false;
  int64_t now_us = 0;
  uint64_t room_bytes = kCompactEndedRoomBytes;
};

// The databases of one run. Damaged ones are left to `tracker verify` and not reported here.
CompactEndedReport compact_ended(const Store& store, const RunFolder& run, const CompactEndedOptions& options);

}  // namespace tracker::internal
