// SPDX-License-Identifier: MIT
// Series that a run's monitor samples: no points of the program, and no part of the summary, of listings, or of what is
// read where no metric is named. Threads: any.
#pragma once

#include <string_view>

namespace tracker::internal {

constexpr std::string_view kSystemPrefix = "system/";  // of the names of series that sample machine and process
inline bool is_system_series(std::string_view name) { return name.starts_with(kSystemPrefix); }

}  // namespace tracker::internal
