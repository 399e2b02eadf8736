// SPDX-License-Identifier: MIT
// What calls of the fast path take, by samples: each call of a producer that comes to the slow path is timed, and
// stands for the bytes that the fast path wrote since the one before it (decision 0013). The fast path itself does
// nothing for it. Threads: the producer that holds the ring. Cost: some ten instructions a sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tracker::internal {

constexpr uint64_t kSampleBytesFirst = 2048;  // of records between two samples
constexpr uint64_t kSampleBytesMax = 256 * 1024;

class CallCost {
 public:
  // Where the producer has to come to the slow path again.
  uint64_t next_sample(uint64_t position) const { return position + gap_; }
  // Bytes that the fast path has not written; positions of a new ring begin at 0.
  void skip(uint64_t bytes) { charged_ += bytes; }
  void new_ring(uint64_t old_position) { charged_ -= old_position; }
  // A call of `bytes` that took `ticks` and ended at `position`: the ticks of the calls in front of it that were not
  // sampled. The middle one of three samples counts, for one that the scheduler interrupted would stand for thousands.
  uint64_t charge(uint64_t position, uint64_t bytes, uint64_t ticks) {
    const uint64_t fast = position - bytes - charged_;
    charged_ = position;
    gap_ = std::min(gap_ * 4, kSampleBytesMax);
    rates_[count_++ % 3] = static_cast<double>(ticks) / static_cast<double>(bytes);
    const double rate = count_ < 3 ? rates_[0] : middle();
    return static_cast<uint64_t>(static_cast<double>(fast) * rate);
  }

 private:
  double middle() const {
    return std::max(std::min(rates_[0], rates_[1]), std::min(std::max(rates_[0], rates_[1]), rates_[2]));
  }

  uint64_t charged_ = 0;  // wraps around where a new ring begins
  uint64_t gap_ = kSampleBytesFirst;
  double rates_[3] = {};  // ticks a byte
  size_t count_ = 0;
};

}  // namespace tracker::internal
