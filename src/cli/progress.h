// SPDX-License-Identifier: MIT
// A bar on stderr for work that takes long: drawn only on a terminal, after a second, ten times a second at most.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "cli/console.h"

namespace tracker::internal {

constexpr int64_t kProgressQuietNs = 1'000'000'000;  // what takes less needs no bar
constexpr int64_t kProgressRedrawNs = 100'000'000;

class ProgressBar {
 public:
  ProgressBar(Console& console, std::string what, int64_t quiet_ns = kProgressQuietNs);
  void show(uint64_t done, uint64_t total);
  void clear();  // the line is empty again, as before

 private:
  Console& console_;
  std::string what_;
  int64_t begun_ns_, quiet_ns_;
  int64_t drawn_ns_ = 0;
};

}  // namespace tracker::internal
