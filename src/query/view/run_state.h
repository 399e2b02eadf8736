// SPDX-License-Identifier: MIT
// The state of a run from its writers' end records and what is known of their processes. Pure functions: no lock is
// probed and no clock is read here. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "journal/ring/liveness.h"
#include "query/view/attempts_without_data.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

struct StateVerdict {
  RunState state = RunState::kCrashed;
  std::string
      detail;  // exit code and reason, or why the state is not what the end record alone would say; may be empty
  int64_t ended_us = 0;  // 0 while running
};

// Newest sign of life of one writer: its heartbeat, its rows, its end.
int64_t last_seen_us(const WriterSnapshot& writer);

// Whether such a sign is so young that its process is believed to live where no lock shows it.
bool seen_lately(const WriterSnapshot& writer, int64_t now_us);

// Why the run was marked as preempted, null where it was not (kPreemptedKey).
const Value* preempted(const WriterSnapshot& writer);

// The writer whose end is the end of the run: of the last attempt the lowest rank, of several the first started
// (attached processes come later). nullptr for no writers.
const WriterSnapshot* leading_writer(const std::vector<WriterSnapshot>& writers);

// `liveness` runs parallel to `writers`. `silent`: attempts without a writer, by number. Where the newest attempt is
// one of them it decides, by what is known of the process that began it; of a run without either `created_us` does.
StateVerdict decide_state(const std::vector<WriterSnapshot>& writers, const std::vector<Liveness>& liveness,
                          const std::vector<AttemptWithoutData>& silent, int64_t created_us, int64_t now_us);

}  // namespace tracker::internal
