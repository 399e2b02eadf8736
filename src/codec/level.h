// SPDX-License-Identifier: MIT
// A level: the rows of one series in one segment as exact cells on a fixed grid of x, which is their steps or their
// times. A cell holds all rows whose x >> shift is the same. As the grid of a chart is of the same kind
// (query/chart/chart.h), cells of a level are never divided by a cell of a chart that is at least as wide: a chart is
// put together from them without a look at a row. Rows stand by step; in a level over times these do not fall along the
// steps. Format: docs/formats/level.md. Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/number.h"

namespace tracker::internal {

constexpr uint8_t kLevelVersion = 2;
// The version that says it; on disk, do not change.
enum class LevelAxis : uint8_t { kSteps = 1, kTimes = 2 };
constexpr uint64_t kLevelCellRows = 512;   // rows a cell of the finest level, at least, on average
constexpr unsigned kLevelFactorShift = 6;  // the next level is 64 times as coarse
// Over times: a grid of powers of two fits rows that are a step apart and have 512 a cell exactly; of rows at any time
// it has up to twice the least number. So cells are half as wide, and the next level 16 times as coarse.
constexpr uint64_t kTimeLevelCellRows = 256;
constexpr unsigned kTimeLevelFactorShift = 4;
constexpr unsigned kLevelShiftMax = 63;

struct LevelHead {
  LevelAxis axis = LevelAxis::kSteps;
  ValueType type = ValueType::kFloat64;
  unsigned shift = 0;
  uint64_t rows = 0;                // of the series in the segment
  int64_t x_first = 0, x_last = 0;  // of its first and last row; steps rise, times do not fall
  uint64_t stride = 0;              // not 0: from each row to the next one it is this
  bool operator==(const LevelHead&) const = default;
};

// Columns of the same length, one entry a cell; cells without rows are left out.
struct Level : LevelHead {
  std::vector<int64_t> x0, x1;                  // of the first and the last row
  std::vector<uint64_t> count;                  // rows
  std::vector<uint64_t> first, last;            // values of these rows, raw bits
  std::vector<uint64_t> min, max;               // over finite values, -0 < +0; 0 without any
  std::vector<double> sum;                      // of the finite values
  std::vector<uint64_t> nan, pos_inf, neg_inf;  // empty: all values are finite
  size_t cells() const { return x0.size(); }
  bool operator==(const Level&) const;  // sums by their bits
};

constexpr uint64_t level_cell_rows(LevelAxis axis) {
  return axis == LevelAxis::kTimes ? kTimeLevelCellRows : kLevelCellRows;
}
// The shift of the finest level of so many rows (at least 1) from `first` to `last`: the least one at which there are
// at most rows / level_cell_rows() + 2 cells.
unsigned level_shift(uint64_t rows, int64_t first, int64_t last, LevelAxis axis = LevelAxis::kSteps);
// Of rows whose x, of the axis, does not fall. The sum of a cell: as the sum of a block (value_summary.h).
Level make_level(std::span<const int64_t> x, std::span<const uint64_t> bits, ValueType type, unsigned shift,
                 LevelAxis axis = LevelAxis::kSteps);
// The same rows in wider cells; the sums of the cells that make one up are added in order to 0.0.
Level coarser_level(const Level& fine, unsigned shift);

std::string encode_level(const Level& level);
// Trusts nothing. kCorrupt with the offset; kVersion for what is newer.
Result<Level> decode_level(std::string_view bytes);
// Into memory that is used again; after a failure `out` holds anything.
Status decode_level(std::string_view bytes, Level* out);
// All but its cells.
Result<LevelHead> decode_level_head(std::string_view bytes);

}  // namespace tracker::internal
