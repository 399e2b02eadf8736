// SPDX-License-Identifier: MIT
// <store>/synced.json: the runs that a bare `tracker sync` need not open (docs/formats/store.md). It is derived from
// the runs and from servers and may be deleted at any time. Threads: one at a time. Cost: read() and save() one file;
// find() a stat of the run's folder and of each of its artifacts' folders.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "storage/store/store.h"

namespace tracker::internal {

// A run whose writers have all ended. Its folders are identified by inode and times.
struct RunAtRest {
  std::map<std::string, std::string> folders;  // of the run and of its artifacts, below the store -> their state
  std::string server;                          // the id of the store that has all of it; empty: a run of mode local
  std::map<std::string, uint64_t> acked;       // its writers, and the numbers up to which that store has them
};

// The run and these artifacts ("project", "name") with the present state of their folders; none if one has changed
// within the last 2 s, or if a file in the run's folder shows that a writer is not at rest.
std::optional<RunAtRest> look_at_rest(const std::string& store_path, const RunFolder& run,
                                      const std::set<std::pair<std::string, std::string>>& artifacts = {});

class RunsAtRest {
 public:
  static RunsAtRest read(const std::string& store_path);
  // Null if the run is unknown or has changed.
  const RunAtRest* find(const RunFolder& run) const;
  void put(const RunFolder& run, RunAtRest at_rest);
  // Removes the runs whose folders (absolute paths) are not in `there`.
  void forget_others(const std::set<std::string>& there);
  // Does nothing if nothing has changed, or the store cannot be written.
  void save() const;

 private:
  explicit RunsAtRest(std::string store_path) : store_path_(std::move(store_path)) {}

  std::string store_path_;
  std::map<std::string, RunAtRest> runs_;  // by the path of the folder below the store
  bool changed_ = false;
};

}  // namespace tracker::internal
