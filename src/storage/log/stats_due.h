// SPDX-License-Identifier: MIT
// When a commit writes the rows of `series`. Readers complete them from later frames: the longer the writer waits, the
// more a reader of a live run has to decode; each time costs the writer a row a series. Pure.
#pragma once

#include <cstdint>

namespace tracker::internal {

constexpr int64_t kStatsIntervalNs = 900'000'000;  // between durable appends after kStatsPointsMin points
constexpr int64_t kStatsIntervalAlwaysNs = 5'000'000'000;
constexpr uint64_t kStatsPointsMin = 64 << 10;  // readers of a live run sum up fewer in less than a millisecond

// `points_behind`: with those of the commit itself; `age_ns`: since the rows were written.
constexpr bool stats_due(bool durable, uint64_t points_behind, int64_t age_ns) {
  const bool much = durable && points_behind >= kStatsPointsMin;
  return age_ns >= (much ? kStatsIntervalNs : kStatsIntervalAlwaysNs);
}

}  // namespace tracker::internal
