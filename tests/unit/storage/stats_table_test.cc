// SPDX-License-Identifier: MIT
// What a writer holds of very many series: each is found under its id, whatever the order in which ids came.
// Method: random ids against a plain map.
#include "storage/stats_table.h"

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
    const SeriesStats* found = table.find(id);
    ASSERT_NE(found, nullptr) << id;
    EXPECT_EQ(found->def.name, "m" + std::to_string(id));
    EXPECT_EQ(found->points, points);
  }
  EXPECT_EQ(table.find(UINT32_MAX), nullptr);
  table.forget_name(2);
  EXPECT_EQ(table.find(2)->def.name, "");
  EXPECT_EQ(table.find(2)->points, expected[2]);
  table.clear();
  EXPECT_EQ(table.find(2), nullptr);
}

}  // namespace
}  // namespace tracker::internal
