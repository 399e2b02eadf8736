// SPDX-License-Identifier: MIT
// A memory cgroup of a test's own, of version 1 or 2, whichever the machine has its memory controller in. Needs root
// and a hierarchy that may be written; where that is not so a test skips by name.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace tracker::internal {

class MemoryGroup {
 public:
  explicit MemoryGroup(uint64_t limit_bytes) {
    const std::string v1 = "/sys/fs/cgroup/memory", v2 = "/sys/fs/cgroup";
    const bool is_v1 = ::access((v1 + "/memory.limit_in_bytes").c_str(), F_OK) == 0;
    path_ = (is_v1 ? v1 : v2) + "/tracker-test-" + std::to_string(::getpid());
    if (::mkdir(path_.c_str(), 0755) != 0) {
      path_.clear();
      return;
    }
    limited_ = put(is_v1 ? "memory.limit_in_bytes" : "memory.max", std::to_string(limit_bytes));
    (void)put(is_v1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max", is_v1 ? std::to_string(limit_bytes) : "0");
  }
  ~MemoryGroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool usable() const { return limited_; }
  // This process and its later children belong to it from now on.
  bool enter() const { return put("cgroup.procs", std::to_string(::getpid())); }

 private:
  bool put(const std::string& file, const std::string& value) const {
    std::ofstream out(path_ + "/" + file);
    return static_cast<bool>((out << value).flush());
  }
  std::string path_;
  bool limited_ = false;
};

}  // namespace tracker::internal
