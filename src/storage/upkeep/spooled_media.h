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
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/ids.h"
#include "base/status.h"

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

constexpr const char* kSpoolLockFile = "spool.lock";  // in the run's media folder
constexpr int kSpoolLockTries = 200;
constexpr std::chrono::milliseconds kSpoolLockPause{10};

// Who puts something into the database of a writer that has ended, or makes that file anew, is the only one: an OFD
// lock on media/spool.lock, removed by whoever holds it.
class SpoolLock {
 public:
  // kBusy: another process has it, kSpoolLockTries times with kSpoolLockPause between. kIo: the folder takes no file.
  static Result<SpoolLock> take(const std::string& run_dir, int tries = kSpoolLockTries);
  SpoolLock(SpoolLock&& other) noexcept;
  SpoolLock& operator=(SpoolLock&&) = delete;
  ~SpoolLock();

 private:
  SpoolLock(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;  // empty: moved from
};

// "media/spool-<writer>-<16 hex>" of it; nullopt for another name.
std::optional<Id128> spooled_by(std::string_view name);
// Regular files alone, by name. None where there is no such folder.
std::vector<SpooledMedium> spooled_media(const std::string& run_dir);

}  // namespace tracker::internal
