// SPDX-License-Identifier: MIT
// What of its surroundings a run records: the options capture and system_interval. Threads: pure functions but for the
// environment that they read.
#pragma once

#include <chrono>

#include "base/status.h"
#include "run/run.h"

namespace tracker::internal {

constexpr double kSystemIntervalDefault = 15;  // seconds
// Limit: least seconds between samples of the system, 0 for none. Beyond it: an error of init.
constexpr double kSystemIntervalMin = 0.1;
// Limit: most seconds between samples of the system. Beyond it: an error of init.
constexpr double kSystemIntervalMax = 3600;

struct CapturePlan {
  bool environment = true;                                                // host, container, packages, git, launcher
  bool command = false, variables = false, diff = false, source = false;  // on request
  std::chrono::milliseconds system_interval{0};                           // 0: no system metrics
};

// The arguments, else TRACKER_CAPTURE and TRACKER_SYSTEM_INTERVAL, else the defaults; "none" turns all off but an
// interval that was given as an argument. kInvalid says what was expected.
Result<CapturePlan> capture_plan(const InitOptions& options);

}  // namespace tracker::internal
