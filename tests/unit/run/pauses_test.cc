// SPDX-License-Identifier: MIT
// Goal: threads that look again and again for what is not there do so less and less often, up to a bound. Method: the
// pauses that follow one another.
#include <gtest/gtest.h>

#include <vector>

#include "run/services/stop.h"
#include "run/services/tensorboard.h"

namespace tracker::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<milliseconds> pauses_after(milliseconds first, milliseconds (*next)(milliseconds), size_t count) {
  std::vector<milliseconds> out;
  for (milliseconds pause = first; out.size() < count; out.push_back(pause)) pause = next(pause);
  return out;
}

TEST(PausesTest, WhoseRunIsNotThereYetIsLookedForUpToOnceAMinute) {
  const std::vector<milliseconds> expected = {seconds(2),  seconds(4),     seconds(8),    seconds(16),
                                              seconds(32), kStopSearchMax, kStopSearchMax};
  EXPECT_EQ(pauses_after(kStopLookInterval, next_search_pause, 7), expected);
  EXPECT_EQ(next_search_pause(kStopSearchMax / 2 - milliseconds(1)), kStopSearchMax - milliseconds(2));
}

TEST(PausesTest, AnEventFileThatCannotBeWrittenIsTriedUpToOnceAMinute) {
  const std::vector<milliseconds> expected = {seconds(10), seconds(20), seconds(40), kTensorBoardRetryMax,
                                              kTensorBoardRetryMax};
  EXPECT_EQ(pauses_after(kTensorBoardInterval, next_tensorboard_pause, 5), expected);
  EXPECT_EQ(next_tensorboard_pause(kTensorBoardRetryMax / 2 - milliseconds(1)), kTensorBoardRetryMax - milliseconds(2));
}

}  // namespace
}  // namespace tracker::internal
