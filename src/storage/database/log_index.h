// SPDX-License-Identifier: MIT
// Finds where the frames and segments of a writer's log are, the rows of `levels` of a series, and single segments,
// without reading the log. Threads: one at a time. Cost: a connection for each part; the first call with an end reads a
// few pages for each segment, later ones use the cache. Each part is one read transaction, which ends after kLogRoundNs
// and starts again; reading a segment that compaction has replaced by then returns kBusy.
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

// A segment, or consecutive frames with no segment between them.
struct LogPiece {
  int part = 1;
  bool segment = false;                  // a whole segment, which ends before the requested end
  uint64_t first_seq = 0, last_seq = 0;  // of a segment
  LogPosition begin, end;
};

// The coarsest levels of a series in a segment.
struct CoarseLevels {
  uint64_t first_seq = 0, last_seq = 0;
  std::string steps, times;  // times empty: there are none, or they were not requested
};

constexpr size_t kLogIndexCacheBytesMax = 4 << 20;  // of the levels in the cache of a writer

// Results for one end of a log. They stay true while the log is compacted: rows never change, only the frames and
// segments that hold them. So a segment in the cache may be gone.
struct LogIndexCache {
  struct Levels {
    bool with_times = false;
    size_t bytes = 0;
    std::shared_ptr<const std::vector<CoarseLevels>> rows;
  };
  LogPosition end;
  std::vector<LogPiece> pieces;                       // empty: not known
  std::map<std::pair<int, uint32_t>, Levels> levels;  // by part and series
  size_t level_bytes = 0;
};

class LogIndex {
 public:
  // `paths`, `dbs`: of the parts. `begins`: the first position of each. `memory` outlives this object and belongs to
  // one log.
  LogIndex(std::vector<std::string> paths, std::vector<Sqlite> dbs, std::vector<LogPosition> begins,
           LogIndexCache* memory);
  ~LogIndex();

  // All pieces up to `end`, which is that of a snapshot, in order. kCorrupt: the tables contradict each other.
  Result<std::vector<LogPiece>> pieces(const LogPosition& end);
  // For a part, by first_seq. Levels over times are read together with those over steps: many pages hold both.
  Result<std::shared_ptr<const std::vector<CoarseLevels>>> coarse_levels(int part, uint32_t series, bool with_times);
  // read_levels() of a part; nothing if it has no such table. `level`: level_number().
  Status levels(int part, uint32_t series, int level, uint64_t from, uint64_t to, const LevelVisit& visit);
  // kBusy: compaction has replaced it, and the cache is cleared: call pieces() again. The segment must be destroyed
  // before the next call.
  Result<std::unique_ptr<StoredSegment>> segment(const LogPiece& piece);
  // Ends the transactions, if nothing is read for a while. The segment must be destroyed before.
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
  LogIndexCache* const memory_;
};

}  // namespace tracker::internal
