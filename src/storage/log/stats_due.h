// SPDX-License-Identifier: MIT
// When a commit writes the rows of `series`. Readers complete the rows from later frames: the longer the writer waits,
// the more a reader of a live run has to decode; each time costs the writer one row for each series. Pure.
#pragma once

#include <cstdint>

namespace tracker::internal {

constexpr int64_t kStatsIntervalNs = 900'000'000;  // between durable appends after kStatsPointsMin points
constexpr int64_t kStatsIntervalAlwaysNs = 5'000'000'000;
constexpr uint64_t kStatsPointsMin = 64 << 10;  // readers of a live run add up fewer in less than a millisecond

// `points_since`: since the rows were written, with those of the commit itself; `age_ns`: the time since then.
constexpr bool stats_due(bool durable, uint64_t points_since, int64_t age_ns) {
  const bool much = durable && points_since >= kStatsPointsMin;
  return age_ns >= (much ? kStatsIntervalNs : kStatsIntervalAlwaysNs);
}

}  // namespace tracker::internal
