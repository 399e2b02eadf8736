// SPDX-License-Identifier: MIT
// What calls of the fast path take, by samples: now and then a call of a producer is timed, and the median of the last
// of them stands for the bytes that the fast path writes. The fast path itself does nothing for it: a second
// timestamp would nearly double its time. An estimate, good to a factor of three.
// Threads: the producer that holds the ring; uncharged(): any. Cost: some tens of instructions a sample.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tracker::internal {

constexpr uint64_t kSampleBytesFirst = 2048;  // of records between two samples
// No multiple of a page: each sample would be the call that touches one first.
constexpr uint64_t kSampleBytesMax = 200'000;
constexpr size_t kSamplesKept = 15;  // one that the scheduler interrupted would stand for thousands

class CallCost {
 public:
  // Where the producer has to come to the slow path for the next sample.
  uint64_t next_sample() const { return due_; }
  // Whether it is there; then the one after it is planned.
  bool take_due(uint64_t position) {
    if (position < due_) return false;
    due_ = position + gap_;
    gap_ = std::min(gap_ * 3, kSampleBytesMax);
    return true;
  }
  // A call of `bytes` that took `ticks`.
  void sample(uint64_t bytes, uint64_t ticks) {
    rates_[count_++ % kSamplesKept] = static_cast<double>(ticks) / static_cast<double>(bytes);
    double sorted[kSamplesKept];
    const size_t kept = std::min(count_, kSamplesKept);
    std::copy(rates_, rates_ + kept, sorted);
    std::nth_element(sorted, sorted + kept / 2, sorted + kept);
    rate_.store(sorted[kept / 2], std::memory_order_relaxed);
  }
  // Bytes that the fast path has not written.
  void skip(uint64_t bytes) { set_charged(charged_.load(std::memory_order_relaxed) + bytes); }
  // Positions of a new ring begin at 0.
  void new_ring(uint64_t old_position) {
    set_charged(charged_.load(std::memory_order_relaxed) - old_position);
    due_ -= std::min(due_, old_position);
  }
  // The ticks of what the fast path wrote up to `position` and is not charged yet. Without a sample that waits.
  uint64_t charge(uint64_t position) {
    const uint64_t ticks = uncharged(position);
    if (rate_.load(std::memory_order_relaxed) > 0) set_charged(position);
    return ticks;
  }
  uint64_t uncharged(uint64_t position) const {
    const uint64_t bytes = position - charged_.load(std::memory_order_relaxed);
    // Beyond a gap and the largest call: another thread reads this while the ring is changed.
    if (bytes > uint64_t{1} << 32) return 0;
    return static_cast<uint64_t>(static_cast<double>(bytes) * rate_.load(std::memory_order_relaxed));
  }

 private:
  void set_charged(uint64_t position) { charged_.store(position, std::memory_order_relaxed); }

  std::atomic<uint64_t> charged_{0};  // wraps around where a new ring begins
  std::atomic<double> rate_{0};       // ticks a byte, the median; 0: no sample yet
  uint64_t due_ = kSampleBytesFirst;
  uint64_t gap_ = kSampleBytesFirst;
  double rates_[kSamplesKept] = {};
  size_t count_ = 0;
};

}  // namespace tracker::internal
