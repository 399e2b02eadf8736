// SPDX-License-Identifier: MIT
#include "pipeline/store_schedule.h"

namespace tracker::internal {

Duration heartbeat_interval(const StorePace& pace, TimePoint now) {
  return pace.is_awaited && now < pace.began + kRunAwaitMax ? kAwaitedHeartbeat : kHeartbeatInterval;
}

std::optional<TimePoint> sync_due(const StoreTimes& times, std::optional<TimePoint> oldest_waiting) {
  auto oldest = times.unsynced;
  if (oldest_waiting) oldest = std::min(oldest.value_or(TimePoint::max()), *oldest_waiting);
  if (!oldest) return std::nullopt;
  const TimePoint wanted = std::min(*oldest + kSyncInterval - kSyncAhead, times.last_sync + kSyncInterval);
  return std::max(wanted, times.last_sync + std::min<Duration>(times.sync_took, kSyncInterval));
}

Duration idle_time(const StoreTimes& times, const StorePace& pace, DiskRoom room, TimePoint now) {
  if (const auto sync = sync_due(times, std::nullopt))
    return std::max(*sync + kSyncAhead - kSyncAheadAlone - now, Duration::zero());
  return room == DiskRoom::kEnough ? heartbeat_interval(pace, now) : Duration(kDiskLookInterval);
}

StoreRound next_round(const StoreTimes& times, const StorePace& pace, const StoreWork& work, TimePoint now) {
  const auto sync = sync_due(times, work.oldest);
  const bool alone = !work.oldest;
  StoreRound out;
  out.durable = work.last || work.flush || (sync && now >= (alone ? *sync + kSyncAhead - kSyncAheadAlone : *sync));
  out.beat = now - times.last_commit >= heartbeat_interval(pace, now);
  return out;
}

void note_round(const StoreRound& round, const StoreWork& work, TimePoint begun, TimePoint now, StoreTimes* times) {
  if (round.durable) {
    times->unsynced.reset();
    times->sync_took = now - begun;
    times->last_sync = now;
  } else if (work.oldest && !times->unsynced) {
    times->unsynced = work.oldest;
  }
  if (round.durable || round.beat || work.oldest) times->last_commit = now;
}

}  // namespace tracker::internal
