// SPDX-License-Identifier: MIT
// A level: the rows of one series in one segment as exact cells on a fixed grid of x, which is their steps or their
// times. A cell holds all rows with the same x >> shift. The grid of a chart is of the same kind (query/chart/chart.h),
// so a cell of a level is never divided by a chart cell that is at least as wide: a chart is made from cells without
// reading rows. Rows are sorted by step; the times in a level over times do not fall along the steps. Format:
// docs/formats/level.md. Threads: pure functions.
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
// Stored as the version; on disk, do not change.
enum class LevelAxis : uint8_t { kSteps = 1, kTimes = 2 };
constexpr uint64_t kLevelCellRows = 512;   // average rows in a cell of the finest level, at least
constexpr unsigned kLevelFactorShift = 6;  // the next level is 64 times as coarse
// Over times: on a grid of powers of two, rows at equal distances can have exactly 512 in a cell; rows at arbitrary
// times have up to twice as many. So cells are half as wide, and the next level is 16 times as coarse.
constexpr uint64_t kTimeLevelCellRows = 256;
constexpr unsigned kTimeLevelFactorShift = 4;
constexpr unsigned kLevelShiftMax = 63;

struct LevelHead {
  LevelAxis axis = LevelAxis::kSteps;
  ValueType type = ValueType::kFloat64;
  unsigned shift = 0;
  uint64_t rows = 0;                // of the series in the segment
  int64_t x_first = 0, x_last = 0;  // x of the first and the last row; steps rise, times do not fall
  uint64_t stride = 0;              // if not 0: the distance from each row to the next one
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
// `x`: steps or times by the axis; they do not fall. The sum of a cell is computed like the sum of a block
// (value_summary.h).
Level make_level(std::span<const int64_t> x, std::span<const uint64_t> bits, ValueType type, unsigned shift,
                 LevelAxis axis = LevelAxis::kSteps);
// The same rows in wider cells; a wide cell's sum is the sums of its cells, added in order to 0.0.
Level coarser_level(const Level& fine, unsigned shift);

std::string encode_level(const Level& level);
// Trusts nothing. kCorrupt with the offset; kVersion for a newer format.
Result<Level> decode_level(std::string_view bytes);
// Into reused memory; after a failure the content of `out` is unspecified.
Status decode_level(std::string_view bytes, Level* out);
// Everything except the cells.
Result<LevelHead> decode_level_head(std::string_view bytes);

}  // namespace tracker::internal
