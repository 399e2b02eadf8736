// SPDX-License-Identifier: MIT
// When the store thread commits, calls fsync, gives a sign of life and tries again. Pure functions: the caller passes
// the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "pipeline/disk_limit.h"

namespace tracker::internal {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Limit: time from a log call to the start of its fsync (P1). Beyond it: a loss of power costs these points.
constexpr std::chrono::milliseconds kSyncInterval{1000};
// How long before the oldest unsynced frame reaches kSyncInterval its fsync starts (decision 0048): together with the
// last commit before that moment, or alone where nothing more is logged. The rest is for a thread that is late.
constexpr std::chrono::milliseconds kSyncAhead{150};
constexpr std::chrono::milliseconds kSyncAheadAlone{50};
constexpr std::chrono::seconds kHeartbeatInterval{15};
// While other ranks may be waiting to see that this one lives, and how long they wait.
constexpr std::chrono::seconds kAwaitedHeartbeat{1};
// Limit: time that a rank waits for the run of rank 0. Beyond it: what it logged is dropped and counted, reported.
constexpr std::chrono::minutes kRunAwaitMax{10};
// Between two searches for the run that a rank waits for.
constexpr std::chrono::milliseconds kAwaitLookFirst{50};
constexpr std::chrono::milliseconds kAwaitLookMax{1000};
constexpr size_t kCommitBytesMax = 4 * 1024 * 1024;  // of waiting frames in one transaction, unless the first is larger
constexpr std::chrono::milliseconds kRetryFirst{100}, kRetryMax{5000};

// A pause that doubles from `first` to `max` with each failure.
class RetryPause {
 public:
  constexpr RetryPause(std::chrono::milliseconds first, std::chrono::milliseconds max)
      : first_(first), max_(max), next_(first) {}
  constexpr std::chrono::milliseconds take() {
    const std::chrono::milliseconds out = next_;
    next_ = std::min(next_ * 2, max_);
    return out;
  }
  constexpr void reset() { next_ = first_; }

 private:
  std::chrono::milliseconds first_, max_, next_;
};

// What the store thread remembers of its commits.
struct StoreTimes {
  std::optional<TimePoint> unsynced;  // the oldest row that is committed and not synced was logged after this
  TimePoint last_commit, last_sync;
  Duration sync_took{0};  // the last fsync, with its commit
};

// The run as the schedule needs it.
struct StorePace {
  bool is_awaited = false;  // other ranks wait for this run
  TimePoint began;
};

// What waits for the store thread.
struct StoreWork {
  std::optional<TimePoint> oldest;  // no row of the oldest frame was logged before this; none: no frame waits
  bool flush = false;               // a flush() waits for these frames
  bool last = false;                // the end record is among them
};

// What one round of the store thread does beside the commit of frames.
struct StoreRound {
  bool durable = false;  // with an fsync
  bool beat = false;     // a sign of life is due
};

Duration heartbeat_interval(const StorePace& pace, TimePoint now);

// When a commit is to have an fsync; none where nothing waits for one. By the age of the oldest row, so that a power
// cut costs a second and that fsync; a program that logs more seldom has one with each commit. A disk that takes long
// for one has as long to itself, up to a second: else it would do nothing but fsyncs of 4 MiB each.
std::optional<TimePoint> sync_due(const StoreTimes& times, std::optional<TimePoint> oldest_waiting);

// How long the store thread may sleep while no frame waits.
Duration idle_time(const StoreTimes& times, const StorePace& pace, DiskRoom room, TimePoint now);

// Whether a transaction that has `frames` frames with `bytes` bytes takes one more of `next` bytes.
constexpr bool batch_takes(size_t frames, size_t bytes, size_t next) {
  return frames == 0 || bytes + next <= kCommitBytesMax;
}

StoreRound next_round(const StoreTimes& times, const StorePace& pace, const StoreWork& work, TimePoint now);

// After a round that committed what `work` describes and had begun at `begun`.
void note_round(const StoreRound& round, const StoreWork& work, TimePoint begun, TimePoint now, StoreTimes* times);

}  // namespace tracker::internal
