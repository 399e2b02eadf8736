// SPDX-License-Identifier: MIT
// The hot path: from values to a published record in this thread's ring, with no lock, system call, allocation or JSON.
//
// All that it touches lies in memory that the kernel zeroes in a forked child (MADV_WIPEONFORK): there owner is 0,
// every check fails, and the slow path finds the run inert (P8). Threads: any; each finds its own ring by its thread
// pointer. Cost: measured in benchmarks/micro (timestamp 10 ns of 12).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/status.h"
#include "journal/ring/ring_format.h"

namespace tracker::internal {

class Journal;

// A producer's place: which ring file this thread writes, and how far it may go before it has to look around.
struct alignas(64) HotRing {
  std::atomic<uintptr_t> owner;  // thread pointer of the producer; 0 free or closed; kSharedOwner
  std::atomic<uint32_t> busy;    // 1 while a record is written: close() waits for 0
  uint32_t seed;
  uint64_t position;               // of the next record
  std::atomic<uint64_t> check_at;  // beyond this the slow path looks: end of lap, of free space, or of half the ring
  char* data;
  uint64_t mask;
  RingHeader* header;
  uint64_t accepted_at;  // as in RingHeader
  std::atomic<int64_t>
      step_max;            // INT64_MIN before the first record with a step; read by hot_next_step of other threads
  Journal* journal;        // whose ring this is; null while the place is free
  uint32_t woken;          // the drain thread was asked to come since space was last released
  uint32_t sample_wanted;  // of HotRun.caller_samples: the next call is to be timed
};
constexpr uintptr_t kSharedOwner = 1;

constexpr size_t kHotTableSize = 256;
constexpr size_t kHotWays = 4;  // neighbours in the table, of one cache line, in which a thread's entry may be
// Limit: rings of a process. Beyond it: further threads share one.
constexpr size_t kRingsMax = 128;

// What a handle needs of a run. One page a run; zeroed in a forked child.
struct HotRun {
  std::atomic<HotRing*> table[kHotTableSize];  // by thread pointer; an entry is valid only if its owner is this thread
  std::atomic<HotRing*> rings[kRingsMax];      // every producer's place, for hot_next_step
  std::atomic<uint32_t> ring_count;
  std::atomic<Journal*> journal;     // null in a forked child, after close, and when nothing is recorded
  int64_t step_base;                 // the largest step of earlier attempts; INT64_MIN when none
  uint32_t alive;                    // 1; 0 in a forked child
  std::atomic<uint64_t> late;        // points logged after close: dropped
  std::atomic<uint64_t> late_texts;  // texts, likewise
  std::atomic<uint32_t> tells_late;  // 1: the first of them is reported on stderr
  std::atomic<uint64_t> call_ticks;  // spent in calls that log, off the fast path and, by samples, on it (call_cost.h)
  uint32_t caller_samples;           // 1: who calls times the calls that are wanted as samples (CallSample)
  // The last step that claim_step gave out; a line of its own, apart from what calls with a step read.
  alignas(64) std::atomic<int64_t> step_claimed;
};
static_assert(sizeof(HotRun) <= 4096);

inline uintptr_t thread_pointer() { return reinterpret_cast<uintptr_t>(__builtin_thread_pointer()); }
inline size_t hot_slot(uintptr_t thread) {
  return static_cast<size_t>((thread * 0x9e3779b97f4a7c15ull) >> 56);  // 8 bits
}
static_assert(kHotTableSize == 256);
// Where threads share an entry: this one's ring out of the neighbours, or null.
HotRing* ring_of_neighbours(HotRun* run, uintptr_t thread);
// The ring of this thread; null: the slow path finds or makes one.
__attribute__((always_inline)) inline HotRing* ring_of(HotRun* run, uintptr_t thread) {
  // Acquire: the entry may be that of another thread, which made the place just now.
  HotRing* ring = run->table[hot_slot(thread)].load(std::memory_order_acquire);
  if (__builtin_expect(ring == nullptr || ring->owner.load(std::memory_order_relaxed) == thread, 1)) return ring;
  return ring_of_neighbours(run, thread);
}

// The line about a forked child, on stderr, once a process. Threads: any.
void say_forked_once();

// Counts what is logged into a run that has ended, and says so the first time (unless quiet). Threads: any.
void count_late(HotRun* run, uint64_t points, uint64_t texts = 0);

// The slow path of both functions below: attaches the thread, wraps, grows, waits, splits, drops and counts.
// `before`: ticks that the caller's own part of such a call takes, for the account of the tracker's cost.
Code log_pairs_slow(HotRun* run, const ValuePair* pairs, size_t count, int64_t step, bool has_step,
                    uint64_t before = 0);

// A whole call that its caller times, its own part included. wants_sample(): asked after a slow call, whether the next
// one of this thread is to be timed, and where its ring is; add_sample(): that call of `run` took `ticks`. It counts
// for nothing where it was no call of the fast path, or another thread's.
struct CallSample {
  HotRing* ring;
  uint64_t position, slow_ticks;
};
bool wants_sample(HotRun* run, CallSample* before);
void add_sample(HotRun* run, const CallSample& before, uint64_t ticks);

inline uint32_t write_record_words(char* at, uint32_t crc, int64_t step, uint64_t tick) {
  crc = crc32c_word(crc, static_cast<uint64_t>(step));
  crc = crc32c_word(crc, tick);
  std::memcpy(at + 8, &step, 8);
  std::memcpy(at + 16, &tick, 8);
  return crc;
}

// The record's bytes at `at`, word 0 last. kHardware: which CRC; constant, so that it is looked up once a record.
template <bool kHardware>
__attribute__((always_inline)) inline void write_pairs(char* at, uint32_t seed, uint64_t position, uint32_t head,
                                                       const ValuePair* pairs, size_t count, int64_t step,
                                                       uint64_t tick) {
  uint64_t crc = crc32c_word_by<kHardware>(seed, record_crc_word(position, head));
  crc = crc32c_word_by<kHardware>(crc, static_cast<uint64_t>(step));
  crc = crc32c_word_by<kHardware>(crc, tick);
  std::memcpy(at + 8, &step, 8);
  std::memcpy(at + 16, &tick, 8);
  for (size_t i = 0; i < count; ++i) {
    uint64_t words[2];
    std::memcpy(words, &pairs[i], 16);
    crc = crc32c_word_by<kHardware>(crc, words[0]);
    crc = crc32c_word_by<kHardware>(crc, words[1]);
    std::memcpy(at + kRecordHeadBytes + i * 16, words, 16);
  }
  const uint64_t word0 = crc | static_cast<uint64_t>(head) << 32;
  std::memcpy(at, &word0, 8);
}

// Says how much the ring has accepted once its position is its tail. A process may die between any two stores, and they
// are done in the order in which they are written: the fences are for the compiler.
__attribute__((always_inline)) inline void store_accepted(RingHeader* header, uint64_t accepted_at) {
  std::atomic_signal_fence(std::memory_order_release);
  header->accepted_at.store(accepted_at, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_release);
  header->accepted.store(accepted_at >> 1, std::memory_order_relaxed);
}

// Publishes the record of `count` pairs that is at the ring's position.
__attribute__((always_inline)) inline void advance_ring(HotRing* ring, size_t count, int64_t step, bool has_step) {
  // Read before the fences: after them the compiler would read them again.
  RingHeader* header = ring->header;
  const uint64_t position = ring->position + kRecordHeadBytes + count * sizeof(ValuePair);
  const uint64_t accepted_at = (ring->accepted_at + 2 * count) ^ 1;  // an odd number of words
  ring->position = position;
  ring->accepted_at = accepted_at;
  if (has_step && step > ring->step_max.load(std::memory_order_relaxed))
    ring->step_max.store(step, std::memory_order_relaxed);
  store_accepted(header, accepted_at);
  header->tail.store(position, std::memory_order_release);
}

// Writes the record at the ring's position and publishes it. The caller has checked owner and space.
__attribute__((always_inline)) inline void publish_pairs(HotRing* ring, const ValuePair* pairs, size_t count,
                                                         int64_t step, bool has_step, uint64_t tick,
                                                         uint32_t flags = 0) {
  const uint64_t position = ring->position;
  char* at = ring->data + (position & ring->mask);
  const uint32_t head =
      make_head(RecordKind::kValues, static_cast<uint32_t>(count), (has_step ? kHeadHasStep : 0) | flags);
  if (__builtin_expect(kHasCrc32c, 1)) write_pairs<true>(at, ring->seed, position, head, pairs, count, step, tick);
  else write_pairs<false>(at, ring->seed, position, head, pairs, count, step, tick);
  advance_ring(ring, count, step, has_step);
}

// 1 + the largest step that any thread of this run has logged, 0 before the first.
inline int64_t hot_step(const HotRun* run) {
  int64_t largest = run->step_base;
  const uint32_t count = run->ring_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const HotRing* ring = run->rings[i].load(std::memory_order_relaxed);
    const int64_t step = ring == nullptr ? INT64_MIN : ring->step_max.load(std::memory_order_relaxed);
    if (step > largest) largest = step;
  }
  return largest;
}
inline int64_t hot_next_step(const HotRun* run) {
  const int64_t largest = hot_step(run);
  return largest == INT64_MIN ? 0 : largest == INT64_MAX ? largest : largest + 1;
}

