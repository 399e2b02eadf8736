// SPDX-License-Identifier: MIT
// Attempts of a run that a process began and of which no writer is there: their processes ended before their first
// commit, or have not come to it yet. What they logged is in their journals, or unknown. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "journal/ring/liveness.h"
#include "storage/store/run_folder.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

struct AttemptWithoutData {
  int64_t attempt = 1;
  int64_t begun_us = 0;                 // when its claim was made
  Liveness maker = Liveness::kUnknown;  // of the process that made it; unknown where the claim does not say
};

// The claims of the run's folder (storage/store/attempt_claim.h) whose attempt none of `writers` is of, by number.
// Cost: a listing of the folder, and for each of these a small file and a check of its process.
std::vector<AttemptWithoutData> attempts_without_data(const RunFolder& run, const std::vector<WriterSnapshot>& writers);

// Whether its process may still come to a commit: it lives, or it cannot be seen and has begun within the last minute.
bool may_begin(const AttemptWithoutData& silent, int64_t now_us);

}  // namespace tracker::internal
