// SPDX-License-Identifier: MIT
// A writer's table of very many series: each is found under its id, whatever the order in which ids came. Method:
// random ids against a plain map.
#include "storage/database/stats_table.h"

#include <gtest/gtest.h>

#include "support/random_frame.h"

namespace tracker::internal {
namespace {

SeriesStats rows_of(uint32_t id, uint64_t points) {
  SeriesStats out;
  out.def = {id, ValueType::kFloat64, "m" + std::to_string(id)};
  out.points = points;
  return out;
}

TEST(StatsTableTest, AddsUpEachSeriesInWhateverOrderIdsCome) {
  auto random = seeded_random();
  StatsTable table;
  std::map<uint32_t, uint64_t> expected;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t any = random() % 3000 + (random() % 50 == 0 ? uint64_t{1} << 31 : 0);
    const auto id = i % 2 == 0 ? static_cast<uint32_t>(i) : static_cast<uint32_t>(any);
    const uint64_t points = 1 + random() % 9;
    table.add(rows_of(id, points));
    expected[id] += points;
  }
  for (const auto& [id, points] : expected) {
    const auto found = table.find(id);
    ASSERT_TRUE(found.has_value()) << id;
    EXPECT_EQ(found->def.name, "m" + std::to_string(id));
    EXPECT_EQ(found->points, points);
  }
  EXPECT_FALSE(table.find(UINT32_MAX).has_value());
  EXPECT_GT(table.name_bytes(), 3 * expected.size());
  table.forget_names();
  EXPECT_EQ(table.name_bytes(), 0u);
  EXPECT_EQ(table.find(2)->def.name, "");
  EXPECT_EQ(table.find(2)->points, expected[2]);
  table.clear();
  EXPECT_FALSE(table.find(2).has_value());
}

void expect_same(const SeriesStats& a, const SeriesStats& b) {
  EXPECT_EQ(a.def, b.def);
  EXPECT_EQ(a.points, b.points);
  EXPECT_EQ(a.has_steps, b.has_steps);
  EXPECT_EQ(a.step_min, b.step_min);
  EXPECT_EQ(a.step_max, b.step_max);
  EXPECT_EQ(a.last_step, b.last_step);
  EXPECT_EQ(a.time_first_us, b.time_first_us);
  EXPECT_EQ(a.time_last_us, b.time_last_us);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(a.sum, b.sum);
  EXPECT_EQ(a.finite, b.finite);
  EXPECT_EQ(a.nan, b.nan);
  EXPECT_EQ(a.pos_inf, b.pos_inf);
  EXPECT_EQ(a.neg_inf, b.neg_inf);
  EXPECT_EQ(a.first_bits, b.first_bits);
  EXPECT_EQ(a.last_bits, b.last_bits);
}

TEST(StatsTableTest, HoldsWhatASumOfEachSeriesHoldsWhateverTheyShare) {
  auto random = seeded_random();
  StatsTable table;
  SeriesMap expected;
  for (int call = 0; call < 2000; ++call) {
    SeriesStats rows;
    rows.points = 1 + random() % 3;
    rows.has_steps = random() % 4 != 0;
    if (rows.has_steps) rows.step_min = rows.step_max = rows.last_step = static_cast<int64_t>(random() % 7) - 3;
    rows.time_first_us = rows.time_last_us = call / 3;
    const auto first = static_cast<uint32_t>(random() % 40), count = static_cast<uint32_t>(1 + random() % 9);
    for (uint32_t id = first; id < first + count; ++id) {
      rows.def = {id, id % 2 == 0 ? ValueType::kFloat64 : ValueType::kInt64,
                  id % 3 == 0 ? "n" + std::to_string(id) : ""};
      rows.nan = random() % 20 == 0, rows.pos_inf = 0, rows.neg_inf = rows.nan == 0 && random() % 20 == 0;
      rows.finite = rows.points - rows.nan - rows.neg_inf;
      rows.min = -1.0 * static_cast<double>(random() % 9), rows.max = 1.0, rows.sum = 0.5;
      rows.first_bits = random(), rows.last_bits = random();
      table.add(rows);
      append_stats(rows, &expected[id]);
    }
  }
  for (const auto& [id, stats] : expected) {
    SCOPED_TRACE(id);
    SeriesStats known = stats;
    known.def.id = id;
    ASSERT_TRUE(table.find(id).has_value());
    expect_same(*table.find(id), known);
  }
}

// 262,144 metrics took 46 MiB here.
TEST(StatsTableTest, SeriesOfTheSameCallsHoldTheirCountsStepsAndTimesOnce) {
  StatsTable table;
  for (uint64_t call = 0; call < 5; ++call)
    for (uint32_t id = 1; id <= 10'000; ++id) table.add(rows_of(id, 1));
  EXPECT_LE(table.shared_rows(), 2u);
  for (uint32_t id = 1; id <= 10; ++id) table.add(rows_of(id, id));
  EXPECT_EQ(table.shared_rows(), 11u);
  EXPECT_EQ(table.find(7)->points, 12u);
}

}  // namespace
}  // namespace tracker::internal
