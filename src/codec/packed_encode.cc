// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/bytes.h"
#include "codec/bitpack.h"
#include "codec/ordered_key.h"
#include "codec/packed.h"
#include "codec/packed_layout.h"

namespace tracker::internal {
namespace {

using MiniValues = std::array<uint64_t, kMiniRows>;

// How one mini-block is packed: values in [base, base + 2^width) are packed, the others are exceptions.
struct Plan {
  uint64_t base = 0;
  unsigned width = 0;
  size_t exceptions = 0;
  unsigned exception_width = 0;
  size_t bits = 0;
};

unsigned bits_for(uint64_t range) { return static_cast<unsigned>(std::bit_width(range)); }
unsigned bytes_for(uint64_t range) { return (bits_for(range) + 7) / 8; }

// Finds the window of values whose packing takes the fewest bytes, by a histogram of the range in 256 buckets; if
// nearly all values are in a few buckets, by another histogram within these. Exact to a bucket; an exact window would
// hardly ever save a byte.
class Planner {
 public:
  Plan plan(std::span<const uint64_t> values) {
    Plan best;
    if (values.empty()) return best;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const uint64_t range = *high - *low;
    best = {*low, bits_for(range), 0, 0, values.size() * bits_for(range)};
    range_bits_ = best.width;
    while (narrow(values, best.base, best.width, &best)) {}
    if (best.exceptions > 0) narrow_to_values(values, &best);
    return best;
  }

 private:
  static constexpr unsigned kBucketBits = 8;
  static constexpr size_t kExceptionWork = 4;  // bits that an exception must save for the time that it takes to decode
  static constexpr size_t kBuckets = size_t{1} << kBucketBits;

  // Tries narrower windows within [base, base + 2^width). Returns true if the narrowest that the buckets can
  // distinguish was best.
  bool narrow(std::span<const uint64_t> values, uint64_t base, unsigned width, Plan* best) {
    if (width == 0) return false;
    const unsigned shift = width > kBucketBits ? width - kBucketBits : 0;
    count(values, base, shift);
    unsigned k = 1;
    bool last_was_best = false;
    for (; k < kBucketBits && k <= width; ++k) {
      const unsigned narrower = width - k;
      if (narrower < shift) break;
      size_t at = 0;
      const size_t exceptions = values.size() - most_within(size_t{1} << (narrower - shift), &at);
      if (exceptions > kMiniExceptionsMax || narrower < width_min()) return false;
      const size_t bits = values.size() * narrower + exceptions * (exception_bits(narrower) + kExceptionWork);
      last_was_best = bits < best->bits;
      if (last_was_best) *best = {base + (uint64_t{at} << shift), narrower, exceptions, 0, bits};
    }
    return last_was_best;
  }

  // Below it an exception might take more than 64 bits.
  unsigned width_min() const { return std::max(range_bits_ + kExceptionPositionBits + 1, 64u) - 64; }
  // At most: the position, and the bits above the width with a sign.
  size_t exception_bits(unsigned width) const { return kExceptionPositionBits + range_bits_ - width + 1; }

  // below_[b]: how many values are in the buckets before b.
  void count(std::span<const uint64_t> values, uint64_t base, unsigned shift) {
    std::array<uint16_t, kBuckets + 1> counts{};
    for (const uint64_t v : values) ++counts[std::min<uint64_t>((v - base) >> shift, kBuckets)];
    below_[0] = 0;
    for (size_t b = 0; b < kBuckets; ++b) below_[b + 1] = static_cast<uint16_t>(below_[b] + counts[b]);
  }
  size_t most_within(size_t buckets, size_t* at) const {
    size_t most = 0;
    for (size_t b = 0; b + buckets <= kBuckets; ++b) {
      const size_t within = below_[b + buckets] - below_[b];
      if (within <= most) continue;
      most = within;
      *at = b;
    }
    return most;
  }

