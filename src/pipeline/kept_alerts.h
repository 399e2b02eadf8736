// SPDX-License-Identifier: MIT
// The alerts of a run that its files hold, the last of them with their texts: where the files are removed while the run
// is recorded they are said again, and those that are not held are counted. Threads: the caller holds a lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "codec/frame.h"

namespace tracker::internal {

constexpr size_t kAlertsHeldMax = 64;  // of a few hundred bytes each, of 17 KiB at most

class KeptAlerts {
 public:
  explicit KeptAlerts(uint64_t stored = 0) : stored_(stored) {}
  void add(std::vector<Event> alerts) {
    stored_ += alerts.size();
    std::move(alerts.begin(), alerts.end(), std::back_inserter(held_));
    if (held_.size() > kAlertsHeldMax)
      held_.erase(held_.begin(), held_.end() - static_cast<std::ptrdiff_t>(kAlertsHeldMax));
  }
  // The files hold so many alone. Those to be said again, and how many of the others are gone.
  std::pair<std::vector<Event>, uint64_t> since(uint64_t there) const {
    const uint64_t gone = stored_ - std::min(stored_, there), again = std::min<uint64_t>(gone, held_.size());
    return {{held_.end() - static_cast<std::ptrdiff_t>(again), held_.end()}, gone - again};
  }
  void set_stored(uint64_t stored) { stored_ = stored; }

 private:
  std::deque<Event> held_;
  uint64_t stored_;
};

}  // namespace tracker::internal
