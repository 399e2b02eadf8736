// SPDX-License-Identifier: MIT
// Which version an alias has named, and since when: out of the marks of an artifact. "latest" moves by itself and is in
// none. Pure functions. Threads: any. Cost: a pass over the marks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "artifact/registry.h"

namespace tracker::internal {

struct AliasMove {
  std::string alias;
  std::optional<int64_t> from, to;  // numbers of versions; none: it named none before, or was taken away
  int64_t time_us = 0;
  std::string run;  // uid of the run that moved it; empty: a command did
};

// Oldest first. Marks that change nothing are left out.
std::vector<AliasMove> alias_history(const ArtifactInfo& info);

}  // namespace tracker::internal