  // Moves the window from the bounds of buckets to its least value.
  void narrow_to_values(std::span<const uint64_t> values, Plan* plan) {
    const uint64_t span = plan->width == 0 ? 0 : ~uint64_t{0} >> (64 - plan->width);
    uint64_t least = span;
    for (const uint64_t v : values) least = std::min(least, v - plan->base);
    plan->base += least;
    uint64_t most = 0;
    size_t within = 0;
    for (const uint64_t v : values) {
      const uint64_t less = v - plan->base;
      most = less <= span ? std::max(most, less) : most;
      within += less <= span ? 1 : 0;
    }
    plan->width = std::max(bits_for(most), width_min());
    plan->exceptions = values.size() - within;
  }

  std::array<uint16_t, kBuckets + 1> below_{};
  unsigned range_bits_ = 0;
};

class Packer {
 public:
  Packer(std::span<const uint64_t> bits, ValueType type, unsigned order)
      : bits_(bits), order_(order), keys_(type, common_zeros(bits, type)) {}

  void run(std::string* out) {
    plan_all();
    write_head(out);
    for (size_t mini = 0; mini < plans_.size(); ++mini) write_body(mini, out);
  }

 private:
  // The low bits that are 0 in all values: a float64 that is exact in float32 has 29 of them.
  static unsigned common_zeros(std::span<const uint64_t> bits, ValueType type) {
    uint64_t any = 0;
    for (const uint64_t raw : bits) any |= raw;
    any &= OrderedKey::mask(type);
    return any == 0 ? 0 : static_cast<unsigned>(std::countr_zero(any));
  }

  // The numbers of a mini-block to pack: keys, or differences, mapped so that their order is unsigned. Before them in
  // values_ are the first key and the first differences of each order below, mapped likewise.
  std::span<const uint64_t> values_of(size_t mini) {
    const size_t begin = mini * kMiniRows;
    const size_t n = std::min<size_t>(kMiniRows, bits_.size() - begin);
    keys_.keys(bits_.data() + begin, n, values_.data());
    if (order_ == 0) return {values_.data(), n};
    for (unsigned order = 1; order < order_; ++order)
      for (size_t i = n - 1; i >= order; --i) values_[i] = difference(values_[i], values_[i - 1]);
    for (size_t i = n - 1; i >= order_; --i) values_[i] = difference(values_[i], values_[i - 1]) ^ kSignBit;
    for (size_t i = 1; i < std::min<size_t>(order_, n); ++i) values_[i] ^= kSignBit;
    return {values_.data() + std::min<size_t>(order_, n), n - std::min<size_t>(order_, n)};
  }

  // Modulo 2^32 for narrow values, as the decoder computes: else it would take 33 bits.
  uint64_t difference(uint64_t key, uint64_t before) const {
    const uint64_t less = key - before;
    return keys_.width_bytes() == 8 ? less : static_cast<uint64_t>(int64_t{static_cast<int32_t>(less)});
  }

  void plan_all() {
    const size_t minis = (bits_.size() + kMiniRows - 1) / kMiniRows;
    std::array<uint64_t, kPackedOrderMax> start_high{};
    uint64_t base_high = 0;
    for (size_t mini = 0; mini < minis; ++mini) {
      const auto values = values_of(mini);
      plans_.push_back(planner_.plan(values));
      Plan& plan = plans_.back();
      if (values.empty()) plan.base = mini > 0 ? plans_[mini - 1].base : kSignBit;  // too few rows for a difference
      low_ = mini == 0 ? plan.base : std::min(low_, plan.base);
      base_high = std::max(base_high, plan.base);
      auto& starts = starts_.emplace_back();
      for (unsigned i = 0; i < order_; ++i) {
        const bool there = mini * kMiniRows + i < bits_.size();
        starts[i] = there ? values_[i] : mini > 0 ? starts_[mini - 1][i] : kSignBit;
        start_low_[i] = mini == 0 ? starts[i] : std::min(start_low_[i], starts[i]);
        start_high[i] = std::max(start_high[i], starts[i]);
      }
      if (plan.exceptions > 0) note_exceptions(values, &plan);
    }
    plan_exceptions();
    head_.shift = static_cast<uint8_t>(keys_.shift());
    for (unsigned i = 0; i < order_; ++i)
      head_.start_bytes[i] = static_cast<uint8_t>(bytes_for(start_high[i] - start_low_[i]));
    head_.base_bytes = static_cast<uint8_t>(bytes_for(base_high - low_));
  }

