// SPDX-License-Identifier: MIT
// A store whose store.json is damaged or gone: its runs say which one it is. Without that a new id would be made, and
// the journals of dead writers, which name the old one, would wait for ever. Threads: any.
#pragma once

#include <string>

#include "base/ids.h"
#include "base/status.h"

namespace tracker::internal {

// Folders of runs that are asked, the newest first; all that answer must agree.
// Limit: newest runs that are asked for the id of a store without store.json. Beyond it: an error, or a new id.
constexpr size_t kIdentityRunsMax = 8;

struct FoundIdentity {
  Id128 id;
  std::string from;  // the database that says so
};

// Reads a database or a frames file of each of those runs; where none says an id, the journals on this machine of
// processes whose run is there. kNotFound: none of them; kCorrupt: they differ, and which do. Cost: a look at each
// run's folder, a database each of a few.
Result<FoundIdentity> identity_of_runs(const std::string& store_path);

// Replaces a damaged <store>/store.json, keeps the damaged one under another name and returns that name. Any number of
// processes may do it at the same time. One that another process has repaired meanwhile stays. Errors: kIo, kLimit.
Result<std::string> mend_store_document(const std::string& store_path, const Id128& id);

}  // namespace tracker::internal
