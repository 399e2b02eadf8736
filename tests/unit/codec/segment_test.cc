// SPDX-License-Identifier: MIT
// A segment returns everything that its frames held: rows in the order of the frames, definitions, events and losses;
// and its directory is right. Method: random logs of one writer against the plain model of support/segment_model.h, and
// chosen cases.
#include "codec/segment.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <cstring>

#include "codec/segment_parse.h"
#include "support/child.h"
#include "support/segment_model.h"

namespace tracker::internal {
namespace {

SegmentView parsed(const std::string& bytes) {
  auto view = SegmentView::parse(bytes);
  EXPECT_TRUE(view.ok()) << view.status().to_string();
  return std::move(*view);
}

// One frame of one shape: float32 series 1, rows with these steps.
Frame frame_of(uint64_t seq, const std::vector<int64_t>& steps, float first = 0) {
  Frame frame;
  frame.writer = Id128::hash_of("writer");
  frame.seq = seq;
  Block block;
  block.series = {1};
  block.types = {ValueType::kFloat32};
  block.values.resize(1);
  for (size_t i = 0; i < steps.size(); ++i) {
    block.steps.push_back(steps[i]);
    block.times_us.push_back(static_cast<int64_t>(1000 * seq + i));
    block.values[0].push_back(bits_of(first + static_cast<float>(i)));
  }
  frame.blocks.push_back(block);
  return frame;
}

TEST(SegmentTest, GivesBackWhatTheFramesHeld) {
  auto random = seeded_random();
  for (int round = 0; round < 400 / kSlowDown; ++round) {
    RandomLog log(&random);
    const auto frames = log.frames(1 + random() % 6, round % 20 == 0 ? 3000 : 200);
    const std::string bytes = segment_of(frames);
    SegmentView view = parsed(bytes);
    ASSERT_EQ(view.writer(), frames.front().writer);
    ASSERT_EQ(view.first_seq(), frames.front().seq);
    ASSERT_EQ(view.last_seq(), frames.back().seq);
    ASSERT_EQ(view.frames(), frames.size());
    uint64_t points = 0;
    for (const Frame& frame : frames) points += frame.points();
    ASSERT_EQ(view.points(), points);
    ASSERT_TRUE(rows_of(&view) == rows_of(frames)) << "round " << round;
    SegmentLog rest;
    ASSERT_TRUE(view.log(&rest).ok());
    expect_same_log(rest, log_of(frames));
    const Status sound = view.check();
    ASSERT_TRUE(sound.ok()) << sound.to_string();
  }
}

TEST(SegmentTest, MergedSegmentsHoldWhatOneSegmentOfAllFramesHolds) {
  auto random = seeded_random();
  for (int round = 0; round < 200 / kSlowDown; ++round) {
    RandomLog log(&random);
    const auto frames = log.frames(2 + random() % 8, 200);
    SegmentBuilder builder(frames.front().writer);
    for (size_t at = 0; at < frames.size();) {
      const size_t n = std::min<size_t>(1 + random() % 3, frames.size() - at);
      const std::vector<Frame> some(frames.begin() + at, frames.begin() + at + n);
      const std::string bytes = n == 1 ? encode_frame(some[0]) : segment_of(some);
      if (n == 1) {
        ASSERT_TRUE(builder.add(*FrameView::parse(bytes)).ok());
      } else {
        SegmentView part = parsed(bytes);
        ASSERT_TRUE(builder.add(&part).ok());
      }
      at += n;
    }
    auto bytes = builder.finish();
    ASSERT_TRUE(bytes.ok());
    EXPECT_TRUE(builder.empty());
    SegmentView view = parsed(*bytes);
    ASSERT_EQ(view.first_seq(), frames.front().seq);
    ASSERT_EQ(view.last_seq(), frames.back().seq);
    ASSERT_EQ(view.frames(), frames.size());
    ASSERT_TRUE(rows_of(&view) == rows_of(frames)) << "round " << round;
    SegmentLog rest;
    ASSERT_TRUE(view.log(&rest).ok());
    expect_same_log(rest, log_of(frames));
    ASSERT_TRUE(view.check().ok());
    // Not only the same rows: the same blocks.
    const std::string at_once = segment_of(frames);
    SegmentView whole = parsed(at_once);
    ASSERT_EQ(view.blocks().size(), whole.blocks().size());
    for (size_t b = 0; b < view.blocks().size(); ++b)
      ASSERT_TRUE(view.blocks()[b].summaries == whole.blocks()[b].summaries);
    std::vector<SegmentFrame> merged, at_once_table;
    ASSERT_TRUE(view.frame_table(&merged).ok());
    ASSERT_TRUE(whole.frame_table(&at_once_table).ok());
    ASSERT_EQ(merged, at_once_table);
  }
}

TEST(SegmentTest, AnyRangeOfRowsIsThatOfTheWhole) {
  auto random = seeded_random();
  for (int round = 0; round < 60; ++round) {
    RandomLog log(&random);
    const std::string bytes = segment_of(log.frames(3, 1500));
    SegmentView view = parsed(bytes);
    for (size_t b = 0; b < view.blocks().size(); ++b) {
      const SegmentBlock& block = view.blocks()[b];
      std::vector<uint64_t> whole(block.rows), part(block.rows);
      std::vector<int64_t> times(block.rows), some(block.rows);
      ASSERT_TRUE(view.times(b, RowRange(), times.data()).ok());
      for (size_t i = 0; i < block.series.size(); ++i) {
        ASSERT_TRUE(view.value_bits(b, i, RowRange(), whole.data()).ok());
        for (int n = 0; n < 10; ++n) {
          const uint64_t begin = random() % (block.rows + 1);
          const uint64_t end = begin + random() % (block.rows + 2);
          const uint64_t rows = std::min(end, block.rows) - begin;
          ASSERT_TRUE(view.value_bits(b, i, {begin, end}, part.data()).ok());
          ASSERT_TRUE(std::equal(part.begin(), part.begin() + rows, whole.begin() + begin));
          ASSERT_TRUE(view.times(b, {begin, end}, some.data()).ok());
          ASSERT_TRUE(std::equal(some.begin(), some.begin() + rows, times.begin() + begin));
        }
      }
    }
  }
}

TEST(SegmentTest, StepsThatGoBackAreSortedAndTheOrderIsKept) {
  const std::string bytes = segment_of({frame_of(1, {1, 2, 3, 4}), frame_of(2, {3, 4, 5}, 10)});
  SegmentView view = parsed(bytes);
  ASSERT_EQ(view.blocks().size(), 1u);
  const SegmentBlock& block = view.blocks()[0];
  EXPECT_FALSE(block.steps_increase);
  EXPECT_TRUE(block.has_order);
  std::vector<int64_t> steps(block.rows);
  std::vector<uint64_t> order(block.rows);
  std::vector<float> values(block.rows);
  ASSERT_TRUE(view.steps(0, {}, steps.data()).ok());
  ASSERT_TRUE(view.order(0, {}, order.data()).ok());
  ASSERT_TRUE(view.values(0, 0, {}, values.data()).ok());
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 3, 4, 4, 5}));
  EXPECT_EQ(order, (std::vector<uint64_t>{0, 1, 2, 4, 3, 5, 6}));
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 10, 3, 11, 12}));
}

