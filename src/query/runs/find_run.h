// SPDX-License-Identifier: MIT
// The run that a person named on the command line or to open_run(). Threads: any. Cost: as resolve_run(); where no id
// is called so a read of the catalog, which is brought up to date.
#pragma once

#include <string_view>

#include "storage/store/resolve_run.h"

namespace tracker::internal {

// As resolve_run(), with the names that people gave. `may_write`: the catalog; false in a process that records a run.
Result<RunFolder> find_run(const Store& store, std::string_view name, RunNames names = RunNames::kAndPlaces,
                           bool may_write = true);

}  // namespace tracker::internal
