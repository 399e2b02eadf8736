// SPDX-License-Identifier: MIT
// The environment variables that are read, whichever room or binding does it: docs/environment.md says what each sets.
// tests/tools/test_variables.py holds this list against the code and the document.
#pragma once

#include <string_view>

namespace tracker::internal {

inline constexpr std::string_view kVariablePrefix = "TRACKER_";
// Without the prefix.
inline constexpr std::string_view kVariables[] = {
    "CAPTURE", "DIR",     "HOST",        "MAX_DISK",        "MODE", "NVML", "PROJECT", "PARENT_RUN", "RANK", "RANKS",
    "RUN_ID",  "SHM_DIR", "STORE_FILES", "SYSTEM_INTERVAL", "TOKEN"};

}  // namespace tracker::internal
