// SPDX-License-Identifier: MIT
// How states and values look in every command. Pure functions. Threads: any.
#pragma once

#include <string>

#include "cli/output/text.h"
#include "model/records.h"
#include "model/value.h"

namespace tracker::internal {

inline std::string state_sgr(RunState state) {
  switch (state) {
    case RunState::kRunning: return "36";
    case RunState::kFinished: return "32";
    case RunState::kFailed:
    case RunState::kCrashed: return "31";
    case RunState::kInterrupted:
    case RunState::kPreempted:
    case RunState::kLostContact: return "33";
    case RunState::kDamaged: return "31";
  }
  return "";
}

// A value in a table: doubles in five digits, text and structures in full. Made visible.
inline std::string value_text(const Value& value) {
  if (const double* number = value.as_double()) return short_number(*number);
  if (const std::string* text = value.as_text()) return visible(*text);
  return visible(to_json(value));
}

}  // namespace tracker::internal
