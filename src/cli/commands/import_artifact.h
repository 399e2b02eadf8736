// SPDX-License-Identifier: MIT
// Files of another tool's run on their way into an artifact of the run that is imported. Threads: one at a time. Cost:
// as store_artifact(); a second import reads no file that did not change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/artifact_store.h"
#include "exchange/run_import.h"

namespace tracker::internal {

struct ImportedFiles {
  std::string name, type;          // of the artifact: the run's id, then the source's name as far as a name may hold it
  std::string folder;              // of the source
  std::vector<std::string> paths;  // below it, and in the artifact
  int64_t time_us = 0;             // when the run made it
};

// Stores them as a version that the run made, and says so in the run. A version with this content is the one it is.
// What refuses them (a file that changes, no room, another type under that name) is a problem of the report, and the
// run comes without them. A file whose path no artifact takes is left out and counted as `left_out`.
Status import_artifact(ImportStore* store, RunImport* run, ImportedFiles files, const std::string& left_out,
                       const ArtifactProgress& progress);

}  // namespace tracker::internal
