// SPDX-License-Identifier: MIT
#include "artifact/alias_history.h"

#include <map>

namespace tracker::internal {

std::vector<AliasMove> alias_history(const ArtifactInfo& info) {
  std::vector<AliasMove> out;
  std::map<std::string, int64_t> named;
  for (const ArtifactMark& mark : info.marks) {
    const auto move = [&](const std::string& alias, std::optional<int64_t> to) {
      const auto known = named.find(alias);
      std::optional<int64_t> from;
      if (known != named.end()) from = known->second;
      if (from == to || (!to && from != mark.of)) return;
      out.push_back({alias, from, to, mark.time_us, mark.run});
      if (to) named[alias] = *to;
      else named.erase(alias);
    };
    if (info.version(mark.of) == nullptr) continue;  // damaged, or not made yet: ignored as in ArtifactRegistry
    for (const std::string& alias : mark.aliases_added) move(alias, mark.of);
    for (const std::string& alias : mark.aliases_removed) move(alias, std::nullopt);
  }
  return out;
}

}  // namespace tracker::internal
