// SPDX-License-Identifier: MIT
#include "storage/database/levels.h"

#include <algorithm>
#include <utility>

namespace tracker::internal {
namespace {

struct SeriesColumns {
  std::span<const int64_t> steps, times;
  std::span<const uint64_t> bits;
};

std::vector<uint32_t> long_series(const SegmentView& segment) {
  std::vector<std::pair<uint32_t, uint64_t>> rows;
  for (const SegmentBlock& block : segment.blocks())
    for (const uint32_t series : block.series) rows.emplace_back(series, block.rows);
  std::sort(rows.begin(), rows.end());
  std::vector<uint32_t> out;
  for (size_t i = 0; i < rows.size();) {
    const uint32_t series = rows[i].first;
    uint64_t count = 0;
    for (; i < rows.size() && rows[i].first == series; ++i) count += rows[i].second;
    if (count >= kLevelRowsMin) out.push_back(series);
  }
  return out;
}

void add_levels_of(uint32_t series, ValueType type, LevelAxis axis, std::span<const int64_t> x,
                   std::span<const uint64_t> bits, std::vector<SegmentLevels::Row>* out) {
  const uint64_t count = x.size();
  Level fine = make_level(x, bits, type, level_shift(count, x.front(), x.back(), axis), axis);
  std::string data = encode_level(fine);
  const uint64_t rows_a_byte = axis == LevelAxis::kTimes ? kTimeLevelRowsAByte : kLevelRowsAByte;
  while ((data.size() + kLevelRowBytes) * rows_a_byte > count && fine.shift < kLevelShiftMax) {
    fine = coarser_level(fine, fine.shift + 1);
    data = encode_level(fine);
  }
  const bool alone = fine.cells() <= kLevelCellsAlone;
  out->push_back({series, level_number(axis, alone ? 1 : 0), std::move(data)});
  if (alone) return;
  const unsigned factor = axis == LevelAxis::kTimes ? kTimeLevelFactorShift : kLevelFactorShift;
  const unsigned wider = std::min(fine.shift + factor, kLevelShiftMax);
  out->push_back({series, level_number(axis, 1), encode_level(coarser_level(fine, wider))});
}

// For rows whose steps rise.
void add_levels(uint32_t series, ValueType type, const SeriesColumns& rows, std::vector<SegmentLevels::Row>* out) {
  add_levels_of(series, type, LevelAxis::kSteps, rows.steps, rows.bits, out);
  if (rows.steps.size() >= kTimeLevelRowsMin && std::is_sorted(rows.times.begin(), rows.times.end()))
    add_levels_of(series, type, LevelAxis::kTimes, rows.times, rows.bits, out);
}

}  // namespace

Result<SegmentLevels> make_levels(SegmentView* segment) {
  SegmentLevels out;
  out.series = long_series(*segment);
  SeriesRows rows;
  for (const uint32_t series : out.series) {
    auto place = series_place(*segment, series);
    if (!place.ok()) return place.status();
    if (!place->all_have_steps()) continue;
    TRACKER_RETURN_IF_ERROR(read_series(segment, *place, place->rows >= kTimeLevelRowsMin, &rows));
    if (!rises(rows.steps)) continue;
    add_levels(series, place->type, {rows.steps, rows.times, rows.bits}, &out.rows);
  }
  return out;
}

Status write_levels(Sqlite& db, uint64_t first_seq, uint64_t last_seq, bool replaces, const SegmentLevels& levels) {
  const auto first = static_cast<int64_t>(first_seq), last = static_cast<int64_t>(last_seq);
  bool there = !levels.rows.empty();
  if (there) {
    TRACKER_RETURN_IF_ERROR(db.exec(kLevelsSchema));
  } else if (replaces && !levels.series.empty()) {
    auto known = has_levels(db);
    if (!known.ok()) return known.status();
    there = *known;
  }
  if (!there) return {};
  if (replaces) {
    auto drop =
        db.prepare("DELETE FROM levels WHERE series=? AND level IN (0,1,2,3) AND first_seq>=? AND first_seq<=?");
    if (!drop.ok()) return drop.status();
    for (const uint32_t series : levels.series)
      TRACKER_RETURN_IF_ERROR(drop->bind(int64_t{series}).bind(first).bind(last).run());
  }
  auto insert = db.prepare("INSERT OR REPLACE INTO levels(series, level, first_seq, last_seq, data) VALUES(?,?,?,?,?)");
  if (!insert.ok()) return insert.status();
  for (const SegmentLevels::Row& row : levels.rows) {
    insert->bind(int64_t{row.series}).bind(int64_t{row.level}).bind(first).bind(last);
    TRACKER_RETURN_IF_ERROR(insert->bind_blob(row.data).run());
  }
  return {};
}

Result<bool> has_levels(Sqlite& db) {
  auto count = db.query_int("SELECT count(*) FROM sqlite_master WHERE type='table' AND name='levels'");
  if (!count.ok()) return count.status();
  return *count > 0;
}

Result<LevelRows> LevelRows::open(Sqlite& db, uint32_t series, int level, uint64_t from, uint64_t to) {
  auto rows = db.prepare(
      "SELECT first_seq, last_seq, data FROM levels WHERE series=? AND level=? AND first_seq>=? AND first_seq<=? "
      "ORDER BY first_seq");
  if (!rows.ok()) return rows.status();
  rows->bind(int64_t{series}).bind(int64_t{level}).bind(static_cast<int64_t>(from)).bind(static_cast<int64_t>(to));
  return LevelRows(std::move(*rows));
}

Status read_levels(Sqlite& db, uint32_t series, int level, uint64_t from, uint64_t to, const LevelVisit& visit) {
  auto rows = LevelRows::open(db, series, level, from, to);
  if (!rows.ok()) return rows.status();
  for (;;) {
    auto row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    TRACKER_RETURN_IF_ERROR(visit(rows->first_seq(), rows->last_seq(), rows->data()));
  }
}

}  // namespace tracker::internal
