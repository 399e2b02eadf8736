// SPDX-License-Identifier: MIT
// resume_from="run@step": which run a process goes on with, and up to where its past counts (design 5, Resume).
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

struct InitOptions;

struct ResumePoint {
  std::string run;              // an id, "project/id" or a uid
  std::optional<int64_t> step;  // none: nothing is hidden
};

// "run" or "run@step": what follows the last "@" is the step, any int64 but -2^63. kInvalid says what was expected.
Result<ResumePoint> parse_resume_from(std::string_view text);

// Checks resume, resume_from and id against each other and fills in the default of resume: "must" with resume_from,
// else "never". kInvalid.
Status check_resume(InitOptions* options, bool run_id_in_environment);

}  // namespace tracker::internal
