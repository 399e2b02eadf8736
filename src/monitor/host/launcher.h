// SPDX-License-Identifier: MIT
// The variables of schedulers and launchers that are recorded with a run: a fixed list.
// Threads: call it where no other thread changes the environment, as init() does. Cost: a look-up a name.
#pragma once

#include <span>

#include "model/value.h"

namespace tracker::internal {

// Limit: bytes of the value of a launcher's variable. Beyond it: cut, with … at the end.
constexpr size_t kLauncherValueBytesMax = 1024;

std::span<const char* const> launcher_names();
// Those that are set and not empty, as a map; values of a known secret form are redacted.
Value launcher_variables();

}  // namespace tracker::internal
