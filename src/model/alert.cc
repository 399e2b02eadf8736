// SPDX-License-Identifier: MIT
#include "model/alert.h"

#include <algorithm>

namespace tracker::internal {

const char* alert_level_name(AlertLevel level) {
  switch (level) {
    case AlertLevel::kInfo: return "info";
    case AlertLevel::kWarn: return "warn";
    case AlertLevel::kError: return "error";
  }
  return "info";
}

std::optional<AlertLevel> alert_level(std::string_view name) {
  if (name.empty()) return AlertLevel::kInfo;
  const auto same = [name](std::string_view known) {
    return std::equal(name.begin(), name.end(), known.begin(), known.end(),
                      [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b); });
  };
  for (const AlertLevel level : {AlertLevel::kInfo, AlertLevel::kWarn, AlertLevel::kError})
    if (same(alert_level_name(level))) return level;
  return std::nullopt;
}

std::string alert_part(std::string_view text, size_t bytes, uint64_t* cut) {
  if (text.size() <= bytes) return std::string(text);
  size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  *cut += text.size() - end;
  return std::string(text.substr(0, end));
}

bool AlertRoom::take(int64_t now_ns) {
  constexpr int64_t kMinuteNs = 60'000'000'000;
  if (in_minute_ == 0 || now_ns - minute_ns_ >= kMinuteNs) {
    minute_ns_ = now_ns;
    in_minute_ = 0;
  }
  if (taken_ >= kAlertsMax || in_minute_ >= kAlertsAMinute) return false;
  ++taken_;
  ++in_minute_;
  return true;
}

bool AlertRoom::count_dropped() {
  ++dropped_;
  return (dropped_ & (dropped_ - 1)) == 0;
}

}  // namespace tracker::internal
