// SPDX-License-Identifier: MIT
// The table `levels` of a writer's database: of each segment and series with enough rows a level or two over steps and,
// with more rows, as many over times (codec/level.h), so that a chart of a long series reads these instead of segments.
// Derived: a database without the table, or without some of its rows, reads the same, only slower. Rows of a segment
// that is no longer there mean nothing: their last_seq is not that of the segment. Format: docs/formats/database.md.
// Threads: one at a time.
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

// With fewer rows of a series in a segment decoding them is cheap, and levels would cost more bytes a point.
constexpr uint64_t kLevelRowsMin = 4096;
constexpr int kLevels = 2;  // of an axis: 0 the finest, 1 the coarsest
// Levels over times come with so many rows: with fewer, many series share a segment and its times, and they would cost
// more than 6.4 bytes a point leave (decision 0041).
constexpr uint64_t kTimeLevelRowsMin = 10'240;
// What stands in the column `level`. Those over times came later: 2 and 3.
constexpr int level_number(LevelAxis axis, int level) { return axis == LevelAxis::kTimes ? kLevels + level : level; }
// A series' finest level takes at most a byte for so many rows, its row in the table included, and the cells are as
// wide as that needs. With few cells it stands alone, as level 1.
constexpr uint64_t kLevelRowsAByte = 20;
constexpr uint64_t kTimeLevelRowsAByte = 16;  // of one over times
constexpr uint64_t kLevelRowBytes = 45;
constexpr size_t kLevelCellsAlone = 64;

// Rows are appended, for pages stay full then; the first index finds those of a series. The second lists the segments
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
  std::vector<uint32_t> series;  // with enough rows: what the segment takes the place of may have had levels of them
  std::vector<Row> rows;         // of those whose steps rise, and times where these do not fall along them
};

// Of a sound segment. Cost: decodes the series that are in it with enough rows, 24 bytes of memory a row.
Result<SegmentLevels> make_levels(SegmentView* segment);

// Inside the transaction that writes the segment of these frames. Makes the table where it is not there. `replaces`:
// the segment takes the place of others, whose levels go.
Status write_levels(Sqlite& db, uint64_t first_seq, uint64_t last_seq, bool replaces, const SegmentLevels& levels);

Result<bool> has_levels(Sqlite& db);
// Rows of one level of a series, by first_seq from `from` to `to`; of a database that has the table.
class LevelRows {
 public:
  static Result<LevelRows> open(Sqlite& db, uint32_t series, int level, uint64_t from, uint64_t to);
  Result<bool> next() { return rows_.step(); }
  // Of the row that next() has found; the data live until it is called again.
  uint64_t first_seq() const { return rows_.u64_at(0); }
  uint64_t last_seq() const { return rows_.u64_at(1); }
  std::string_view data() const { return rows_.bytes_at(2); }

 private:
  explicit LevelRows(Statement rows) : rows_(std::move(rows)) {}
  Statement rows_;
};
// All of them; `data` lives during the call only.
using LevelVisit = std::function<Status(uint64_t first_seq, uint64_t last_seq, std::string_view data)>;
Status read_levels(Sqlite& db, uint32_t series, int level, uint64_t from, uint64_t to, const LevelVisit& visit);

}  // namespace tracker::internal
