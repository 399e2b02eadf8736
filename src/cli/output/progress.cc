// SPDX-License-Identifier: MIT
#include "cli/output/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/output/text.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kCells = 30;

}  // namespace

ProgressBar::ProgressBar(Console& console, std::string what)
    : console_(console), what_(std::move(what)), begun_ns_(monotonic_ns()) {}

void ProgressBar::show(uint64_t done, uint64_t total) {
  const int64_t now = monotonic_ns();
  if (!console_.progress || total == 0 || now - begun_ns_ < console_.progress_after_ns) return;
  if (now - drawn_ns_ < kProgressRedrawNs) return;
  drawn_ns_ = now;
  done = std::min(done, total);  // what is read may be larger than it says
  const uint64_t filled = done * kCells / total;
  const double left_s = static_cast<double>(now - begun_ns_) / 1e9 * static_cast<double>(total - done) /
                        static_cast<double>(done > 0 ? done : 1);
  console_.write_err(fmt::format("\r\033[K{} [{}{}] {} of {}, {} left", what_, std::string(filled, '#'),
                                 std::string(kCells - filled, '.'), count_text(done), count_text(total),
                                 duration_text(static_cast<int64_t>(left_s * 1e6))));
}

void ProgressBar::clear() {
  if (drawn_ns_ != 0) console_.write_err("\r\033[K");
  drawn_ns_ = 0;
}

}  // namespace tracker::internal