  // One width for all exceptions, or one in each entry if that takes fewer bytes.
  void plan_exceptions() {
    unsigned widest = 0;
    size_t own = plans_.size(), common = 0;
    for (const Plan& plan : plans_) widest = std::max(widest, plan.exception_width);
    for (const Plan& plan : plans_) {
      own += packed_bytes(plan.exceptions, plan.exception_width);
      common += packed_bytes(plan.exceptions, widest);
    }
    head_.exceptions = widest > 0;
    head_.exception_width = static_cast<uint8_t>(common <= own ? widest : 0);
    if (common > own) return;
    for (Plan& plan : plans_) plan.exception_width = widest;
  }

  // Of each its position, and the part of it above the width: small near the window on both sides.
  void note_exceptions(std::span<const uint64_t> values, Plan* plan) {
    const uint64_t span = plan->width == 0 ? 0 : ~uint64_t{0} >> (64 - plan->width);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t less = values[i] - plan->base;
      if (less <= span) continue;
      const auto above = static_cast<uint64_t>(static_cast<int64_t>(less) >> plan->width);
      const uint64_t code = ((above << 1) ^ (0 - (above >> 63))) << kExceptionPositionBits | i;
      plan->exception_width = std::max(plan->exception_width, bits_for(code));
      exceptions_.push_back(code);
    }
  }

  static void put(uint64_t v, size_t bytes, std::string* out) { out->append(reinterpret_cast<const char*>(&v), bytes); }

  void write_head(std::string* out) const {
    out->push_back(static_cast<char>(head_.shift));
    out->push_back(static_cast<char>(head_.exceptions ? kPackedHasExceptions : 0));
    for (unsigned i = 0; i < order_; ++i) {
      out->push_back(static_cast<char>(head_.start_bytes[i]));
      if (i == 0) put(start_low_[i], keys_.width_bytes(), out);
      else put(start_low_[i] ^ kSignBit, 8, out);
    }
    out->push_back(static_cast<char>(head_.base_bytes));
    if (order_ == 0) put(low_, keys_.width_bytes(), out);
    else put(low_ ^ kSignBit, 8, out);
    if (head_.exceptions) out->push_back(static_cast<char>(head_.exception_width));
    for (size_t mini = 0; mini < plans_.size(); ++mini) {
      for (unsigned i = 0; i < order_; ++i) put(starts_[mini][i] - start_low_[i], head_.start_bytes[i], out);
      put(plans_[mini].base - low_, head_.base_bytes, out);
      out->push_back(static_cast<char>(plans_[mini].width));
      if (!head_.exceptions) continue;
      out->push_back(static_cast<char>(plans_[mini].exceptions));
      if (head_.exception_width == 0) out->push_back(static_cast<char>(plans_[mini].exception_width));
    }
  }

  void write_body(size_t mini, std::string* out) {
    const Plan& plan = plans_[mini];
    const auto values = values_of(mini);
    const uint64_t mask = plan.width == 0 ? 0 : ~uint64_t{0} >> (64 - plan.width);
    MiniValues numbers;
    for (size_t i = 0; i < values.size(); ++i) numbers[i] = (values[i] - plan.base) & mask;
    pack_bits({numbers.data(), values.size()}, plan.width, out);
    pack_bits({exceptions_.data() + written_, plan.exceptions}, plan.exception_width, out);
    written_ += plan.exceptions;
  }

  std::span<const uint64_t> bits_;
  unsigned order_;
  OrderedKey keys_;
  Planner planner_;
  PackedHead head_;
  std::vector<Plan> plans_;
  std::vector<std::array<uint64_t, kPackedOrderMax>> starts_;
  std::vector<uint64_t> exceptions_;  // of all mini-blocks
  size_t written_ = 0;                // of them
  uint64_t low_ = 0;                  // of all bases
  std::array<uint64_t, kPackedOrderMax> start_low_{};
  MiniValues values_{};
};

}  // namespace

void encode_packed(std::span<const uint64_t> bits, ValueType type, unsigned order, std::string* out) {
  Packer(bits, type, order).run(out);
}

}  // namespace tracker::internal
