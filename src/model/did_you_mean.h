// SPDX-License-Identifier: MIT
// "Did you mean ...": the names nearest to a mistyped one. Threads: pure function. Cost: names x their lengths squared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracker::internal {

// At most `limit` of `names` that are within a third of the length of `name` by edits, or hold it, or begin with the
// same half and are within half of the length; the closest first. Empty when nothing is near.
std::vector<std::string> close_names(std::string_view name, const std::vector<std::string>& names, size_t limit = 3);

// "; did you mean a, b or c?", or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);
std::string did_you_mean(const std::vector<std::string>& meant);

}  // namespace tracker::internal
