// SPDX-License-Identifier: MIT
// Settings of a source whose names are a flat list, on their way into a config, which is a tree. Threads: pure
// function.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/value.h"

namespace tracker::internal {

using Settings = std::vector<std::pair<std::string, Value>>;  // names with "/"

// The settings that are to be set, of each name the last one. Of "a" and "a/b" the first one would be replaced: it
// becomes "a/value", with "_" behind it while that is taken, and all below "a" is one setting. *moved: how many did.
Settings side_by_side(const Settings& given, uint64_t* moved);

}  // namespace tracker::internal
