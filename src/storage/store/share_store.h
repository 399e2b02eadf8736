// SPDX-License-Identifier: MIT
// A store that a group of users writes (docs/stores.md). What is made in it later is the group's by
// share_with_group() (base/fs.h). Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "storage/store/store.h"

namespace tracker::internal {

struct SharedStore {
  std::string group;         // its name, else its number
  uint64_t of_others = 0;    // files and folders whose owner has to do the same: this user may not change their modes
  std::string closed_above;  // a folder above the store that lets nobody but its owner through; empty: none
};

// Makes the store at `path` where there is none, and lets a group read and write it: `group` by name or number; empty:
// that of the store's folder. Journals, the server's files and staged ones stay private. Cost: a look at each file.
// kInvalid: no such group; kIo: the folder is another user's, or this user is not in the group.
Result<SharedStore> share_store(const std::string& path, const std::string& group);

// What its owner can do for whoever may not read or write the store at `path`.
std::string way_into(const std::string& path);
// With that as its hint, where rights are what is missing and it has no hint.
Status with_way_into(Status status, const std::string& path);

}  // namespace tracker::internal