// A thousand calls of 20 metrics make a segment: each frame has one of these numbers of calls.
double table_bytes_a_point(const std::vector<size_t>& calls_a_frame) {
  std::mt19937_64 random(1);
  std::vector<Frame> frames;
  int64_t step = 0;
  while (step < 1000) {
    Frame frame;
    frame.writer = Id128::hash_of("writer");
    frame.seq = frames.size() + 1;
    Block block;
    for (uint32_t id = 1; id <= 20; ++id) block.series.push_back(id);
    block.types.assign(20, ValueType::kFloat32);
    block.values.resize(20);
    for (size_t call = calls_a_frame[random() % calls_a_frame.size()]; call > 0; --call, ++step) {
      block.steps.push_back(step);
      block.times_us.push_back(1000 * step);
      for (auto& column : block.values) column.push_back(bits_of(static_cast<float>(step)));
    }
    frame.blocks.push_back(std::move(block));
    frames.push_back(std::move(frame));
  }
  const std::string bytes = segment_of(frames);
  const auto directory = parse_segment(bytes, bytes.size());
  EXPECT_TRUE(directory.ok());
  constexpr size_t kLengths = 1 + 1 + sizeof(uint32_t);  // of the numbers, of the rows, and their CRC
  const uint64_t table = directory->frame_numbers.size + directory->frame_rows.size + kLengths;
  return static_cast<double>(table) / static_cast<double>(directory->points);
}

