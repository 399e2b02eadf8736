// SPDX-License-Identifier: MIT
// Finds the run of a store that a name refers to. Threads: any. Cost: reads the run.json of every run unless it is
// "project/id".
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "storage/store/store.h"

namespace tracker::internal {

// The runs with this name, given by a user (query/runs/find_run.h); the storage knows ids only.
using RunsByName = std::function<std::vector<RunFolder>(std::string_view name)>;

// As Store::resolve_run(), with its errors; if that finds none, with `by_name`, also what is meant for interactive use
// only: a name, then the start of an id or of "project/id".
Result<RunFolder> resolve_run(const Store& store, std::string_view name, RunNames names = RunNames::kAndPlaces,
                              const RunsByName& by_name = {});

}  // namespace tracker::internal
