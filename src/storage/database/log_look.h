// SPDX-License-Identifier: MIT
// Where the frames and segments of a writer's log are, what the table `levels` has of a series, and single segments,
// without reading the log. Threads: one at a time. Cost: a connection a part; the first call with an end reads some
// pages a segment, later ones find them in memory. Each part is one read transaction, which ends after kLogRoundNs and
// starts again; a segment that compaction has replaced by then is kBusy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/database/levels.h"
#include "storage/database/stored_segment.h"
#include "storage/log/log_visitor.h"

namespace tracker::internal {

// A segment, or frames that follow each other without one between them.
struct LogPiece {
  int part = 1;
  bool segment = false;                  // a whole one: all of it lies before the end that was asked for
  uint64_t first_seq = 0, last_seq = 0;  // of a segment
  LogPosition begin, end;
};

// The coarsest levels of a series in a segment.
struct CoarseLevels {
  uint64_t first_seq = 0, last_seq = 0;
  std::string steps, times;  // no times: it has none, or they were not asked for
};

constexpr size_t kLookMemoryBytesMax = 4 << 20;  // of levels that are remembered of a writer

// What looks at a log with one end have found. It stays true when the log is compacted meanwhile: rows never change,
// only what they stand in. So a look by memory may find that a segment is gone.
struct LookMemory {
  struct Levels {
    bool with_times = false;
    size_t bytes = 0;
    std::shared_ptr<const std::vector<CoarseLevels>> rows;
  };
  LogPosition end;
  std::vector<LogPiece> pieces;                       // none: nothing is known
  std::map<std::pair<int, uint32_t>, Levels> levels;  // by part and series
  size_t level_bytes = 0;
};

class LogLook {
 public:
  // `paths`, `dbs`: of the parts. `begins`: where each begins. `memory` outlives this, and is of one log.
  LogLook(std::vector<std::string> paths, std::vector<Sqlite> dbs, std::vector<LogPosition> begins, LookMemory* memory);
  ~LogLook();

  // All up to `end`, which is that of a snapshot, in order. kCorrupt: the tables contradict each other.
  Result<std::vector<LogPiece>> pieces(const LogPosition& end);
  // Of a part, by first_seq. Those over times, which stand beside those over steps, are read with them: many pages hold
  // both.
  Result<std::shared_ptr<const std::vector<CoarseLevels>>> coarse_levels(int part, uint32_t series, bool with_times);
  // read_levels() of a part; nothing where it has none. `level`: level_number().
  Status levels(int part, uint32_t series, int level, uint64_t from, uint64_t to, const LevelVisit& visit);
  // kBusy: compaction has replaced it, and the memory is cleared: call pieces() again. The segment must be gone before
  // the next call.
  Result<std::unique_ptr<StoredSegment>> segment(const LogPiece& piece);
  // Ends the transactions: nothing is read for a while. The segment must be gone.
  Status rest();
  int parts() const { return static_cast<int>(parts_.size()); }

 private:
  struct Part {
    std::string path;
    Sqlite db;
    LogPosition first;
    int64_t begun_ns = 0;  // 0: no transaction
    bool has_levels = false;
  };
  Status begin(Part* part);
  Status pieces_of(Part* part, int number, const LogPosition& end, LogPosition* at, std::vector<LogPiece>* out);

  std::vector<Part> parts_;
  LookMemory* const memory_;
};

}  // namespace tracker::internal