TEST(SegmentTest, TheTableOfFramesTakesAFiftiethOfAByteAPointAtMost) {
  EXPECT_LE(table_bytes_a_point({1}), 0.001);
  EXPECT_LE(table_bytes_a_point({10}), 0.001);
  EXPECT_LE(table_bytes_a_point({1, 2, 1, 1, 3, 1, 2, 2, 1, 0}), 0.02);
  EXPECT_LE(table_bytes_a_point({10, 9, 11, 10, 12, 8, 10, 10, 7, 13}), 0.005);
}

TEST(SegmentTest, RisingStepsNeedNoOrder) {
  const std::string bytes = segment_of({frame_of(1, {1, 2, 3}), frame_of(2, {4, 9})});
  SegmentView view = parsed(bytes);
  const SegmentBlock& block = view.blocks()[0];
  EXPECT_TRUE(block.steps_increase);
  EXPECT_FALSE(block.has_order);
  EXPECT_EQ(block.steps, (StepSummary{1, 9}));
}

TEST(SegmentTest, CallsWithTheirKeysInAnotherOrderMakeOneBlockInRawOrder) {
  for (const bool has_steps : {false, true}) {
    Frame frame = frame_of(1, {7, 7, 7});
    Block& first = frame.blocks[0];
    first.has_steps = has_steps;
    if (!has_steps) first.steps.clear();
    first.series = {1, 2};
    first.types.assign(2, ValueType::kFloat32);
    first.values.push_back(first.values[0]);
    first.times_us = {10, 30, 50};
    Block second = first;
    std::swap(second.series[0], second.series[1]);
    second.times_us = {20, 40, 60};
    frame.blocks.push_back(second);
    const std::string bytes = segment_of({frame});
    SegmentView view = parsed(bytes);
    ASSERT_EQ(view.blocks().size(), 1u);
    EXPECT_FALSE(view.blocks()[0].has_order);
    std::vector<int64_t> times(6);
    ASSERT_TRUE(view.times(0, {}, times.data()).ok());
    EXPECT_EQ(times, (std::vector<int64_t>{10, 20, 30, 40, 50, 60}));
  }
}

TEST(SegmentTest, ASummaryCountsWhatIsNotFiniteAndKeepsTheRest) {
  Frame frame = frame_of(1, {0, 1, 2, 3, 4, 5});
  frame.blocks[0].values[0] = {bits_of(2.0f),       0x7fc00001,     bits_of(HUGE_VALF),
                               bits_of(-HUGE_VALF), bits_of(-0.0f), bits_of(0.0f)};
  const std::string bytes = segment_of({frame});
  SegmentView view = parsed(bytes);
  const ValueSummary& all = view.blocks()[0].summaries[0];
  EXPECT_EQ(all.rows, 6u);
  EXPECT_EQ(all.nan, 1u);
  EXPECT_EQ(all.pos_inf, 1u);
  EXPECT_EQ(all.neg_inf, 1u);
  EXPECT_EQ(all.min_bits, bits_of(-0.0f));
  EXPECT_EQ(all.max_bits, bits_of(2.0f));
  EXPECT_EQ(all.first_bits, bits_of(2.0f));
  EXPECT_EQ(all.last_bits, bits_of(0.0f));
  EXPECT_EQ(all.sum, 2.0);
}

