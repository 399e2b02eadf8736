// SPDX-License-Identifier: MIT
// A record of many values that is written into the ring one value at a time, its CRC with them: a call of 1,000 keys
// neither keeps its pairs elsewhere first nor reads them again, and the chain of the CRC (3 cycles a word, 2 us of such
// a call) runs beside the search for the keys.
//
// From begin() to publish() or leave() the thread is busy, which Journal::close() waits for, and the place in the ring
// is not reserved: in between nothing may log, wait, allocate what a garbage collector counts, or run anybody's code.
// Threads: as hot_path.h.
//
// All that is given its address is inlined always: then its state lies in registers. In memory each value's CRC waits
// for the store of the one before.
#pragma once

#include "journal/ring/hot_path.h"

namespace tracker::internal {

class OpenRecord {
 public:
  // False where try_log_pairs would be, or without the instruction for the CRC: nothing was done. Room for `count`
  // values.
  __attribute__((always_inline)) bool begin(HotRun* run, size_t count, int64_t step) {
    const uintptr_t thread = thread_pointer();
    ring_ = ring_of(run, thread);
    if (ring_ == nullptr || count - 1 >= kFastPairsMax || !kHasCrc32c) return false;
    ring_->busy.store(1, std::memory_order_relaxed);  // Dekker with close(), as in try_log_pairs
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const uint64_t end = ring_->position + kRecordHeadBytes + count * sizeof(ValuePair);
    if (ring_->owner.load(std::memory_order_relaxed) != thread ||
        end > ring_->check_at.load(std::memory_order_relaxed)) {
      leave();
      return false;
    }
    step_ = step;
    tick_ = ticks();
    begin_ = ring_->data + (ring_->position & ring_->mask);
    at_ = begin_ + kRecordHeadBytes;
    head_ = head_of(count);
    crc_ = crc_of_head();
    return true;
  }

  __attribute__((always_inline)) void add(uint64_t bits, uint32_t series) {
    const uint64_t words[2] = {bits, series};
    crc_ = crc32c_word_by<true>(crc_, words[0]);
    crc_ = crc32c_word_by<true>(crc_, words[1]);
    std::memcpy(at_, words, sizeof words);
    at_ += sizeof words;
  }

  __attribute__((always_inline)) void leave() { ring_->busy.store(0, std::memory_order_release); }

  // Fewer values than begin() was given are a record all the same; none at all are left.
  __attribute__((always_inline)) void publish() {
    const auto count = static_cast<size_t>(at_ - begin_ - static_cast<ptrdiff_t>(kRecordHeadBytes)) / sizeof(ValuePair);
    if (count > 0) {
      if (__builtin_expect(head_ != head_of(count), 0)) recount(count);
      std::memcpy(begin_ + 8, &step_, 8);
      std::memcpy(begin_ + 16, &tick_, 8);
      const uint64_t word0 = crc_ | static_cast<uint64_t>(head_) << 32;
      std::memcpy(begin_, &word0, 8);
      advance_ring(ring_, count, step_, true);
    }
    leave();
  }

 private:
  static uint32_t head_of(size_t count) {
    return make_head(RecordKind::kValues, static_cast<uint32_t>(count), kHeadHasStep);
  }
  __attribute__((always_inline)) uint64_t crc_of_head() const {
    uint64_t crc = crc32c_word_by<true>(ring_->seed, record_crc_word(ring_->position, head_));
    crc = crc32c_word_by<true>(crc, static_cast<uint64_t>(step_));
    return crc32c_word_by<true>(crc, tick_);
  }
  // The CRC begins with the count.
  __attribute__((always_inline)) void recount(size_t count) {
    head_ = head_of(count);
    crc_ = crc_of_head();
    for (const char* at = begin_ + kRecordHeadBytes; at != at_; at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      crc_ = crc32c_word_by<true>(crc_, word);
    }
  }

  HotRing* ring_ = nullptr;
  char *begin_ = nullptr, *at_ = nullptr;
  int64_t step_ = 0;
  uint64_t tick_ = 0;
  uint64_t crc_ = 0;
  uint32_t head_ = 0;
};

}  // namespace tracker::internal
