// SPDX-License-Identifier: MIT
// Shared by fuzzers of files: a folder in memory that is removed with the process, and files written again for each
// input. Threads: one. A folder or a file that cannot be made ends the fuzzer: nothing would be tested.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace tracker::internal {

class Scratch {
 public:
  Scratch() : path_(::access("/dev/shm", W_OK) == 0 ? "/dev/shm/tracker-fuzz-XXXXXX" : "/tmp/tracker-fuzz-XXXXXX") {
    if (::mkdtemp(path_.data()) != nullptr) return;
    std::perror(path_.c_str());
    std::abort();
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Replaces the file.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::string to = file(name);
    const int fd = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool ok = fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    if (!ok) std::abort();
    ::close(fd);
    return to;
  }

 private:
  std::string path_;
};

}  // namespace tracker::internal
