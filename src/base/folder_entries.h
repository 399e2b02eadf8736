// SPDX-License-Identifier: MIT
// Threads: any. Cost: one listing of the folder.
#pragma once

#include <dirent.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

// Calls visit(const dirent&) for each entry of a folder except "." and "..", in the order of the disk. kNotFound, kIo.
// readdir(3) returns null both at the end and on an error; only errno distinguishes them.
template <typename Visit>
Status visit_folder(const std::string& path, Visit&& visit) {
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return Status::from_errno(errno, "cannot list", path);
  int error = 0;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(*entry);
  }
  ::closedir(dir);
  return error == 0 ? Status() : Status::from_errno(error, "cannot list", path);
}

}  // namespace tracker::internal
