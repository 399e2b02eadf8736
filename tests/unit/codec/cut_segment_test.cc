// SPDX-License-Identifier: MIT
// A segment can be cut after any frame number: both halves are segments of their frames, and merged again they are the
// segment. Method: random logs of one writer against the segments of the frames on each side; tables that are wrong.
#include "codec/cut_segment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codec/segment_encode.h"
#include "support/child.h"
#include "support/segment_model.h"

namespace tracker::internal {
namespace {

// Expects that `half` is a segment equal to the one made of these frames.
void expect_holds(const std::string& half, const std::vector<Frame>& frames) {
  ASSERT_EQ(half.empty(), frames.empty());
  if (frames.empty()) return;
  const std::string expected_bytes = segment_of(frames);
  auto view = SegmentView::parse(half), expected = SegmentView::parse(expected_bytes);
  ASSERT_TRUE(view.ok() && expected.ok()) << view.status().to_string();
  const Status sound = view->check();
  ASSERT_TRUE(sound.ok()) << sound.to_string();
  ASSERT_EQ(view->writer(), frames.front().writer);
  ASSERT_EQ(view->time_first_us(), expected->time_first_us());
  ASSERT_EQ(view->time_last_us(), expected->time_last_us());
  std::vector<SegmentFrame> table, expected_table;
  ASSERT_TRUE(view->frame_table(&table).ok());
  ASSERT_TRUE(expected->frame_table(&expected_table).ok());
  ASSERT_EQ(table, expected_table);
  ASSERT_TRUE(rows_of(&*view) == rows_of(frames));
  SegmentLog log;
  ASSERT_TRUE(view->log(&log).ok());
  expect_same_log(log, log_of(frames));
}

std::string merge_again(const SegmentHalves& halves, const Id128& writer) {
  SegmentBuilder builder(writer, size_t{1} << 30);
  for (const std::string& half : {halves.up_to, halves.after}) {
    if (half.empty()) continue;
    auto view = SegmentView::parse(half);
    EXPECT_TRUE(view.ok() && builder.add(&*view).ok());
  }
  return builder.finish().value_or("");
}

// Promise P3: A segment replaces its frames exactly and can be cut after any number.
TEST(CutSegmentTest, CuttingAfterEachNumberGivesTheSegmentsOfBothSidesWhichMakeItAgain) {
  auto random = seeded_random();
  for (int round = 0; round < 100 / kSlowDown; ++round) {
    RandomLog log(&random);
    const auto frames = log.frames(1 + random() % 6, round % 20 == 0 ? 1500 : 100);
    const std::string bytes = segment_of(frames);
    auto view = SegmentView::parse(bytes);
    ASSERT_TRUE(view.ok());
    for (uint64_t seq = frames.front().seq - 1; seq <= frames.back().seq; ++seq) {
      const auto halves = cut_segment(&*view, seq);
      ASSERT_TRUE(halves.ok()) << halves.status().to_string();
      const auto later = std::find_if(frames.begin(), frames.end(), [&](const Frame& f) { return f.seq > seq; });
      expect_holds(halves->up_to, {frames.begin(), later});
      expect_holds(halves->after, {later, frames.end()});
      ASSERT_TRUE(merge_again(*halves, view->writer()) == bytes) << "round " << round << ", after " << seq;
      if (HasFatalFailure()) return;
    }
  }
}

// The result of cutting a segment with this table: four rows, an event of the second frame, and what `change` does.
template <typename Change>
std::string refusal(const std::vector<SegmentFrame>& table, const Change& change) {
  Frame frame;
  frame.writer = Id128::hash_of("writer");
  frame.seq = 1;
  Block block;
  block.series = {1};
  block.types = {ValueType::kFloat64};
  block.steps = {1, 2, 3, 4};
  block.times_us = {1, 2, 3, 4};
  block.values = {{1, 2, 3, 4}};
  frame.blocks = {block};
  const std::string bytes = encode_frame(frame);
  SegmentParts parts;
  parts.writer = frame.writer;
  parts.frames = table;
  parts.rows = *SegmentRows::of(*FrameView::parse(bytes));
  parts.log.events = {{EventType::kText, false, 0, 1, "text"}};
  parts.log.event_seqs = {table[1].seq};
  change(&parts);
  const auto segment = encode_segment(&parts);
  auto view = SegmentView::parse(*segment);
  if (!view.ok()) return view.status().message();
  const auto halves = cut_segment(&*view, 1);
  return halves.ok() ? "" : halves.status().message();
}

TEST(CutSegmentTest, ATableThatIsNotOfTheseRowsAndEntriesIsRefusedByName) {
  const auto as_is = [](SegmentParts*) {};
  const auto says = [](const std::string& message, std::string_view what) {
    return message.find(what) != std::string::npos;
  };
  EXPECT_EQ(refusal({{1, 3}, {2, 1}}, as_is), "");
  EXPECT_TRUE(says(refusal({{1, 3}, {2, 2}}, as_is), "table of frames")) << refusal({{1, 3}, {2, 2}}, as_is);
  EXPECT_TRUE(says(refusal({{1, 3}, {2, 2}}, as_is), "more rows than the blocks have"));
  EXPECT_TRUE(says(refusal({{1, 3}, {2, 0}}, as_is), "1 rows of the blocks are in no frame"));
  EXPECT_TRUE(says(refusal({{1, 2}, {5, 1}, {4, 1}, {9, 0}}, as_is), "the numbers do not rise from 1 to 9"));
  EXPECT_TRUE(says(refusal({{1, 3}, {3, 1}}, [](SegmentParts* parts) { parts->log.event_seqs = {2}; }),
                   "frame 2 of its log is not in the table of frames"));
  EXPECT_TRUE(
      says(refusal({{1, 3}, {2, 1}}, [](SegmentParts* parts) { parts->rows.shapes()[0].ordinals = {1, 0, 2, 4}; }),
           "ordinals of the directory are not those of the rows"));
}

TEST(CutSegmentTest, MoreFramesThanTheLimitAreRefused) {
  const auto frames = [](uint64_t count) {
    SegmentParts parts;
    for (uint64_t seq = 1; seq <= count; ++seq) parts.frames.push_back({seq, 0});
    const auto bytes = encode_segment(&parts);
    const auto view = SegmentView::parse(*bytes);
    return view.ok() ? "" : view.status().message();
  };
  EXPECT_EQ(frames(kSegmentFramesMax), "");
  EXPECT_NE(frames(kSegmentFramesMax + 1).find("too many frames"), std::string::npos);
}

}  // namespace
}  // namespace tracker::internal
