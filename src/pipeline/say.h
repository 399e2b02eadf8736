// SPDX-License-Identifier: MIT
// The few lines that a guest in someone's training may write to stderr: one at start, one at the end, and warnings said
// once (P9). Threads: any. Cost: one write(2); never blocks on a lock of the user's streams.
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
void say(std::string_view text);

// "1 point", "12,345 points".
std::string count_text(uint64_t n, std::string_view one, std::string_view many);

// Says each line once, and no more than kSaidMax different ones (then one line that more are counted only).
class SayOnce {
 public:
  // Limit: different warnings of a run on stderr. Beyond it: counted only.
  static constexpr size_t kSaidMax = 32;
  SayOnce() = default;
  // Lines about a run begin with its name: several may be recorded at once.
  explicit SayOnce(const RunIdentity& run) : about_(run.uid.is_zero() ? "" : run.project + "/" + run.id + ": ") {}
  void say(std::string_view topic, std::string_view text);

 private:
  const std::string about_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> said_;
};

}  // namespace tracker::internal
