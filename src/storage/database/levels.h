// SPDX-License-Identifier: MIT
// The table `levels` of a writer's database: for each segment, and each series with enough rows in it, one or two
// levels over steps and, with more rows, as many over times (codec/level.h). A chart of a long series reads these
// instead of segments. They are derived: without the table, or some of its rows, a database reads the same, only
// slower. Rows of a segment that no longer exists are ignored: their last_seq is not that of a segment. Format:
// docs/formats/database.md. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codec/level.h"
#include "codec/segment.h"
#include "codec/series_rows.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

// If a segment has fewer rows of a series, decoding them is cheap, and levels would cost more bytes a point.
constexpr uint64_t kLevelRowsMin = 4096;
constexpr int kLevels = 2;  // of an axis: 0 the finest, 1 the coarsest
// Levels over times need so many rows: with fewer, many series share a segment and its times, and the levels would
// exceed the limit of 6.4 bytes a point (decision 0012).
constexpr uint64_t kTimeLevelRowsMin = 10'240;
// The number in the column `level`. Those over times were added later: 2 and 3.
constexpr int level_number(LevelAxis axis, int level) { return axis == LevelAxis::kTimes ? kLevels + level : level; }
// A series' finest level takes at most a byte for so many rows, its row in the table included; its cells are as wide as
// that requires. With few cells it is the only level, with number 1.
constexpr uint64_t kLevelRowsAByte = 20;
constexpr uint64_t kTimeLevelRowsAByte = 16;  // of one over times
constexpr uint64_t kLevelRowBytes = 45;
constexpr size_t kLevelCellsAlone = 64;

// Rows are appended, so that pages stay full; the first index finds the rows of a series. The second lists the segments
// of a long log without the pages that hold their data.
constexpr const char* kLevelsSchema = R"(
CREATE TABLE IF NOT EXISTS levels(id INTEGER PRIMARY KEY, series INTEGER NOT NULL, level INTEGER NOT NULL,
  first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS levels_of_series ON levels(series, level, first_seq);
CREATE INDEX IF NOT EXISTS segments_ends ON segments(last_seq, points);
)";

struct SegmentLevels {
  struct Row {
    uint32_t series = 0;
    int level = 0;
    std::string data;
  };
  // series with enough rows: the segments that this one replaces may have had levels for them
  std::vector<uint32_t> series;
  // levels over steps for series whose steps rise, and over times if these do not fall along the steps
  std::vector<Row> rows;
};

// For a segment that is not damaged. Cost: decodes the series with enough rows in it, 24 bytes of memory a row.
Result<SegmentLevels> make_levels(SegmentView* segment);

// Within the transaction that writes the segment of these frames. Creates the table if it is missing. `replaces`: the
// segment replaces others, whose levels are deleted.
Status write_levels(Sqlite& db, uint64_t first_seq, uint64_t last_seq, bool replaces, const SegmentLevels& levels);

Result<bool> has_levels(Sqlite& db);
// Rows of one level of a series, by first_seq from `from` to `to`; for a database that has the table.
class LevelRows {
 public:
  static Result<LevelRows> open(Sqlite& db, uint32_t series, int level, uint64_t from, uint64_t to);
  Result<bool> next() { return rows_.step(); }
  // Of the row that next() has found; the data are valid until it is called again.
  uint64_t first_seq() const { return rows_.u64_at(0); }
  uint64_t last_seq() const { return rows_.u64_at(1); }
  std::string_view data() const { return rows_.bytes_at(2); }

 private:
  explicit LevelRows(Statement rows) : rows_(std::move(rows)) {}
  Statement rows_;
};
// Visits all of them; `data` is valid during the call only.
using LevelVisit = std::function<Status(uint64_t first_seq, uint64_t last_seq, std::string_view data)>;
Status read_levels(Sqlite& db, uint32_t series, int level, uint64_t from, uint64_t to, const LevelVisit& visit);

}  // namespace tracker::internal
