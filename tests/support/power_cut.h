// SPDX-License-Identifier: MIT
// What a disk holds when the power goes, from a log of writes (write_log.h). Data that no fsync of its file covered may
// be there, not there, or there in part, by sectors. Names are ordered, as the journals of ext4 and XFS keep them: the
// fsync of any file makes all names before it durable, later ones may be missing.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/write_log.h"

namespace tracker::internal {

enum class PowerCut {
  kOnlySynced,   // nothing that no fsync has covered, neither names nor data
  kNamesOnly,    // all names, and of the files what was fsynced: those that never were are empty
  kEverything,   // all of it, as after a kill
  kSomeSectors,  // all names; each 512 bytes of unsynced data is there or zero, by chance
};
constexpr size_t kSectorBytes = 512;

class CutDisk {
 public:
  void apply(const LoggedWrite& write);
  // Writes the files that are left into `folder`, which must be empty. Failures end the program.
  void restore(PowerCut cut, std::mt19937_64* random, const std::string& folder) const;

 private:
  struct File {
    bool is_folder = false;
    std::string durable;
    std::vector<LoggedWrite> pending;
  };
  std::string content(const File& file, PowerCut cut, std::mt19937_64* random) const;
  File& file_at(const std::string& path);

  std::vector<File> files_;
  std::map<std::string, size_t> names_, durable_names_;
};

}  // namespace tracker::internal
