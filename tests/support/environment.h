// SPDX-License-Identifier: MIT
// Environment variables as a map, for what reads them through a function.
#pragma once

#include <map>
#include <string>

#include "run/ranks.h"

namespace tracker::internal {

using Environment = std::map<std::string, std::string>;

// `environment` must outlive what is returned.
inline GetEnv getter(const Environment& environment) {
  return [&environment](const char* name) -> const char* {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  };
}

}  // namespace tracker::internal
