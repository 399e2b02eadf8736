// SPDX-License-Identifier: MIT
// What a metric of a program or an import is called that is named like a sample of the system: "system/x" is stored as
// "user/system/x", so that whose points they are follows from a series' name (decision 0020). Pure. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "query/view/environment.h"

namespace tracker::internal {

constexpr std::string_view kProgramPrefix = "user/";

inline std::string name_of_program(std::string_view name) {
  return std::string(is_system_series(name) ? kProgramPrefix : "").append(name);
}

}  // namespace tracker::internal
