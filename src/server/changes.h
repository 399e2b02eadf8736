// SPDX-License-Identifier: MIT
// Which runs of a store have changed since a cursor was given. Threads: any. Cost: a listing of the runs
// (query/runs/runs_query.h) at most each kChangesNs; the others answer from memory.
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
constexpr int64_t kRecoverNs = 15'000'000'000;  // so often what dead processes left is recovered
// Limit: runs of one answer of `changes`. Beyond it: `more` is true.
constexpr size_t kChangedRunsMax = 1000;

struct ChangedRuns {
  std::string cursor;
  std::vector<Id128> runs;
  bool has_more = false;
  bool projects = false;  // a project or a run was added or went
};

class Changes {
 public:
  explicit Changes(const Store& store) : store_(store) {}
  // `cursor` empty: the one of now, and no runs. One of another process: all runs have changed. kInvalid: no cursor.
  // `project` empty: of all.
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
  uint64_t projects_changed_ = 0;  // the change by which a run came or went
  std::map<Id128, Seen> seen_;
};

}  // namespace tracker::internal
