// SPDX-License-Identifier: MIT
// An alert: what the code of a run reports to people while it runs. Its levels and bounds. Pure functions.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tracker::internal {

// Limit: bytes of the title of an alert. Beyond it: cut; the alert says how much.
constexpr size_t kAlertTitleBytesMax = 256;
// Limit: bytes of the text of an alert. Beyond it: cut; the alert says how much.
constexpr size_t kAlertTextBytesMax = 16 * 1024;
// Limit: alerts of a process that records a run, and of an imported run. Beyond it: dropped, counted, reported once; an
// error with strict.
constexpr uint64_t kAlertsMax = 1'000;
// Limit: alerts of a process in a minute. Beyond it: dropped, counted, reported once; an error with strict.
constexpr uint64_t kAlertsAMinute = 60;
// Limit: alerts that one reading gives, the last ones. Beyond it: `total` says how many there are.
constexpr uint64_t kAlertsShown = 1'000;

enum class AlertLevel : uint8_t { kInfo, kWarn, kError };

const char* alert_level_name(AlertLevel level);  // "info", "warn", "error"
// By its name in small or capital letters; empty: info.
std::optional<AlertLevel> alert_level(std::string_view name);

// At most `bytes` of it, whole characters of UTF-8; what is cut is added to `cut`.
std::string alert_part(std::string_view text, size_t bytes, uint64_t* cut);

// Which alerts find room: kAlertsMax in all and kAlertsAMinute in a minute, which begins with the first one in it. The
// caller holds a lock.
class AlertRoom {
 public:
  bool take(int64_t now_ns);
  // Of those that found none: whether this number is one to be recorded now. Each is that is a power of two, so that a
  // process that is killed has recorded at least half of them.
  bool count_dropped();
  uint64_t dropped() const { return dropped_; }

 private:
  uint64_t taken_ = 0, in_minute_ = 0, dropped_ = 0;
  int64_t minute_ns_ = 0;  // when it began
};

}  // namespace tracker::internal
