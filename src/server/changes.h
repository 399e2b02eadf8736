// SPDX-License-Identifier: MIT
// The runs of a store that have changed since a cursor was returned. Threads: any. Cost: a listing of the runs
// (query/runs/runs_query.h) at most every kChangesNs; other requests are answered from memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "server/run_index.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr int64_t kChangesNs = 500'000'000;
constexpr int64_t kRecoverNs = 15'000'000'000;  // how often journals of dead processes are recovered
// Limit: runs of one answer of `changes`. Beyond it: `more` is true.
constexpr size_t kChangedRunsMax = 1000;

struct ChangedRuns {
  std::string cursor;
  std::vector<Id128> runs;
  bool has_more = false;
  bool projects = false;  // a project or a run was added or removed
};

class Changes {
 public:
  explicit Changes(const Store& store) : store_(store) {}
  // `cursor` empty: returns the present one, and no runs. A cursor of another process: all runs have changed. kInvalid:
  // not a cursor. `project` empty: all projects.
  Result<ChangedRuns> since(std::string_view cursor, std::string_view project, RunIndex* runs);

 private:
  struct Seen {
    std::string project;
    uint64_t hash = 0;
    uint64_t changed = 0;  // number of the change
  };
  Status look(RunIndex* runs);

  const Store store_;
  const uint64_t epoch_ = random_u64() >> 16;
  std::mutex mutex_;
  int64_t looked_ns_ = 0, recovered_ns_ = 0;
  uint64_t number_ = 0;            // of the last change
  uint64_t projects_changed_ = 0;  // the change by which a run was last added or removed
  std::map<Id128, Seen> seen_;
};

}  // namespace tracker::internal
