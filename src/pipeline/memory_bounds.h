// SPDX-License-Identifier: MIT
// How much may wait in memory for the disk. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/records.h"

namespace tracker::internal {

// Limit: bytes of encoded frames that wait for the disk. Beyond it: the points stay in the rings.
constexpr size_t kQueueBytesMax = 16 * 1024 * 1024;
// Limit: bytes of rings, encoded frames and large texts that wait for the disk. Beyond it: rings are read no further;
// large texts and media are dropped and counted (store not writable).
constexpr size_t kWaitingBytesMax = 40 * 1024 * 1024;
constexpr size_t kWaitingBytesEach = 4 * 1024 * 1024;  // of frames and of texts, whatever the others have
// Limit: bytes of texts and config values above 64 KiB that wait to become a frame. Beyond it: dropped and counted.
constexpr size_t kLargeBytesMax = 16 * 1024 * 1024;
// Limit: bytes of waiting texts and config values up to which lines of output are still taken. Beyond it: lines are not
// recorded, and a mark counts them.
constexpr size_t kConsoleWaitingBytesMax = 4 * 1024 * 1024;
// Limit: samples of the system that wait for the drain thread. Beyond it: left out, and the run has a note of it.
constexpr size_t kSamplesWaitingMax = 256;
// Limit: bytes of facts of the environment that wait for the drain thread. Beyond it: left out and counted as entries
// lost, reported once.
constexpr size_t kFactsBytesMax = 8 * 1024 * 1024;

struct WaitingBytes {
  size_t queue = 0;    // encoded frames
  size_t large = 0;    // values too large for a ring, not yet in a frame
  size_t journal = 0;  // rings; not the spill file, which is no memory and holds frames of the queue once more
  size_t all() const { return queue + large + journal; }
};

// Then the drain thread leaves what comes in the rings, whose own policy bounds it.
bool queue_is_full(const WaitingBytes& waiting);

// A value too large for a ring that a call asks to keep.
struct LargeValue {
  EventType type;
  size_t bytes = 0;
  bool at_end = false;       // lines of output may take all the room
  size_t overhead = 0;       // bytes of memory that those that wait take beside their own
  uint64_t disk_credit = 0;  // bytes that may be accepted before the disk is measured again
};

enum class LargeAnswer { kTake, kNoRoom, kNoSharedRoom };  // the last: rings and frames have what it needs

LargeAnswer may_take_large(const LargeValue& value, const WaitingBytes& waiting);

}  // namespace tracker::internal
