// SPDX-License-Identifier: MIT
// How other programs call the columns of their rows. Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tracker::internal {

constexpr size_t kNoColumn = static_cast<size_t>(-1);

// Whatever the case of its letters: the first of these that is there. An unnamed first column, the index of a data
// frame, counts the steps where no other does.
size_t step_column(const std::vector<std::string>& names);
size_t time_column(const std::vector<std::string>& names);
size_t column_named(const std::vector<std::string>& names, const std::string& name);  // exactly so

}  // namespace tracker::internal
