// SPDX-License-Identifier: MIT
// Maps values to unsigned integers with the same order: -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN. `shift` low
// bits that are 0 in all values of a column are removed first. Threads: values. Cost: a few instructions.
#pragma once

#include <cstdint>

#include "model/number.h"

namespace tracker::internal {

constexpr bool is_float(ValueType type) { return type != ValueType::kInt64 && type != ValueType::kBool; }

class OrderedKey {
 public:
  explicit OrderedKey(ValueType type, unsigned shift = 0)
      : type_(type),
        shift_(shift),
        mask_(mask(type) >> shift),
        // A bool has no sign.
        top_(type == ValueType::kBool ? 0 : (mask_ >> 1) + 1) {}

  static constexpr uint64_t mask(ValueType type) { return ~uint64_t{0} >> (64 - 8 * value_width(type)); }
  unsigned shift() const { return shift_; }
  size_t width_bytes() const { return value_width(type_); }

  uint64_t key(uint64_t raw) const {
    const uint64_t v = (raw & mask(type_)) >> shift_;
    if (is_float(type_) && (v & top_) != 0) return ~v & mask_;
    return v ^ top_;
  }
  // The keys of n values.
  void keys(const uint64_t* __restrict raw, size_t n, uint64_t* __restrict out) const {
    const uint64_t all = mask(type_), top = top_, flip_negative = is_float(type_) ? mask_ : 0;
    const unsigned shift = shift_, top_at = static_cast<unsigned>(8 * value_width(type_)) - shift_ - 1;
    const auto key_of = [=](uint64_t bits) {
      const uint64_t v = (bits & all) >> shift;
      return v ^ (top | (flip_negative & (0 - (v >> top_at))));
    };
    size_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce)
      for (size_t k = 0; k < kAtOnce; ++k) out[i + k] = key_of(raw[i + k]);
    for (; i < n; ++i) out[i] = key_of(raw[i]);
  }
  uint64_t raw(uint64_t key) const {
    if (is_float(type_) && (key & top_) == 0) return (~key & mask_) << shift_;
    return (key ^ top_) << shift_;
  }

 private:
  static constexpr size_t kAtOnce = 8;  // a loop of so many turns is made parallel by the compiler

  ValueType type_;
  unsigned shift_;
  uint64_t mask_, top_;
};

}  // namespace tracker::internal
