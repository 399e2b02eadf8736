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
  uint64_t raw(uint64_t key) const {
    if (is_float(type_) && (key & top_) == 0) return (~key & mask_) << shift_;
    return (key ^ top_) << shift_;
  }

 private:
  ValueType type_;
  unsigned shift_;
  uint64_t mask_, top_;
};

}  // namespace tracker::internal
