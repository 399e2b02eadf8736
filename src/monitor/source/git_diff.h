// SPDX-License-Identifier: MIT
// What is changed and not committed, by `git diff HEAD`: the one place where a process is started, and only for
// capture=["diff"]. Threads: any but one that trains. Cost: a process, at most kGitDiffTimeMax.
#pragma once

#include <chrono>
#include <string>

#include "model/value.h"

namespace tracker::internal {

// Limit: bytes of the output of git diff. Beyond it: cut, and the run says so.
constexpr size_t kGitDiffBytesMax = 1024 * 1024;
// Limit: time of git diff. Beyond it: cut, and the run says so.
constexpr std::chrono::milliseconds kGitDiffTimeMax{10'000};

// text, bytes, and where they apply cut (bytes there were more than kept) or timeout. `error` alone where git cannot be
// run. Empty where `folder` is in no repository. Secrets are redacted and added to `redacted`.
Value git_diff(const std::string& folder, uint64_t* redacted, std::chrono::milliseconds time_max = kGitDiffTimeMax);

}  // namespace tracker::internal
