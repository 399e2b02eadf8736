// SPDX-License-Identifier: MIT
// Each drain leaves an anchor (tick, monotonic, realtime) in the header of every ring, for its recovery.
// Method: a journal without threads is drained by hand; the headers are read where they lie.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "base/clock.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

const RingHeader* header_of(LiveJournal& journal, size_t ring) { return journal.hot()->rings[ring].load()->header; }

TEST(AnchorsTest, EachDrainLeavesOneInEveryRing) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  const uint32_t id = journal->series_id("x", ValueType::kInt64);
  ASSERT_EQ(journal.log(id, 0, 0), Code::kOk);
  std::barrier both(2);
  std::thread other([&] {
    ASSERT_EQ(journal.log(id, 0, 1), Code::kOk);
    both.arrive_and_wait();
    both.arrive_and_wait();
  });
  both.arrive_and_wait();
  EXPECT_EQ(journal.hot()->ring_count.load(), 2u);
  for (uint64_t drain = 1; drain <= 2 * kAnchorSlots; ++drain) {
    const int64_t before = monotonic_ns();
    (void)journal.drain();
    for (size_t ring = 0; ring < 2; ++ring) {
      const RingHeader* header = header_of(journal, ring);
      EXPECT_EQ(header->anchor_count.load(), drain + 1) << "one is made with the ring";
      const TimeAnchor& newest = header->anchors[drain % kAnchorSlots];
      EXPECT_GE(newest.monotonic_ns, before);
      EXPECT_LE(newest.monotonic_ns, monotonic_ns());
      EXPECT_NEAR(static_cast<double>(newest.realtime_ns), static_cast<double>(realtime_ns()), 5e9);
      EXPECT_LE(newest.tick, ticks());
      const TimeAnchor& earlier = header->anchors[(drain - 1) % kAnchorSlots];
      EXPECT_GT(newest.tick, earlier.tick);
      EXPECT_GT(newest.monotonic_ns, earlier.monotonic_ns);
    }
  }
  both.arrive_and_wait();
  other.join();
}

// A ring that is dead between two drains has an anchor before its records and none after: the rate in its header
// gives the rest.
TEST(AnchorsTest, ARingThatWasNeverDrainedHasTheAnchorOfItsCreationAndARate) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  ASSERT_EQ(journal.log(journal->series_id("x", ValueType::kInt64), 0, 0), Code::kOk);
  const RingHeader* header = header_of(journal, 0);
  EXPECT_EQ(header->anchor_count.load(), 1u);
  EXPECT_NEAR(static_cast<double>(header->anchors[0].realtime_ns), static_cast<double>(realtime_ns()), 5e9);
  const TimeAnchor now = read_anchor();
  const double rate = static_cast<double>(now.tick - header->anchors[0].tick) /
                      static_cast<double>(now.monotonic_ns - header->anchors[0].monotonic_ns);
  EXPECT_NEAR(header->ticks_per_ns / rate, 1.0, 0.2);
  EXPECT_EQ(header->tick_kind, static_cast<uint32_t>(kTickKind));
}

}  // namespace
}  // namespace tracker::internal
