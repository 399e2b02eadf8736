// SPDX-License-Identifier: MIT
// Media logged under the names of metrics: events of frames (model/media.h). Threads: as RunView.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "query/view/run_view.h"

namespace tracker::internal {

struct MediaRow {
  std::string name;
  int64_t step = 0;
  bool has_step = false;
  int64_t time_us = 0;  // of the call that logged it
  int64_t attempt = 1, rank = 0;
  uint64_t writer = 0, call = 0;  // which call of which writer: values of one call belong together
  std::string kind;
  Value value;       // what the event says: caption, size, ...
  std::string file;  // relative to the run's folder; empty: it has none
};

// Values, all writers: logged = stored + dropped + pending + lost. Pending are those that a live process has not stored
// yet; lost are those that a process had not stored when it died.
struct MediaAccount {
  uint64_t logged = 0, stored = 0, dropped = 0, pending = 0, lost = 0;
  std::vector<std::pair<std::string, uint64_t>> by_reason;  // of dropped
};

// Under one name, or (empty) all of them. all=false: by step, of each step those of the last call, as for numbers: a
// later attempt wins, there the lowest rank, and what a resume shadows is left out. all=true: by writer as they came.
// Damaged frames are named in problems(). Cost: reads every frame of the writers that logged media.
Result<std::vector<MediaRow>> read_media(RunView* run, const std::string& name, bool all);
std::vector<std::string> media_names(const RunView& run);  // sorted; cost: nothing is read
MediaAccount media_account(const RunView& run);            // cost: nothing is read

// What one name holds.
struct MediaSummary {
  std::string name;
  std::vector<std::string> kinds;  // sorted
  uint64_t entries = 0, bytes = 0;
  bool has_step = false;
  int64_t last_step = 0;
};
// By name, of the resolved view.
Result<std::vector<MediaSummary>> summarize_media(RunView* run);

// Files that events name and other files of a medium, such as masks: relative to the run's folder, with their bytes.
struct MediaFileName {
  std::string path;
  uint64_t bytes = 0;
};
std::vector<MediaFileName> files_of_medium(const Value& value);

}  // namespace tracker::internal
