// SPDX-License-Identifier: MIT
// Determines the id of a store whose store.json is damaged or missing, from its runs. With a new id the journals of
// dead writers, which have the old one, would never be recovered. Threads: any.
#pragma once

#include <string>

#include "base/ids.h"
#include "base/status.h"

namespace tracker::internal {

// How many runs' folders are read, the newest first; all that have an id must agree.
// Limit: newest runs that are asked for the id of a store without store.json. Beyond it: an error, or a new id.
constexpr size_t kIdentityRunsMax = 8;

struct FoundIdentity {
  Id128 id;
  std::string from;  // the database with that id
};

// Reads a database or a frames file of each of those runs; if none has an id, the journals on this machine of processes
// whose run is in the store. kNotFound: none has one; kCorrupt: they differ, and which. Cost: lists each run's folder,
// opens a database of a few.
Result<FoundIdentity> identity_of_runs(const std::string& store_path);

// Replaces a damaged <store>/store.json, keeps the damaged one under another name and returns that name. Any number of
// processes may do it at the same time. One that another process has repaired meanwhile is kept. Errors: kIo, kLimit.
Result<std::string> repair_store_document(const std::string& store_path, const Id128& id);

}  // namespace tracker::internal