TEST(SegmentTest, AColumnIsFetchedOnlyWhenItIsUsed) {
  auto random = seeded_random();
  RandomLog log(&random);
  auto frames = log.frames(2, 2000);
  frames.push_back(frame_of(frames.back().seq + 1, {1, 2, 3}));
  frames.back().writer = frames.front().writer;
  const std::string bytes = segment_of(frames);
  auto head = SegmentView::head_bytes(std::string_view(bytes).substr(0, kSegmentHeaderBytes), bytes.size());
  ASSERT_TRUE(head.ok());
  uint64_t fetched = 0;
  auto view = SegmentView::open(std::string_view(bytes).substr(0, *head), bytes.size(),
                                [&](uint64_t offset, uint64_t size) -> Result<std::string_view> {
                                  fetched += size;
                                  return std::string_view(bytes).substr(offset, size);
                                });
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(fetched, 0u);
  std::vector<int64_t> times(view->blocks().back().rows);
  ASSERT_TRUE(view->times(view->blocks().size() - 1, {}, times.data()).ok());
  const uint64_t once = fetched;
  EXPECT_GT(once, 0u);
  EXPECT_LT(once, bytes.size() / 2);
  ASSERT_TRUE(view->times(view->blocks().size() - 1, {}, times.data()).ok());
  EXPECT_EQ(fetched, once);
}

TEST(SegmentTest, AFrameThatDoesNotFollowIsRefusedAndNothingChanges) {
  SegmentBuilder builder(Id128::hash_of("writer"));
  const std::string second = encode_frame(frame_of(2, {1, 2}));
  ASSERT_TRUE(builder.add(*FrameView::parse(second)).ok());
  EXPECT_EQ(builder.add(*FrameView::parse(second)).code(), Code::kInvalid);
  Frame foreign = frame_of(3, {1});
  foreign.writer = Id128::hash_of("another");
  const std::string other = encode_frame(foreign);
  EXPECT_EQ(builder.add(*FrameView::parse(other)).code(), Code::kInvalid);
  EXPECT_EQ(builder.points(), 2u);
  EXPECT_EQ(builder.last_seq(), 2u);
}

TEST(SegmentTest, AFullBuilderSaysSoAndTakesTheFrameAfterwards) {
  SegmentBuilder builder(Id128::hash_of("writer"), 1000);
  const std::string first = encode_frame(frame_of(1, std::vector<int64_t>(30, 7)));
  const std::string second = encode_frame(frame_of(2, std::vector<int64_t>(30, 7)));
  ASSERT_TRUE(builder.add(*FrameView::parse(first)).ok());
  EXPECT_EQ(builder.add(*FrameView::parse(second)).code(), Code::kLimit);
  auto segment = builder.finish();
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(parsed(*segment).points(), 30u);
  EXPECT_TRUE(builder.add(*FrameView::parse(second)).ok());
  EXPECT_EQ(builder.first_seq(), 2u);
}

// One row of each of `count` series from `first` on, which alternate between two types.
Frame wide_frame(uint64_t seq, uint32_t first, uint32_t count) {
  Frame frame;
  frame.writer = Id128::hash_of("writer");
  frame.seq = seq;
  Block block;
  block.steps = {static_cast<int64_t>(seq)};
  block.times_us = {static_cast<int64_t>(1000 * seq)};
  for (uint32_t id = first; id < first + count; ++id) {
    block.series.push_back(id);
    block.types.push_back(id % 2 == 0 ? ValueType::kFloat64 : ValueType::kBool);
    block.values.push_back({id % 2 == 0 ? bits_of(0.5 * id) : 1});
  }
  frame.blocks.push_back(std::move(block));
  return frame;
}

TEST(SegmentTest, SeriesOfFewRowsAreHeldInLittleMoreThanTheirValues) {
  constexpr uint32_t kFrames = 20, kColumns = 4000;
  SegmentBuilder builder(Id128::hash_of("writer"));
  const auto before = static_cast<int64_t>(::mallinfo2().uordblks + ::mallinfo2().hblkhd);
  std::vector<Frame> frames;
  int64_t held = 0;
  for (uint32_t seq = 1; seq <= kFrames; ++seq) {
    const std::string bytes = encode_frame(wide_frame(seq, seq * kColumns, kColumns));
    ASSERT_TRUE(builder.add(*FrameView::parse(bytes)).ok());
  }
  held = static_cast<int64_t>(::mallinfo2().uordblks + ::mallinfo2().hblkhd) - before;
  EXPECT_LT(held, int64_t{20} * kFrames * kColumns);  // 4.5 of them are values; 0 where another malloc is in use
  for (uint32_t seq = 1; seq <= kFrames; ++seq) frames.push_back(wide_frame(seq, seq * kColumns, kColumns));
  SegmentTimes times;
  auto segment = builder.finish(&times);
  ASSERT_TRUE(segment.ok());
  SegmentView view = parsed(*segment);
  EXPECT_TRUE(rows_of(&view) == rows_of(frames));
  EXPECT_EQ(times.first_us, view.time_first_us());
  EXPECT_EQ(times.last_us, view.time_last_us());
}

