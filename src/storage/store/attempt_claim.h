// SPDX-License-Identifier: MIT
// Claims of a run's attempts, before anything of them is stored: <run folder>/attempt-<n>.json, made once by the
// process that starts attempt n (docs/formats/store.md). Threads: any; any number of processes may do the same at the
// same time. Cost: a few file operations, no fsync.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tracker::internal {

// Limit: number of an attempt of a run. Beyond it: a file of a larger number is ignored.
constexpr int64_t kAttemptMax = 1'000'000'000;
constexpr int kAttemptVersion = 1;

struct AttemptClaim {
  int64_t attempt = 1;
  std::optional<std::string> launch;        // WriterIdentity.launch of the claiming process; none: not in the file
  int64_t world_size = 0;                   // 0: not known
  std::optional<int64_t> resume_step = {};  // of the claiming process, in resume_from="run@step"
};

std::string attempt_file(int64_t attempt);  // in the run's folder
// `name` is one of a claim.
std::optional<int64_t> claimed_attempt(std::string_view name);
// kCorrupt: not a claim; kVersion: a claim of a newer version. Its number is used all the same.
Status check_claim(const std::string& path);
// kVersion: a newer program wrote a claim in the run's folder.
Status check_claims(const std::string& run_path);
// By number. Attempt 1 is claimed by run.json, so it comes first if that exists. A claim that cannot be read has only
// its number.
std::vector<AttemptClaim> attempt_claims(const std::string& run_path);
// kExists: another process has it. Any other error: the disk does not store the file.
Status claim_attempt(const std::string& run_path, const AttemptClaim& claim);

}  // namespace tracker::internal
