// SPDX-License-Identifier: MIT
// A small tmpfs in a mount namespace of a child process, for full disks. Where that is not allowed a test skips by
// name.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <fstream>
#include <string>

namespace tracker::internal {

constexpr int kNoMounts = 77;  // exit code of a child that may not mount

inline bool mount_tmpfs(const std::string& path, const char* size) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", path.c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
}

// Writes until the file system is full; the path of the file that holds it.
inline std::string fill_up(const std::string& folder) {
  const std::string path = folder + "/filler";
  std::ofstream out(path, std::ios::app);
  const std::string block(4096, 'x');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {}
  return path;
}

}  // namespace tracker::internal
