// SPDX-License-Identifier: MIT
// Frames: what is encoded comes back, single columns can be read, and the layout is the documented one.
// Method: random frames, and the worked example of docs/formats/frame.md byte by byte.
#include "codec/frame.h"

#include <gtest/gtest.h>

#include "support/random_frame.h"

namespace tracker::internal {
namespace {

// The frame of docs/formats/frame.md, "A worked example".
Frame example_frame() {
  Frame frame;
  for (size_t i = 0; i < 16; ++i) frame.writer.bytes[i] = static_cast<uint8_t>(i);
  frame.seq = 1;
  frame.defs = {{1, ValueType::kFloat64, "loss"}};
  Block block;
  block.series = {1};
  block.types = {ValueType::kFloat64};
  block.steps = {0, 1, 2};
  block.times_us = {1'700'000'000'000'000, 1'700'000'000'001'000, 1'700'000'000'002'500};
  block.values = {{bits_of(0.5), bits_of(0.25), bits_of(0.125)}};
  frame.blocks = {block};
  frame.losses = {{1, LossReason::kRingFull, 2}};
  return frame;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

TEST(FrameTest, TheWorkedExampleHasTheDocumentedBytes) {
  EXPECT_EQ(hex(encode_frame(example_frame())),
            "5446524d0100000075000000000102030405060708090a0b0c0d0e0f01000000000000000108000000010101046c6f73"
            "7302320000000301010101040d1903000202038080f28183898506d00fb81700000000000000e03f000000000000d03f"
            "000000000000c03f0404000000010101025d1bac6e");
}

TEST(FrameTest, RandomFramesComeBack) {
  auto random = seeded_random();
  for (int round = 0; round < 2000; ++round) {
    const Frame frame = random_frame(random);
    auto back = decode_frame(encode_frame(frame));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    ASSERT_EQ(*back, frame);
  }
}

TEST(FrameTest, AnEmptyFrameIsAHeaderAndACrc) {
  const std::string bytes = encode_frame(Frame());
  EXPECT_EQ(bytes.size(), 40u);
  auto back = decode_frame(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->empty());
}

TEST(FrameTest, BlocksWithoutTypesAreStoredAsEightBytes) {
  Frame frame = example_frame();
  frame.blocks[0].types.clear();
  auto back = decode_frame(encode_frame(frame));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->blocks[0].types, std::vector<ValueType>{ValueType::kFloat64});
  EXPECT_EQ(back->blocks[0].values, frame.blocks[0].values);
}

TEST(FrameTest, ASingleColumnIsReadWithoutTheOthers) {
  const std::string bytes = encode_frame(example_frame());
  auto view = FrameView::parse(bytes);
  ASSERT_TRUE(view.ok());
  ASSERT_EQ(view->blocks().size(), 1u);
  EXPECT_EQ(view->points(), 3u);
  const FrameView::BlockView& block = view->blocks()[0];
  std::vector<uint64_t> values;
  ASSERT_TRUE(FrameView::read_values(block.values[0], block.rows, block.types[0], &values).ok());
  EXPECT_EQ(values, example_frame().blocks[0].values[0]);
  std::vector<int64_t> steps;
  ASSERT_TRUE(FrameView::read_ints(block.steps, block.rows, &steps).ok());
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1, 2}));
}

TEST(FrameTest, PointsCountValuesOfAllBlocks) {
  Frame frame = example_frame();
  frame.blocks.push_back(frame.blocks[0]);
  EXPECT_EQ(frame.points(), 6u);
}

}  // namespace
}  // namespace tracker::internal
