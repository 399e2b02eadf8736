// SPDX-License-Identifier: MIT
// Goal: ticks rise, are the same clock in all threads, and turn into wall time through anchors.
// Method: read them around real waits; wide bounds, because a test machine may be stopped at any point.
#include "base/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

namespace tracker::internal {
namespace {

TEST(ClockTest, TicksNeverGoBack) {
  uint64_t last = ticks();
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t now = ticks();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, TicksOfAnotherThreadAreOfTheSameClock) {
  const uint64_t before = ticks();
  uint64_t inside = 0;
  std::thread([&inside] { inside = ticks(); }).join();
  const uint64_t after = ticks();
  EXPECT_LE(before, inside);
  EXPECT_LE(inside, after);
}

TEST(ClockTest, AnAnchorReadsAllClocksAtOneMoment) {
  const int64_t monotonic_before = monotonic_ns();
  const int64_t realtime_before = realtime_ns();
  const TimeAnchor anchor = read_anchor();
  EXPECT_GE(anchor.monotonic_ns, monotonic_before);
  EXPECT_LE(anchor.monotonic_ns, monotonic_ns());
  EXPECT_GE(anchor.realtime_ns, realtime_before);
  EXPECT_LE(anchor.tick, ticks());
}

TEST(ClockTest, TheTickRateTurnsTicksIntoMonotonicTime) {
  const double rate = ticks_per_ns();
  ASSERT_GT(rate, 0.0);
  const TimeAnchor start = read_anchor();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const TimeAnchor end = read_anchor();
  const double by_ticks = static_cast<double>(end.tick - start.tick) / rate;
  const auto by_clock = static_cast<double>(end.monotonic_ns - start.monotonic_ns);
  EXPECT_LT(std::abs(by_ticks - by_clock), 0.02 * by_clock);
}

TEST(ClockTest, MicrosecondsAndNanosecondsAreTheSameWallClock) {
  const int64_t before = realtime_ns() / 1000;
  const int64_t now = realtime_us();
  EXPECT_GE(now, before);
  EXPECT_LE(now, realtime_ns() / 1000);
}

}  // namespace
}  // namespace tracker::internal