// What a call without a step takes: 1 + the largest step that was logged or claimed; 0 before the first. No two calls
// of a process get the same but at INT64_MAX, where there is no next one: both at one step, one of two values would
// be hidden. Threads: any. Cost: a read of every ring and one atomic exchange; a call with a step does neither.
struct ClaimedStep {
  int64_t step, before;  // before: what the claim replaced
};
inline ClaimedStep claim_step(HotRun* run) {
  int64_t before = run->step_claimed.load(std::memory_order_relaxed);
  for (;;) {
    const int64_t logged = hot_step(run);
    const int64_t largest = logged > before ? logged : before;
    const int64_t step = largest == INT64_MIN ? 0 : largest == INT64_MAX ? largest : largest + 1;
    if (run->step_claimed.compare_exchange_weak(before, step, std::memory_order_relaxed)) return {step, before};
  }
}
// Of a call that may have logged nothing: then the next one gets the step, unless others have claimed later ones.
inline void return_unused_step(HotRun* run, ClaimedStep claimed) {
  if (hot_step(run) < claimed.step)
    run->step_claimed.compare_exchange_strong(claimed.step, claimed.before, std::memory_order_relaxed);
}

// Logs `count` values under one step and one timestamp. kOk: accepted. kLimit: dropped and counted. kClosed: no run
// here. `pairs` must not be written by others during the call; ids come from Journal::series_id.
constexpr size_t kFastPairsMax = 1024;  // larger calls (and empty ones) take the slow path, which splits
// try_log_pairs answers false, and has done nothing, when the call needs the slow path (which may wait up to 10 ms).
// Inlined always: with a constant count a third of its instructions fall away.
__attribute__((always_inline)) inline bool try_log_pairs(HotRun* run, const ValuePair* pairs, size_t count,
                                                         int64_t step, bool has_step = true) {
  const uintptr_t thread = thread_pointer();
  HotRing* ring = ring_of(run, thread);
  if (__builtin_expect(ring == nullptr || count - 1 >= kFastPairsMax, 0)) return false;
  // Dekker with close(): it clears owner, makes every thread pass a barrier by membarrier(2), and waits for busy to be
  // 0. Here a compiler barrier is enough.
  ring->busy.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint64_t end = ring->position + kRecordHeadBytes + count * 16;
  if (__builtin_expect(
          ring->owner.load(std::memory_order_relaxed) != thread || end > ring->check_at.load(std::memory_order_relaxed),
          0)) {
    ring->busy.store(0, std::memory_order_release);
    return false;
  }
  publish_pairs(ring, pairs, count, step, has_step, ticks());
  ring->busy.store(0, std::memory_order_release);
  return true;
}

__attribute__((always_inline)) inline Code log_pairs(HotRun* run, const ValuePair* pairs, size_t count, int64_t step,
                                                     bool has_step = true) {
  if (__builtin_expect(try_log_pairs(run, pairs, count, step, has_step), 1)) return Code::kOk;
  return log_pairs_slow(run, pairs, count, step, has_step);
}

}  // namespace tracker::internal
