// SPDX-License-Identifier: MIT
// A child's stderr: into a file, and back line by line.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/child.h"

namespace tracker::internal {

// stderr of this process into a file.
inline void redirect_stderr(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHILD_CHECK(fd >= 0 && ::dup2(fd, STDERR_FILENO) >= 0);
}

inline std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace tracker::internal
