// SPDX-License-Identifier: MIT
// Goal: the memory for writing a segment is bounded, and kLimit is returned when it is full. Method: frames of one text
// whose bytes are known, up to the limit and one byte beyond.
#include <gtest/gtest.h>

#include "codec/segment.h"

namespace tracker::internal {
namespace {

// What a builder counts for a frame of one text besides the text's bytes.
constexpr size_t kFrameBytes = sizeof(SegmentFrame) + sizeof(Event) + sizeof(uint64_t);

std::string text_frame(uint64_t seq, size_t held) {
  Frame frame;
  frame.writer = Id128::hash_of("writer");
  frame.seq = seq;
  frame.events = {{EventType::kText, true, 1, 1, std::string(held - kFrameBytes, 'x')}};
  return encode_frame(frame);
}

TEST(SegmentLimitsTest, ABuilderHoldsSixteenMebibytesUnlessItsCallerSaysMore) {
  const size_t quarter = kSegmentBuildBytesMax / 4;
  for (const size_t more : {0, 1}) {
    SegmentBuilder builder(Id128::hash_of("writer"));
    for (uint64_t seq = 1; seq < 4; ++seq) {
      const std::string bytes = text_frame(seq, quarter);
      ASSERT_TRUE(builder.add(*FrameView::parse(bytes)).ok());
    }
    const std::string last = text_frame(4, quarter + more);
    EXPECT_EQ(builder.add(*FrameView::parse(last)).code(), more == 0 ? Code::kOk : Code::kLimit);
    EXPECT_EQ(builder.bytes(), more == 0 ? kSegmentBuildBytesMax : 3 * quarter);
  }
  SegmentBuilder builder(Id128::hash_of("writer"), kSegmentBuildBytesMax + 1);
  for (uint64_t seq = 1; seq <= 4; ++seq) {
    const std::string bytes = text_frame(seq, quarter + (seq == 4 ? 1 : 0));
    EXPECT_TRUE(builder.add(*FrameView::parse(bytes)).ok());
  }
}

}  // namespace
}  // namespace tracker::internal
