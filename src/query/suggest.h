// SPDX-License-Identifier: MIT
// "Did you mean": the names closest to one that was not found. Pure functions. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracker::internal {

// Up to `count` of `names`, closest first: few edits apart (at most a third of the length), or one containing the other.
std::vector<std::string> close_names(std::string_view wanted, const std::vector<std::string>& names, size_t count = 3);

// "did you mean a, b?" or empty.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace tracker::internal
