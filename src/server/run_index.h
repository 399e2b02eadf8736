// SPDX-License-Identifier: MIT
// The runs of a store by their uid, and the folders of uploaded runs: runs/<project>/<uid>, whose run.json has the
// label. Threads: any. Cost: reads each run.json when it is made, and again for an unknown uid, at most once a second.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "storage/store/store.h"

namespace tracker::internal {

class RunIndex {
 public:
  explicit RunIndex(const Store& store) : store_(store) {}
  std::optional<RunFolder> find(const Id128& uid);
  // The run `said`, in `project`; made on the disk (fsync) if it is missing. Its label is that of `said`, or
  // "<label>-2" and so on if another run of the project has it. kInvalid: a bad project or label, or the run is here in
  // another project.
  Result<RunFolder> open_or_make(const RunIdentity& said, std::string_view project);
  // A run that a listing has found.
  void note(const RunFolder& run);

 private:
  bool is_there(const Id128& uid);
  void scan();
  Result<std::string> free_label(std::string_view project, const std::string& label);

  const Store store_;
  std::mutex mutex_;
  std::map<Id128, RunFolder> runs_;
  int64_t scanned_ns_ = 0;  // 0: never
};

}  // namespace tracker::internal
