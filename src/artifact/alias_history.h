// SPDX-License-Identifier: MIT
// The versions that an alias has named, and since when, from the marks of an artifact. "latest" moves automatically and
// has no marks. Pure functions. Threads: any. Cost: a pass over the marks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "artifact/registry.h"

namespace tracker::internal {

struct AliasMove {
  std::string alias;
  std::optional<int64_t> from, to;  // numbers of versions; none: it did not exist before, or was removed
  int64_t time_us = 0;
  std::string run;  // uid of the run that moved it; empty: a command did
};

// Oldest first. Marks that change nothing are omitted.
std::vector<AliasMove> alias_history(const ArtifactInfo& info);

}  // namespace tracker::internal
