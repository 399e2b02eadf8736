// SPDX-License-Identifier: MIT
// The files of a run's media against their names, and what its events name against the files. Nothing is written: of a
// run whose writers' files are not at rest the events are not checked. Threads: one. Cost: reads every file of media
// and every frame of the writers that logged some.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/verify/verify.h"

namespace tracker::internal {

// Appends what is missing or damaged. A run that cannot be opened is passed over: verify_runs() has named why.
void verify_media(const std::string& run_path, VerifyReport* report,
                  const std::function<void(uint64_t files, uint64_t of)>& progress = {});

// A line each, for a command that copies a run as it is.
std::vector<std::string> media_problems(const std::string& run_path);

}  // namespace tracker::internal
