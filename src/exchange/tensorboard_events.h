// SPDX-License-Identifier: MIT
// Writes rows of a run as the events that TensorBoard shows, for the exported file and the live one (docs/exchange.md
// has the mapping). Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "model/number.h"
#include "model/value.h"

namespace tracker::internal {

constexpr uint64_t kSessionStart = 1;  // tensorflow.SessionLog.START: a process begins to write

inline double event_seconds(int64_t time_us) { return static_cast<double>(time_us) / 1e6; }

// The first event of a file: the version of the format.
void append_event_header(double wall_time, std::string* out);
// One value as the nearest float32, which every reader of such files finds. `exact`: also the exact value, if
// it is not a float32.
void append_number_event(const std::string& name, ValueType type, uint64_t bits, int64_t step, double wall_time,
                         std::string* out, bool exact = false);
// config as hyperparameters; nothing for an empty one.
void append_config_event(const Value& config, double wall_time, std::string* out);
// A process continues the run at `step`: TensorBoard forgets the rows of this and later steps. The first such event of
// a file only marks the start of a process.
void append_start_event(int64_t step, double wall_time, std::string* out);

}  // namespace tracker::internal
