// SPDX-License-Identifier: MIT
// The names that other programs give to the columns of their rows. Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tracker::internal {

constexpr size_t kNoColumn = static_cast<size_t>(-1);

// Ignores case: the first of these names that is there. An unnamed first column, the index of a data frame, is the
// column of steps if there is no other.
size_t step_column(const std::vector<std::string>& names);
size_t time_column(const std::vector<std::string>& names);
size_t column_named(const std::vector<std::string>& names, const std::string& name);  // exactly so

}  // namespace tracker::internal
