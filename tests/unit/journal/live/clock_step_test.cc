// SPDX-License-Identifier: MIT
// A wall clock that is set while a run logs is an event of the run, and the order of its rows stays that of the
// monotonic clock, live and in recovery. Method: the journal's clock is given an offset between drains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "journal/dead/dead_journal.h"
#include "support/child.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

std::atomic<int64_t> g_offset_ns{0};

TimeAnchor stepped_clock() {
  TimeAnchor out = read_anchor();
  out.realtime_ns += g_offset_ns.load();
  return out;
}

JournalOptions stepped() {
  g_offset_ns = 0;
  JournalOptions options;
  options.read_clock = stepped_clock;
  return options;
}

std::vector<double> steps_in(const std::vector<Frame>& frames) {
  std::vector<double> out;
  for (const Frame& frame : frames)
    for (const Event& event : frame.events) {
      auto note = decode_cbor(event.payload);
      if (event.type != EventType::kNote || !note.ok() || note->text_or("kind", "") != "clock_step") continue;
      const Value* seconds = note->find("seconds");
      out.push_back(seconds != nullptr && seconds->as_double() != nullptr ? *seconds->as_double() : 0);
    }
  return out;
}

std::vector<int64_t> times_of(const std::vector<Frame>& frames) {
  std::vector<int64_t> out;
  for (const Frame& frame : frames)
    for (const Block& block : frame.blocks) out.insert(out.end(), block.times_us.begin(), block.times_us.end());
  return out;
}

// Promise P5: A step of the clock by more than a second is an event of the run, once.
TEST(ClockStepTest, AStepOfMoreThanASecondIsAnEventOnce) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, stepped());
  const uint32_t id = journal->series_id("x", ValueType::kInt64);
  ASSERT_EQ(journal.log(id, 0, 0), Code::kOk);
  EXPECT_THAT(steps_in(journal.drain()), ::testing::IsEmpty());
  for (const int64_t seconds : {-3600, 86'400, 2}) {
    g_offset_ns += seconds * 1'000'000'000;
    EXPECT_THAT(steps_in(journal.drain()), ::testing::ElementsAre(::testing::DoubleNear(double(seconds), 0.5)));
    EXPECT_THAT(steps_in(journal.drain()), ::testing::IsEmpty());
  }
  for (int i = 0; i < 10; ++i) {
    g_offset_ns += 500'000'000;  // a clock that is slewed, or a leap second's half
    EXPECT_THAT(steps_in(journal.drain()), ::testing::IsEmpty());
  }
}

// Bug: times went back with a clock that was set back, so that rows in the order logged had negative differences.
// Promise P6: The order within a writer follows the monotonic clock, and its times never go back.
TEST(ClockStepTest, TimesNeverGoBackAndFollowAClockThatIsSetForward) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, stepped());
  const uint32_t id = journal->series_id("x", ValueType::kInt64);
  std::vector<Cell> cells;
  std::vector<int64_t> times;
  for (int64_t round = 0; round < 3; ++round) {
    for (int64_t i = 0; i < 5; ++i) ASSERT_EQ(journal.log(id, 0, round * 5 + i), Code::kOk);
    if (round == 0) g_offset_ns -= 86'400'000'000'000;  // a day back, between the records and their drain
    if (round == 1) g_offset_ns += 90'000'000'000'000;  // and 25 hours forward
    const std::vector<Frame> frames = journal.drain();
    for (const Cell& cell : cells_of(frames)) cells.push_back(cell);
    for (const int64_t time : times_of(frames)) times.push_back(time);
  }
  ASSERT_EQ(cells.size(), 15u);
  for (size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(cells[i].step, static_cast<int64_t>(i));
  ASSERT_EQ(times.size(), 15u);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_LT(times[9] - times[0], 3'600'000'000) << "a day back: on with the monotonic clock";
  EXPECT_NEAR(static_cast<double>(times[10] - times[9]), 3.6e9, 1e9) << "an hour ahead of where it was";
}

TEST(ClockStepTest, RecoveryKeepsTheOrderOverAStep) {
  Sandbox sandbox;
  ASSERT_EQ(exit_code_of(run_child([&] {
              LiveJournal journal(sandbox, stepped());
              const uint32_t id = journal->series_id("x", ValueType::kInt64);
              for (int64_t step = 0; step < 30; ++step) {
                if (step % 10 == 5) g_offset_ns += step == 15 ? 86'400'000'000'000 : -7'200'000'000'000;
                if (step % 5 == 0) journal->begin_drain();  // an anchor; nothing is committed
                CHILD_CHECK(journal.log(id, 0, step) == Code::kOk);
              }
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  auto dead = DeadJournal::open(sandbox.journal_folders().at(0));
  ASSERT_TRUE(dead.ok());
  (*dead)->start({});
  std::vector<Frame> frames;
  for (;;) {
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    if (!(*dead)->next(&builder, &positions)) break;
    frames.push_back(builder.take());
  }
  const std::vector<Cell> cells = cells_of(frames);
  ASSERT_EQ(cells.size(), 30u);
  for (size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(cells[i].step, static_cast<int64_t>(i));
  const std::vector<int64_t> times = times_of(frames);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_NEAR(static_cast<double>(times[15] - times[14]), 79.2e9, 1e9) << "a day forward, of which two hours were held";
}

}  // namespace
}  // namespace tracker::internal
