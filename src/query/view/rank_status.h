// SPDX-License-Identifier: MIT
// The ranks of a run: where each was last seen, and at which step ("rank 37 last logged step 812"). Pure functions.
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/view/run_view.h"

namespace tracker::internal {

// A rank in its newest attempt. Of several writers there (attach()) counts and times are put together.
struct RankStatus {
  int64_t rank = 0, attempt = 1, world_size = 1;
  bool observed = false;  // ranks="observe": it records no metrics
  std::string state;      // "running", "finished", …, "crashed", "lost contact"
  uint64_t points = 0, dropped = 0;
  std::optional<int64_t> last_step;  // of its newest row; none: it logged nothing with a step
  int64_t last_logged_us = 0;        // 0: it logged nothing
  int64_t last_seen_us = 0;          // newest of start, heartbeat, rows and end
  std::string host;
  int64_t pid = 0;
};

// By rank. `liveness` runs parallel to `writers`.
std::vector<RankStatus> ranks_of(const std::vector<WriterSnapshot>& writers, const std::vector<Liveness>& liveness,
                                 int64_t now_us);

// The rank of the newest attempt with the smallest last step; nullptr if all that
// logged are at the same step, or fewer than two did.
const RankStatus* furthest_behind(const std::vector<RankStatus>& ranks);
// "rank 37 last logged step 812, 100 behind rank 0"; empty as above.
std::string behind_text(const std::vector<RankStatus>& ranks);

// What is known of a writer's process: the state of its end, or of its lock, or, where the lock says nothing (another
// host, a server's copy), of the age of its last sign of life.
std::string writer_state_text(const WriterSnapshot& writer, Liveness liveness, int64_t now_us);

}  // namespace tracker::internal
