// SPDX-License-Identifier: MIT
// How far a ring may be filled with what. Numbers stop first and texts next, so that texts, and after them config,
// summary and what else is set by a key, find room in a ring that is full for numbers. This is a writer's policy: the
// bytes of a ring and all who read them know nothing of it. Threads: pure functions. Cost: some ten instructions, off
// the fast path, which compares with the result.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "journal/ring/place.h"
#include "journal/ring/ring_format.h"
#include "model/key.h"

namespace tracker::internal {

// So long a call waits for the drain thread to make a larger ring; then it makes one itself.
constexpr std::chrono::milliseconds kRingAwaited{1};

// Kept from numbers: a sixteenth of a ring, and at least room for one text of the largest size that passes through a
// ring; of a ring that is too small for that a third.
constexpr uint64_t kRingEventReserve = 72 * 1024;
constexpr uint64_t kRingEventShare = 16;
constexpr uint64_t kRingEventShareMax = 3;
// Of what is kept from numbers, texts leave a sixteenth to config and the like.
constexpr uint64_t kRingEntryShare = 16;

// The largest payload of an event in a ring: a text, its key, and the map around both.
constexpr uint64_t kRingPayloadMax = kInlineTextBytesMax + kKeyBytesMax + 64;
static_assert(kRingEventReserve - kRingEventReserve / kRingEntryShare >= kRecordHeadBytes + 8 + kRingPayloadMax);
static_assert(kRingEventReserve <= kFirstRingBytes / kRingEventShareMax);

// Console lines have the room of numbers and never wait for it.
enum class RingUse { kNumbers, kTexts, kEntries, kConsole };

inline uint64_t ring_reserve(RingUse use, uint64_t size) {
  if (use == RingUse::kEntries) return 0;
  const uint64_t events = std::min(std::max(size / kRingEventShare, kRingEventReserve), size / kRingEventShareMax);
  return use != RingUse::kTexts ? events : events / kRingEntryShare;
}

// The position that a record must not reach beyond. After it the reserve is free in one piece: no record crosses the
// end of a lap, so where a lap ends within the reserve, all of it lies in front of that end.
// `used`: of `size`, how much a ring may hold at once.
inline uint64_t ring_limit(RingUse use, uint64_t released, uint64_t size, uint64_t used) {
  const uint64_t reserve = ring_reserve(use, used);
  const uint64_t end = released + used;
  const uint64_t in_lap = end & (size - 1);
  return end - reserve - (in_lap < reserve ? in_lap : 0);
}

// Beyond it the drain thread is woken and makes a larger ring: half the ring, less where numbers have not even that.
inline uint64_t ring_wake_mark(uint64_t released, uint64_t size, uint64_t used) {
  const uint64_t room = ring_limit(RingUse::kNumbers, released, size, used) - released;
  return released + std::min(used / 2, room / 4 * 3);
}

// The largest record of an event: an empty ring takes it wherever the lap ends. No less than 64 KiB in the first ring.
inline uint64_t ring_event_max(uint64_t size) { return size / 8 * 3; }
static_assert(kFirstRingBytes / 8 * 3 >= kRecordHeadBytes + 8 + kRingPayloadMax);

}  // namespace tracker::internal
