// SPDX-License-Identifier: MIT
// The bytes of a ring file, as docs/formats/ring.md says them: a 4096-byte header, then `data_bytes` (a power of two)
// of records. One thread produces; the drain thread consumes; recovery reads what a dead process left. Everything here
// is on disk or in tmpfs: changing it means a new kRingVersion.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/crc32c.h"

namespace tracker::internal {

constexpr uint64_t kRingMagic = 0x474e49524a4b5254;       // "TRKJRING"
constexpr uint64_t kUnreleasedRing = 0x31474e49524b5254;  // "TRKRING1"
constexpr uint32_t kRingVersion = 1;
constexpr size_t kRingHeaderBytes = 4096;
// Limit: bytes of a ring file that recovery reads. Beyond it: the file is named and kept.
constexpr size_t kRingFileBytesMax = 64u << 20;
constexpr size_t kAnchorSlots = 16;
// Limit: counts of dropped points by metric and reason that a ring has. Beyond it: counted for no metric in particular.
constexpr size_t kLossSlots = 96;
constexpr size_t kLossSlotsShared = 27;    // the last ones, for what finds no slot of its own: one a reason and kind
constexpr uint64_t kNonceMask = ~0xffull;  // the low byte of a nonce is 0: loss slot i is named nonce | (i + 1)

constexpr uint64_t kUnreadRing = 255;  // nonce | this names what recovery counted for a ring that it could not read

constexpr uint64_t kRingsHeldMax = 1024;          // no process has more files of them: a larger count is damage
constexpr uint64_t kFrameNumberMax = 1ull << 48;  // no writer gives more: a larger one is damage
constexpr uint64_t kLossCountMax = 1ull << 48;    // no process drops more: a larger count is damage

// One (series, reason) and how many points were dropped so far. key = series << 8 | reason, 0 = free.
struct LossSlot {
  std::atomic<uint64_t> key;
  std::atomic<uint64_t> count;
};

struct RingHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t tick_kind;  // TickKind
  uint64_t nonce;      // random, low byte 0; part of every record's CRC
  uint64_t data_bytes;
  uint8_t writer[16];
  double ticks_per_ns;  // estimate at creation, for records that no second anchor encloses
  // Points accepted in rings of this writer that are gone. Written by the drain thread.
  std::atomic<uint64_t> accepted_before;

  // Written by the producer.
  alignas(64) std::atomic<uint64_t> tail;  // bytes published since creation; a record lies at position % data_bytes
  std::atomic<uint64_t> accepted;          // points in the records before tail
  std::atomic<uint64_t> waits;             // calls that waited for space
  std::atomic<uint64_t> texts;             // texts in the records before tail; of the last one perhaps not yet
  // accepted << 1 | (the tail it belongs to) / 8 & 1. A process dies between two stores: whether `accepted` has the
  // record after tail already is not known without it, for a record of values turns that bit, being an odd number of
  // words.
  std::atomic<uint64_t> accepted_at;
  // Rings of this writer that are files, this one among them: fewer, and some are gone that were not done with. Written
  // by the thread that makes or unlinks one, into all.
  std::atomic<uint64_t> rings_held;

  // Written by the store thread: a hint. What counts is the position in the database.
  alignas(64) std::atomic<uint64_t> released;

  // Points accepted so far in rings of this writer that are no files, because there was no room. The same in every ring
  // of the writer; written by each thread that logs there, under a lock of the writer's.
  std::atomic<uint64_t> accepted_unfiled;

  // The ring that is unlinked next, and accepted_before as it is from then on, whatever that says. Written by the drain
  // thread into all other rings.
  std::atomic<uint64_t> leaving;
  std::atomic<uint64_t> accepted_before_then;

  // As accepted_before and accepted_before_then, of texts.
  std::atomic<uint64_t> texts_before, texts_before_then;

  // Texts accepted so far that were too large for a ring: they wait in the memory of the process. As accepted_unfiled.
  std::atomic<uint64_t> texts_unfiled;
  std::atomic<uint64_t> texts_committed;  // of these; written by the store thread

  // Written by the drain thread; anchor i of the process is in slot i % kAnchorSlots.
  alignas(64) std::atomic<uint64_t> anchor_count;
  TimeAnchor anchors[kAnchorSlots];
  // The highest number that a frame of this writer was given, whatever became of that frame: who goes on with its log
  // gives higher ones. The same in every ring of the writer.
  std::atomic<uint64_t> highest_number;

  alignas(64) LossSlot losses[kLossSlots];
};
static_assert(sizeof(RingHeader) <= kRingHeaderBytes);
static_assert(offsetof(RingHeader, accepted_before) == 56 && offsetof(RingHeader, texts) == 88);
static_assert(offsetof(RingHeader, tail) == 64 && offsetof(RingHeader, released) == 128);
static_assert(offsetof(RingHeader, rings_held) == 104);
static_assert(offsetof(RingHeader, accepted_at) == 96 && offsetof(RingHeader, accepted_unfiled) == 136);
static_assert(offsetof(RingHeader, leaving) == 144 && offsetof(RingHeader, accepted_before_then) == 152);
static_assert(offsetof(RingHeader, texts_before) == 160 && offsetof(RingHeader, texts_before_then) == 168);
static_assert(offsetof(RingHeader, texts_unfiled) == 176 && offsetof(RingHeader, texts_committed) == 184);
static_assert(offsetof(RingHeader, highest_number) == 584);
static_assert(offsetof(RingHeader, anchor_count) == 192 && offsetof(RingHeader, losses) == 640);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// A record: word 0 = crc | head << 32, word 1 = step, word 2 = tick, then
//   kValues: `count` pairs of 16 bytes;   kEvent: one word type | payload bytes << 32, then the payload padded to 8;
//   kPad: nothing (word 0 only): the rest of the lap is unused.
// head: bits 0-15 count, 16-19 kind, 20 has a step, 21 more records of the same call follow.
enum class RecordKind : uint32_t { kValues = 1, kEvent = 2, kPad = 3 };
constexpr uint32_t kHeadHasStep = 1u << 20;
constexpr uint32_t kHeadContinues = 1u << 21;
constexpr uint32_t make_head(RecordKind kind, uint32_t count, uint32_t flags) {
  return count | static_cast<uint32_t>(kind) << 16 | flags;
}
constexpr RecordKind head_kind(uint32_t head) { return static_cast<RecordKind>(head >> 16 & 0xf); }
constexpr uint32_t head_count(uint32_t head) { return head & 0xffff; }

struct ValuePair {
  uint64_t bits;
  uint32_t series;
  uint32_t zero;
};
static_assert(sizeof(ValuePair) == 16);
constexpr size_t kRecordHeadBytes = 24;
constexpr size_t kRecordPairsMax = 0xffff;
// Limit: metrics of a part of a call. Beyond it: the call is split into parts that share step and time.
constexpr size_t kPairsAPart = 8'192;  // of a call of more: columns of a frame take far more memory than values
static_assert(kPairsAPart <= kRecordPairsMax);

// The CRC of a record begins with the nonce and the position, so that a record of an older lap or ring never verifies.
inline uint32_t ring_seed(uint64_t nonce) { return crc32c_word(0xffffffffu, nonce); }
inline uint64_t record_crc_word(uint64_t position, uint32_t head) {
  return position ^ static_cast<uint64_t>(head) << 32;
}
inline uint32_t record_crc_begin(uint32_t seed, uint64_t position, uint32_t head) {
  return crc32c_word(seed, record_crc_word(position, head));
}

}  // namespace tracker::internal
