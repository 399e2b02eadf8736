// SPDX-License-Identifier: MIT
// A bar on stderr for work that takes long: drawn only on a terminal, after a second, ten times a second at most.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output/console.h"

namespace tracker::internal {

constexpr int64_t kProgressRedrawNs = 100'000'000;

class ProgressBar {
 public:
  ProgressBar(Console& console, std::string what);
  void show(uint64_t done, uint64_t total);
  void clear();  // the line is empty again, as before

 private:
  Console& console_;
  std::string what_;
  const int64_t begun_ns_;
  int64_t drawn_ns_ = 0;
};

}  // namespace tracker::internal
