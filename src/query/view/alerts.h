// SPDX-License-Identifier: MIT
// The alerts of the code of a run (model/alert.h). Threads: as RunView.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/alert.h"
#include "query/view/run_view.h"

namespace tracker::internal {

struct Alert {
  RowSource source;  // attempt, rank, writer
  AlertLevel level = AlertLevel::kInfo;
  int64_t time_us = 0;
  std::optional<int64_t> step;  // the largest one that the process had logged by then
  std::string title, text;
  uint64_t cut_bytes = 0;  // of both that were beyond their bounds
};

struct Alerts {
  std::vector<Alert> alerts;  // by time
  uint64_t total = 0;         // more than alerts where `last` has cut
  uint64_t dropped = 0;       // that found no room; of a process that was killed at least half of them
};

// The last ones up to the last snapshot. Damaged frames are passed over and named in problems(). A run without alerts
// costs nothing; else it reads every frame of the writers that have some, and decodes no column.
Result<Alerts> read_alerts(RunView* run, uint64_t last = kAlertsShown);

}  // namespace tracker::internal
