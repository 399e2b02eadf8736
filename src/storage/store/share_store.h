// SPDX-License-Identifier: MIT
// A store that a group of users writes (docs/stores.md). New files in it get the group's rights by share_with_group()
// (base/fs.h). Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "storage/store/store.h"

namespace tracker::internal {

struct SharedStore {
  std::string group;  // its name, else its number
  // files and folders of other users, which only they can change: their owners must run the same command
  uint64_t of_others = 0;
  std::string closed_above;  // a folder above the store that only its owner may pass through; empty: none
};

// Makes the store at `path` if there is none, and lets a group read and write it: `group` by name or number; empty:
// that of the store's folder. Journals, the server's files and staged ones stay private. Cost: one visit of each file.
// kInvalid: no such group; kIo: the folder is another user's, or this user is not in the group.
Result<SharedStore> share_store(const std::string& path, const std::string& group);

// What the owner of the store at `path` can do for users who may not read or write it.
std::string way_into(const std::string& path);
// Adds that as the hint, if rights are missing and there is no hint.
Status with_way_into(Status status, const std::string& path);

}  // namespace tracker::internal
