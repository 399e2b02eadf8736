// SPDX-License-Identifier: MIT
// "Did you mean ...": the names nearest to a mistyped one. Threads: pure function. Cost: names x their lengths squared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracker::internal {

// At most `limit` of `names` that differ from `name` by edits of at most a third of its length, or contain it, or have
// the same first half and differ by at most half of its length; the closest first. Empty if none is near.
std::vector<std::string> close_names(std::string_view name, const std::vector<std::string>& names, size_t limit = 3);

// "; did you mean a, b or c?", or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace tracker::internal
