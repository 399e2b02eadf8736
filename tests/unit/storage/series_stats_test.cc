// SPDX-License-Identifier: MIT
// Statistics of series: the database's equal those of counting the rows one by one, however the rows were cut into
// frames. Method: random rows of every type against a plain count.
#include "storage/log/series_stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/random_frame.h"

namespace tracker::internal {
namespace {

// Counts row by row.
void count_row(SeriesStats* s, ValueType type, uint64_t bits, bool has_step, int64_t step, int64_t time_us) {
  const double v = to_double(type, bits);
  if (s->points++ == 0) {
    s->first_bits = bits;
    s->time_first_us = s->time_last_us = time_us;
  }
  s->last_bits = bits;
  s->time_first_us = std::min(s->time_first_us, time_us);
  s->time_last_us = std::max(s->time_last_us, time_us);
  if (has_step) {
    s->step_min = s->has_steps ? std::min(s->step_min, step) : step;
    s->step_max = s->has_steps ? std::max(s->step_max, step) : step;
    s->last_step = step;
    s->has_steps = true;
  }
  if (std::isnan(v)) ++s->nan;
  else if (std::isinf(v)) ++(v > 0 ? s->pos_inf : s->neg_inf);
  else {
    s->min = s->finite > 0 ? std::min(s->min, v) : v;
    s->max = s->finite > 0 ? std::max(s->max, v) : v;
    ++s->finite;
  }
}

uint64_t random_value(std::mt19937_64& random, ValueType type) {
  const uint64_t special = random() % 10;
  if (type == ValueType::kFloat64 && special == 0) return bits_of(std::nan(""));
  if (type == ValueType::kFloat64 && special == 1) return bits_of(random() % 2 == 0 ? HUGE_VAL : -HUGE_VAL);
  if (type == ValueType::kFloat64) return bits_of(static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000));
  if (type == ValueType::kBool) return random() & 1;
  return random() & width_mask(type);
}

// Promise P3: A run is its log of frames; the tables follow from it.
TEST(SeriesStatsTest, StatisticsOverFramesEqualACountRowByRow) {
  auto random = seeded_random();
  for (int round = 0; round < 300; ++round) {
    const auto type = static_cast<ValueType>(1 + random() % 6);
    SeriesStats expected;
    SeriesMap actual;
    int64_t time = 1000, place = 0;
    for (uint64_t seq = 1; seq <= 5; ++seq) {
      Frame frame;
      frame.seq = seq;
      if (seq == 1) frame.defs = {{9, type, "m"}};
      for (size_t b = random() % 3; b > 0; --b) {
        Block block;
        block.has_steps = random() % 2 == 0;
        block.series = {9};
        block.types = {type};
        block.values.resize(1);
        for (size_t rows = random() % 20; rows > 0; --rows) {
          const auto step = static_cast<int64_t>(random() % 100) - 50;
          const uint64_t bits = random_value(random, type);
          if (block.has_steps) block.steps.push_back(step);
          block.times_us.push_back(time += static_cast<int64_t>(random() % 2));  // several a microsecond
          block.order.push_back(++place);
          block.values[0].push_back(bits);
          count_row(&expected, type, bits, block.has_steps, step, time);
        }
        frame.blocks.push_back(std::move(block));
      }
      const std::string bytes = encode_frame(frame);
      auto stats = compute_frame_stats(*FrameView::parse(bytes));
      ASSERT_TRUE(stats.ok());
      for (const auto& [id, later] : stats->series) append_stats(later, &actual[id]);
    }
    const SeriesStats& got = actual[9];
    EXPECT_EQ(got.def.name, "m");
    ASSERT_EQ(got.points, expected.points);
    if (expected.points == 0) continue;
    EXPECT_EQ(got.first_bits, expected.first_bits);
    EXPECT_EQ(got.last_bits, expected.last_bits);
    EXPECT_EQ(got.time_first_us, expected.time_first_us);
    EXPECT_EQ(got.time_last_us, expected.time_last_us);
    EXPECT_EQ(got.has_steps, expected.has_steps);
    if (got.has_steps) {
      EXPECT_EQ(got.step_min, expected.step_min);
      EXPECT_EQ(got.step_max, expected.step_max);
      EXPECT_EQ(got.last_step, expected.last_step);
    }
    EXPECT_EQ(got.finite, expected.finite);
    EXPECT_EQ(got.nan, expected.nan);
    EXPECT_EQ(got.pos_inf, expected.pos_inf);
    EXPECT_EQ(got.neg_inf, expected.neg_inf);
    if (got.finite > 0) {
      EXPECT_EQ(got.min, expected.min);
      EXPECT_EQ(got.max, expected.max);
    }
  }
}

TEST(SeriesStatsTest, WithinAFrameAndAMicrosecondTheRowLoggedLastIsTheLastWhateverTheOrderOfBlocks) {
  Frame frame;
  const auto block = [](int64_t place, double value) {
    Block b;
    b.series = {1};
    b.types = {ValueType::kFloat64};
    b.steps = {place};
    b.times_us = {100};
    b.order = {place};
    b.values = {{bits_of(value)}};
    return b;
  };
  frame.blocks = {block(200, 2.0), block(100, 1.0)};
  const std::string bytes = encode_frame(frame);
  const auto stats = compute_frame_stats(*FrameView::parse(bytes));
  const SeriesStats& s = stats->series.at(1);
  EXPECT_EQ(s.first_bits, bits_of(1.0));
  EXPECT_EQ(s.last_bits, bits_of(2.0));
  EXPECT_EQ(s.last_step, 200);
  EXPECT_EQ(s.points, 2u);
}

// A call of very many keys is one frame: the statistics of all of them at once took 60 MiB.
TEST(SeriesStatsTest, OfVeryManySeriesTheyComeInPartsThatAddUpToTheSame) {
  Frame frame;
  frame.defs = {{1, ValueType::kFloat64, "first"}};
  const auto add_block = [&frame](uint32_t first, uint32_t end, bool order) {
    Block b;
    b.has_steps = false;
    b.times_us = {first, end};
    if (order) b.order = {first, end};
    for (uint32_t id = first; id < end; ++id) {
      b.series.push_back(id);
      b.types.push_back(ValueType::kFloat64);
      b.values.push_back({bits_of(1.0 * id), bits_of(-1.0 * id)});
    }
    frame.blocks.push_back(std::move(b));
  };
  add_block(1, 4001, false);
  add_block(5000, 5010, true);
  add_block(5000, 5020, true);
  const std::string bytes = encode_frame(frame);
  const auto view = FrameView::parse(bytes);
  const auto whole = compute_frame_stats(*view);
  ASSERT_TRUE(whole.ok());
  SeriesMap sum;
  size_t largest = 0;
  const auto parts = compute_frame_stats(*view, [&](const SeriesMap& part) {
    largest = std::max(largest, part.size());
    for (const auto& [id, later] : part) append_stats(later, &sum[id]);
  });
  ASSERT_TRUE(parts.ok());
  EXPECT_LE(largest, 1024u);
  EXPECT_TRUE(parts->series.empty());
  EXPECT_EQ(parts->points, whole->points);
  EXPECT_EQ(parts->time_first_us, whole->time_first_us);
  EXPECT_EQ(parts->time_last_us, whole->time_last_us);
  ASSERT_EQ(sum.size(), whole->series.size());
  for (const auto& [id, stats] : whole->series) {
    const SeriesStats& other = sum.at(id);
    EXPECT_EQ(other.def, stats.def) << id;
    EXPECT_EQ(other.points, stats.points) << id;
    EXPECT_EQ(other.first_bits, stats.first_bits) << id;
    EXPECT_EQ(other.last_bits, stats.last_bits) << id;
    EXPECT_EQ(other.sum, stats.sum) << id;
  }
}

TEST(SeriesStatsTest, ADefinedSeriesWithoutRowsIsListed) {
  Frame frame;
  frame.defs = {{4, ValueType::kInt64, "later"}};
  const std::string bytes = encode_frame(frame);
  const auto stats = compute_frame_stats(*FrameView::parse(bytes));
  EXPECT_EQ(stats->series.at(4).def.name, "later");
  EXPECT_EQ(stats->series.at(4).points, 0u);
}

}  // namespace
}  // namespace tracker::internal
