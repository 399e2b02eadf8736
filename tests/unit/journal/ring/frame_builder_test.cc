// SPDX-License-Identifier: MIT
// Rows of one shape go into one block and come out in order; times of ticks are interpolated between anchors. Pure
// functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "journal/ring/frame_builder.h"
#include "journal/ring/ring_reader.h"

namespace tracker::internal {
namespace {

using Pairs = std::vector<ValuePair>;

TEST(FrameBuilderTest, EachShapeIsOneBlockWhateverTheOrderOfTheCalls) {
  FrameBuilder builder;
  for (int64_t step = 0; step < 100; ++step) {
    builder.add_values(Pairs{{1, 1, 0}, {2, 2, 0}}, step, true, step);
    builder.add_values(Pairs{{3, 2, 0}, {4, 1, 0}}, step, true, step);
    builder.add_values(Pairs{{5, 1, 0}}, step, true, step);
    builder.add_values(Pairs{{6, 1, 0}}, step, false, step);
  }
  EXPECT_EQ(builder.points(), 600u);
  const Frame frame = builder.take();
  ASSERT_EQ(frame.blocks.size(), 4u);
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.points(), 0u);
  EXPECT_EQ(frame.blocks[1].series, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(frame.blocks[1].values[0], std::vector<uint64_t>(100, 3));
  EXPECT_FALSE(frame.blocks[3].has_steps);
  EXPECT_TRUE(frame.blocks[3].steps.empty());
  EXPECT_TRUE(decode_frame(encode_frame(frame)).ok());
}

TEST(FrameBuilderTest, ACallThatNamesASeriesTwiceGivesTwoRowsInOrder) {
  FrameBuilder builder;
  builder.add_values(Pairs{{10, 1, 0}, {20, 2, 0}, {11, 1, 0}}, 5, true, 1);
  const Frame frame = builder.take();
  std::vector<uint64_t> of_one;
  for (const Block& block : frame.blocks)
    for (size_t i = 0; i < block.series.size(); ++i)
      if (block.series[i] == 1) of_one.insert(of_one.end(), block.values[i].begin(), block.values[i].end());
  EXPECT_EQ(of_one, (std::vector<uint64_t>{10, 11}));
  EXPECT_EQ(frame.points(), 3u);
}

TEST(FrameBuilderTest, BlocksThatShareAMetricKeepTheOrderOfTheCalls) {
  SeriesTable table;
  table.add({1, ValueType::kFloat64, "loss"});
  table.add({2, ValueType::kFloat64, "acc"});
  table.add({3, ValueType::kInt64, "loss"});
  table.add({4, ValueType::kFloat64, "alone"});
  FrameBuilder builder;
  builder.use_series(&table);
  builder.add_values(Pairs{{10, 1, 0}}, 0, true, 5);
  builder.add_values(Pairs{{11, 4, 0}}, 0, true, 5);
  builder.add_values(Pairs{{12, 3, 0}}, 0, true, 5);
  builder.add_values(Pairs{{13, 1, 0}, {14, 2, 0}}, 0, true, 5);
  builder.add_values(Pairs{{15, 1, 0}}, 0, true, 5);
  const Frame frame = builder.take();
  ASSERT_EQ(frame.blocks.size(), 4u);
  EXPECT_EQ(frame.blocks[0].order, (std::vector<int64_t>{0, 4}));
  EXPECT_TRUE(frame.blocks[1].order.empty());
  EXPECT_EQ(frame.blocks[2].order, (std::vector<int64_t>{2}));
  EXPECT_EQ(frame.blocks[3].order, (std::vector<int64_t>{3}));
  auto again = decode_frame(encode_frame(frame));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->blocks, frame.blocks);
}

// Logs what the drain of one tenth of a second may find, and hands the blocks back as the drain thread does.
std::string encoded_round(BlockPool* pool, int64_t round) {
  FrameBuilder builder(pool);
  for (uint32_t series = 1; series <= 300; ++series) {  // more than the pool keeps
    const auto bits = static_cast<uint64_t>(round * 1000 + series);
    builder.add_values(Pairs{{bits, series, 0}}, round, round % 2 == 0, round);
    if (series % 3 == 0) builder.add_values(Pairs{{bits, series, 0}, {bits + 1, series + 1000, 0}}, round, true, round);
  }
  for (int64_t row = 0; row < 200; ++row) builder.add_values(Pairs{{7, 5000, 0}}, row, true, row);
  Frame frame = builder.take();
  std::string out = encode_frame(frame);
  if (pool != nullptr) pool->give(std::move(frame.blocks));
  return out;
}

TEST(FrameBuilderTest, BlocksWhoseMemoryIsUsedAgainGiveTheSameFrames) {
  BlockPool pool;
  for (int64_t round = 0; round < 5; ++round)
    ASSERT_EQ(encoded_round(&pool, round), encoded_round(nullptr, round)) << round;
  EXPECT_EQ(pool.size(), kSpareBlocksMax) << "and no more are kept";
}

TEST(FrameBuilderTest, ALongBlockIsNotKept) {
  BlockPool pool;
  FrameBuilder builder(&pool);
  for (int64_t row = 0; row < 1000; ++row) builder.add_values(Pairs{{1, 1, 0}}, row, true, row);
  builder.add_values(Pairs{{1, 2, 0}}, 0, true, 0);
  pool.give(builder.take().blocks);
  EXPECT_EQ(pool.size(), 1u);
}

TEST(FrameBuilderTest, ABlockIsKeptUpToItsBoundOfCells) {
  const auto kept = [](size_t rows, size_t series) {
    Block block;
    block.series.resize(series);
    block.times_us.resize(rows);
    BlockPool pool;
    std::vector<Block> blocks;
    blocks.push_back(std::move(block));
    pool.give(std::move(blocks));
    return pool.size() == 1;
  };
  constexpr size_t kRows = kSpareBlockCellsMax / 4;
  static_assert(kRows * 4 == kSpareBlockCellsMax);
  EXPECT_TRUE(kept(kRows, 1));
  EXPECT_FALSE(kept(kRows + 1, 1));
  EXPECT_TRUE(kept(1, kSpareBlockCellsMax - 3));
  EXPECT_FALSE(kept(1, kSpareBlockCellsMax - 2));
}

TEST(TimeLineTest, BetweenTwoAnchorsTimeIsInterpolatedByTheMonotonicClock) {
  // 2 ticks a ns; realtime begins at 1 s.
  const TimeLine times({{1000, 0, 1'000'000'000}, {3'001'000, 1'500'000, 1'001'500'000}}, 99.0);
  EXPECT_EQ(times.wall_us(1000), 1'000'000);
  EXPECT_EQ(times.wall_us(1'501'000), 1'000'750);
  EXPECT_EQ(times.wall_us(3'001'000), 1'001'500);
}

TEST(TimeLineTest, OutsideOfTheAnchorsTheEstimatedRateIsUsed) {
  const TimeLine times({{2'000'000, 0, 1'000'000'000}}, 2.0);
  EXPECT_EQ(times.wall_us(4'000'000), 1'001'000);
  EXPECT_EQ(times.wall_us(0), 999'000);
}

TEST(TimeLineTest, AfterAStepOfTheClockRowsBeforeItKeepTheOldTime) {
  // Realtime jumps by an hour between the two anchors; the monotonic clock does not.
  const int64_t hour = 3'600'000'000'000;
  const TimeLine times({{1000, 1000, 1'000'000'000}, {2'001'000, 2'001'000, 1'002'000'000 + hour}}, 1.0);
  EXPECT_EQ(times.wall_us(1'001'000), 1'001'000);
  EXPECT_EQ(times.wall_us(2'001'000), (1'002'000'000 + hour) / 1000);
  EXPECT_LT(times.wall_us(2'000'999), 1'002'001);
}

// Bug: after a clock that is slewed the last rows of a drain were later than the first of the next.
TEST(TimeLineTest, NoRowIsLaterThanTheAnchorBehindIt) {
  const TimeLine times({{1000, 0, 1'000'000'000}, {2'001'000, 2'000'000, 1'001'990'000}}, 1.0);
  EXPECT_EQ(times.wall_us(2'000'999), 1'001'990);
  EXPECT_EQ(times.wall_us(1'001'000), 1'001'000);
  const TimeLine back({{1000, 0, 1'000'000'000}, {2'001'000, 2'000'000, 900'000'000}}, 1.0);
  EXPECT_EQ(back.wall_us(2'000'000), 1'001'999) << "an anchor of a clock that was set back bounds nothing";
}

TEST(TimeLineTest, WithoutAnyAnchorNothingBreaks) {
  EXPECT_EQ(TimeLine({}, 0).wall_us(5), 0);
  EXPECT_EQ(TimeLine({{0, 0, 0}}, -1).wall_us(5), 0);
}

}  // namespace
}  // namespace tracker::internal
