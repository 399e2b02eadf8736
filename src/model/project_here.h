// SPDX-License-Identifier: MIT
// In which project of this store an artifact is that a writer's frames name. Threads: any.
#pragma once

#include <string>

#include "model/key.h"
#include "model/records.h"

namespace tracker::internal {

// `said`, unless the run was sent into another project of a server (docs/formats/http.md) and `said` is the one in
// which it was recorded, as the writer's `run_dir` has it: then the run's, for its artifacts were sent there too.
inline std::string project_here(const WriterIdentity& writer, const std::string& said) {
  const bool is_own = writer.received && writer.run_dir.starts_with("runs/" + folder_name(said) + "/");
  return is_own ? writer.run.project : said;
}

}  // namespace tracker::internal
