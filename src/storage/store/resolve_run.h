// SPDX-License-Identifier: MIT
// Which run of a store is meant. Threads: any. Cost: reads the run.json of every run where it is no "project/id".
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "storage/store/store.h"

namespace tracker::internal {

// The runs that somebody has called so (query/runs/find_run.h); the storage knows ids alone.
using RunsByName = std::function<std::vector<RunFolder>(std::string_view name)>;

// What Store::resolve_run() takes, whose errors it has; else, with `by_name`, what only a person means who looks at the
// answer: a name, then the beginning of an id or of "project/id".
Result<RunFolder> resolve_run(const Store& store, std::string_view name, RunNames names = RunNames::kAndPlaces,
                              const RunsByName& by_name = {});

}  // namespace tracker::internal
