// SPDX-License-Identifier: MIT
#include "pipeline/memory_bounds.h"

#include "pipeline/disk_limit.h"

namespace tracker::internal {

bool queue_is_full(const WaitingBytes& waiting) {
  return waiting.queue > kQueueBytesMax || (waiting.queue > kWaitingBytesEach && waiting.all() > kWaitingBytesMax);
}

LargeAnswer may_take_large(const LargeValue& value, const WaitingBytes& waiting) {
  const size_t large = waiting.large + value.bytes;
  if (large > kLargeBytesMax) return LargeAnswer::kNoRoom;
  const bool is_console = value.type == EventType::kConsole;
  // Config, summary and the like are few, and worth more than a text beside a flood of numbers.
  const bool is_text = value.type == EventType::kText || value.type == EventType::kMedia;
  if (is_text && large > kWaitingBytesEach && waiting.all() + value.bytes > kWaitingBytesMax)
    return LargeAnswer::kNoSharedRoom;
  if (is_console && !value.at_end && large + value.overhead > kConsoleWaitingBytesMax) return LargeAnswer::kNoRoom;
  const uint64_t kept = is_text || is_console ? 0 : (kDiskReserve - kDiskEndReserve) / 2;
  return value.bytes > kept && value.bytes - kept > value.disk_credit ? LargeAnswer::kNoRoom : LargeAnswer::kTake;
}

}  // namespace tracker::internal
