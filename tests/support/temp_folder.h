// SPDX-License-Identifier: MIT
// A folder for one test, removed with all it holds. A folder that cannot be made ends the test program. Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tracker::internal {

class TempFolder {
 public:
  // `parent`: for very many files "/dev/shm/", where they cost no disk.
  explicit TempFolder(const std::string& parent = ::testing::TempDir()) : path_(parent + "tracker-XXXXXX") {
    if (::mkdtemp(path_.data()) != nullptr) return;
    std::perror(path_.c_str());
    std::abort();
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tracker::internal
