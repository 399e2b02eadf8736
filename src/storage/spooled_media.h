// SPDX-License-Identifier: MIT
// Media that wait for their encoding on the disk: media/spool-<writer>-<16 hex> in a run's folder, whole with what is
// to be done with them (docs/formats/store.md). Their process encodes them and removes them; of a dead one the next
// program of the Python package that reads the run does. Here they are counted, and removed when they are very old.
// Threads: any. Cost: a listing of the run's media folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace tracker::internal {

constexpr const char* kSpooledPrefix = "spool-";
// Nobody came with the Python package, or with the library that encodes it, in so long: `tracker gc` removes it.
constexpr std::chrono::days kSpooledAge{30};

struct SpooledMedium {
  std::string path;
  Id128 writer;
  uint64_t bytes = 0;
  int64_t changed_s = 0;  // since 1970
};

// "media/spool-<writer>-<16 hex>" of it; nullopt for another name.
std::optional<Id128> spooled_by(std::string_view name);
// Regular files alone, by name. None where there is no such folder.
std::vector<SpooledMedium> spooled_media(const std::string& run_dir);

}  // namespace tracker::internal