TEST(SegmentTest, ABuilderIsFullOfSeriesBeforeItIsFullOfRows) {
  constexpr uint32_t kColumns = 100;
  const size_t bytes_max = 50 * kColumns * kSegmentColumnBytes;
  SegmentBuilder same(Id128::hash_of("writer"), bytes_max), others(Id128::hash_of("writer"), bytes_max);
  uint64_t seq = 1;
  for (; seq < 200; ++seq) ASSERT_TRUE(same.add(*FrameView::parse(encode_frame(wide_frame(seq, 1, kColumns)))).ok());
  Status status;
  for (seq = 1; status.ok() && seq < 200; ++seq)
    status = others.add(*FrameView::parse(encode_frame(wide_frame(seq, static_cast<uint32_t>(seq) * 1000, kColumns))));
  EXPECT_EQ(status.code(), Code::kLimit);
  EXPECT_LT(others.last_seq(), 50u);
  EXPECT_LE(others.bytes(), bytes_max);
}

TEST(SegmentTest, AFrameThatWouldExpandBeyondTheLimitStaysAFrame) {
  const size_t rows = kSegmentFirstBytesMax / 28 + 1;  // step, time, ordinal and a float32
  const std::string bytes = encode_frame(frame_of(1, std::vector<int64_t>(rows, 7)));
  auto view = FrameView::parse(bytes);
  ASSERT_TRUE(view.ok());
  SegmentBuilder builder(Id128::hash_of("writer"));
  EXPECT_EQ(builder.add(*view).code(), Code::kLimit);
  EXPECT_TRUE(builder.empty());
}

TEST(SegmentTest, AFrameWithSectionsOfANewerVersionStaysAFrame) {
  std::string bytes = encode_frame(frame_of(1, {1}));
  bytes.insert(bytes.size() - 4, std::string("\xc8\x01\x00\x00\x00?", 6));  // section 200, one byte
  const auto size = static_cast<uint32_t>(bytes.size());
  std::memcpy(bytes.data() + 8, &size, 4);
  auto view = FrameView::parse(bytes, false);
  ASSERT_TRUE(view.ok());
  SegmentBuilder builder(Id128::hash_of("writer"));
  EXPECT_EQ(builder.add(*view).code(), Code::kVersion);
  EXPECT_TRUE(builder.empty());
}

TEST(SegmentTest, ASeriesNamedTwiceInACallKeepsBothValues) {
  Frame frame = frame_of(1, {5, 6});
  frame.blocks[0].series = {1, 1};
  frame.blocks[0].types = {ValueType::kFloat32, ValueType::kFloat32};
  frame.blocks[0].values.push_back({bits_of(70.0f), bits_of(80.0f)});
  const std::string bytes = segment_of({frame});
  SegmentView view = parsed(bytes);
  EXPECT_TRUE(rows_of(&view) == rows_of({frame}));
}

// Regression: a frame of 30 KB that names one series 6,000 times, constants each, was decoded into 120 MB. Each
// repetition needs steps, times and ordinals of its own, and only the values were counted.
TEST(SegmentTest, AFrameThatNamesOneSeriesThousandsOfTimesStaysAFrame) {
  constexpr size_t kTimes = 6'000, kRows = 500;
  Frame frame = frame_of(1, std::vector<int64_t>(kRows, 7));
  frame.blocks[0].series.assign(kTimes, 1);
  frame.blocks[0].types.assign(kTimes, ValueType::kBool);
  frame.blocks[0].values.assign(kTimes, std::vector<uint64_t>(kRows, 1));
  const std::string bytes = encode_frame(frame);
  auto view = FrameView::parse(bytes);
  ASSERT_TRUE(view.ok());
  SegmentBuilder builder(Id128::hash_of("writer"));
  EXPECT_EQ(builder.add(*view).code(), Code::kLimit);
  EXPECT_TRUE(builder.empty());
}

