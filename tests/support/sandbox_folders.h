// SPDX-License-Identifier: MIT
// A store and a tmpfs folder of its own for one test, with every variable that init reads cleared: tests run side by
// side and must not recover each other's journals.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fs.h"

namespace tracker::internal {

// As realpath(3) has it: tests that take over libc's calls know their files by what they are opened as.
inline std::string make_folder(const std::string& parent) {
  std::string name = std::filesystem::canonical(parent).string() + "/tracker-test-XXXXXX";
  return ::mkdtemp(name.data()) != nullptr ? name : "";
}

// A folder in which a live writer makes files meanwhile: std::filesystem::remove_all throws where one came in between.
inline void remove_under_a_writer(const std::string& folder) {
  std::error_code error;
  for (int tries = 0; tries < 1000; ++tries) {
    std::filesystem::remove_all(folder, error);
    if (!error) return;
  }
  ADD_FAILURE() << "cannot remove " << folder << ": " << error.message();
}

class Sandbox {
 public:
  Sandbox() : folder_(make_folder(::testing::TempDir())), shm_(make_folder("/dev/shm")) {
    for (const char* name : {"TRACKER_PROJECT",
                             "TRACKER_MODE",
                             "TRACKER_RUN_ID",
                             "TRACKER_RANK",
                             "TRACKER_RANKS",
                             "TRACKER_STORE_FILES",
                             "RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "NODE_RANK",
                             "GROUP_RANK",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "OMPI_COMM_WORLD_RANK",
                             "PMI_RANK",
                             "PMIX_RANK",
                             "JSM_NAMESPACE_RANK",
                             "TORCHELASTIC_RUN_ID",
                             "TORCHELASTIC_RESTART_COUNT"})
      ::unsetenv(name);
    ::setenv("TRACKER_DIR", store().c_str(), 1);
    // The environment is captured only by the tests about it: elsewhere points are counted to the last one.
    ::setenv("TRACKER_CAPTURE", "none", 1);
    ::setenv("TRACKER_SHM_DIR", shm_.c_str(), 1);
  }
  ~Sandbox() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    std::filesystem::remove_all(shm_, ignored);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const std::string& folder() const { return folder_; }
  std::string store() const { return folder_ + "/store"; }
  const std::string& shm() const { return shm_; }
  // The folder of the journals: one folder a writer.
  std::string journals() const { return shm_ + "/tracker-" + std::to_string(::geteuid()); }
  std::vector<std::string> journal_folders() const {
    std::vector<std::string> out;
    auto names = list_dir(journals());
    if (names.ok())
      for (const std::string& name : *names) out.push_back(join_path(journals(), name));
    return out;
  }

 private:
  std::string folder_, shm_;
};

}  // namespace tracker::internal
