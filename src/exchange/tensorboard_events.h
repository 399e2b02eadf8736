// SPDX-License-Identifier: MIT
// Rows of a run as the events that TensorBoard shows, for the file that is exported and the one that is written live
// (docs/exchange.md says what stands for what). Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "model/number.h"
#include "model/value.h"

namespace tracker::internal {

constexpr uint64_t kSessionStart = 1;  // tensorflow.SessionLog.START: a process begins to write

inline double event_seconds(int64_t time_us) { return static_cast<double>(time_us) / 1e6; }

// What a file begins with: the version of the format.
void append_event_header(double wall_time, std::string* out);
// One value, as the float32 next to it: what every reader of such files finds. `exact`: as itself beside it, if
// it is no float32.
void append_number_event(const std::string& name, ValueType type, uint64_t bits, int64_t step, double wall_time,
                         std::string* out, bool exact = false);
// config as hyperparameters; nothing for an empty one.
void append_config_event(const Value& config, double wall_time, std::string* out);
// A process goes on with the run at `step`: TensorBoard forgets what it has read of this step and of later ones. The
// first such event of a file only says that there is a process.
void append_start_event(int64_t step, double wall_time, std::string* out);

}  // namespace tracker::internal