// A single row: what counts is the number of repetitions.
TEST(SegmentTest, AFrameThatNamesOneSeriesInEachOfItsColumnsStaysAFrame) {
  constexpr size_t kTimes = 400'000;
  Frame frame = frame_of(1, {7});
  frame.blocks[0].series.assign(kTimes, 1);
  frame.blocks[0].types.assign(kTimes, ValueType::kBool);
  frame.blocks[0].values.assign(kTimes, {1});
  const std::string bytes = encode_frame(frame);
  auto view = FrameView::parse(bytes);
  ASSERT_TRUE(view.ok());
  SegmentBuilder builder(Id128::hash_of("writer"));
  EXPECT_EQ(builder.add(*view).code(), Code::kLimit);
}

TEST(SegmentTest, FramesWithoutRowsMakeASegmentToo) {
  Frame frame;
  frame.writer = Id128::hash_of("writer");
  frame.seq = 9;
  frame.events = {{EventType::kText, true, -3, 77, std::string(10'000, 'x')}};
  frame.losses = {{1, LossReason::kRingFull, 3}};
  Frame next = frame;
  next.seq = 11;
  const std::string bytes = segment_of({frame, next});
  EXPECT_LT(bytes.size(), 500u);  // text is compressed
  SegmentView view = parsed(bytes);
  EXPECT_TRUE(view.blocks().empty());
  EXPECT_EQ(view.time_first_us(), 77);
  SegmentLog log;
  ASSERT_TRUE(view.log(&log).ok());
  EXPECT_EQ(log.events.size(), 2u);
  EXPECT_EQ(log.losses, (std::vector<Loss>{{1, LossReason::kRingFull, 3}, {1, LossReason::kRingFull, 3}}));
  EXPECT_EQ(log.loss_seqs, (std::vector<uint64_t>{9, 11}));
}

TEST(SegmentTest, TheWorkedExampleOfTheDocumentIsWhatIsWritten) {
  std::vector<Frame> frames(2);
  for (uint64_t seq = 1; seq <= 2; ++seq) {
    Frame& frame = frames[seq - 1];
    for (uint8_t i = 0; i < 16; ++i) frame.writer.bytes[i] = i;
    frame.seq = seq;
    if (seq == 1) frame.defs = {{1, ValueType::kFloat32, "loss"}};
    Block block;
    block.series = {1};
    block.types = {ValueType::kFloat32};
    block.values.resize(1);
    for (int64_t step = 8 * (static_cast<int64_t>(seq) - 1); step < 8 * static_cast<int64_t>(seq); ++step) {
      block.steps.push_back(step);
      block.times_us.push_back(1'700'000'000'000'000 + 1000 * step);
      block.values[0].push_back(step == 5 ? 0x7fc00000 : bits_of(0.5f + static_cast<float>(step * 7 % 16) / 1024));
    }
    frame.blocks.push_back(block);
  }
  std::string hex;
  for (const char byte : segment_of(frames)) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<uint8_t>(byte));
    hex += text;
  }
  EXPECT_EQ(hex,
            "5453454701000000f2000000000102030405060708090a0b0c0d0e0f010000000000000002000000000000004c000000872c60d4"
            "028080f281838985069875370cf36fbe000388928fb5011003009875000f117066182c112ecb3b6f010102010100000000003f00"
            "40023f0000003f00c0033f0000000000751e40161ff8b9a5005446524d0100000035000000000102030405060708090a0b0c0d0e"
            "0f02000000000000000108000000010102046c6f7373c977fd9a0003100002000000000000000001000000000000000200401e18"
            "240a0600e803000000000000040e020000fc0200170401705e0c1af8d6b49205c040");
}

}  // namespace
}  // namespace tracker::internal
