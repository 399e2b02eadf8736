// SPDX-License-Identifier: MIT
// Converts a source's flat list of settings to a config, which is a tree. Threads: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/value.h"

namespace tracker::internal {

using Settings = std::vector<std::pair<std::string, Value>>;  // names with "/"

// The settings to set, of each name the last one. Of "a" and "a/b" the first would be replaced: it becomes "a/value",
// with "_" appended while that name is taken, and everything below "a" is one setting. *moved: how many were renamed.
Settings side_by_side(const Settings& given, uint64_t* moved);

}  // namespace tracker::internal
