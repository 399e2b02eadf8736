// SPDX-License-Identifier: MIT
// The few lines that the tracker may write to stderr of a training: one at start, one at the end, and each warning once
// (P9). Threads: any. Cost: one write(2); never blocks on a lock of the user's streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "model/records.h"

namespace tracker::internal {

// Writes "tracker: <text>\n" to file descriptor 2 in one write.
void print_line(std::string_view text);

// "1 point", "12,345 points".
std::string count_text(uint64_t n, std::string_view one, std::string_view many);

// Prints one line a topic, and at most kWarningsMax of them; then one line that further ones are only counted.
class Warnings {
 public:
  // Limit: warnings that a run prints, one a topic. Beyond it: one line says so, and the rest are only counted.
  static constexpr size_t kWarningsMax = 32;
  Warnings() = default;
  // Lines about a run begin with its name: several may be recorded at once.
  explicit Warnings(const RunIdentity& run) : about_(run.uid.is_zero() ? "" : run.project + "/" + run.id + ": ") {}
  void warn_once(std::string_view topic, std::string_view text);

 private:
  const std::string about_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> topics_;
};

}  // namespace tracker::internal
