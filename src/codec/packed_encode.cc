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
  size_t bytes = 0;
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
    best = {*low, bits_for(range), 0, packed_bytes(values.size(), bits_for(range))};
    range_bits_ = best.width;
    while (narrow(values, best.base, best.width, &best)) {}
    if (best.exceptions > 0) narrow_to_values(values, &best);
    return best;
  }

 private:
  static constexpr unsigned kBucketBits = 8;
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
      if (exceptions > kMiniExceptionsMax) return false;
      const size_t bytes = packed_bytes(values.size(), narrower) + exceptions * exception_bytes(narrower);
      last_was_best = bytes < best->bytes;
      if (last_was_best) *best = {base + (uint64_t{at} << shift), narrower, exceptions, bytes};
    }
    return last_was_best;
  }

  // Bytes of the exceptions: their bits above the width, with a sign.
  size_t exception_bytes(unsigned width) const { return kExceptionPositionBytes + (range_bits_ - width + 8) / 8; }

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
  static void narrow_to_values(std::span<const uint64_t> values, Plan* plan) {
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
    plan->width = bits_for(most);
    plan->exceptions = values.size() - within;
  }

  std::array<uint16_t, kBuckets + 1> below_{};
  unsigned range_bits_ = 0;
};

class Packer {
 public:
  Packer(std::span<const uint64_t> bits, ValueType type, bool deltas)
      : bits_(bits), deltas_(deltas), order_(type, common_zeros(bits, type)) {}

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

  // The numbers of a mini-block to pack: keys, or the differences between them, mapped so that their order is unsigned.
  std::span<const uint64_t> values_of(size_t mini) {
    const size_t begin = mini * kMiniRows;
    const size_t n = std::min<size_t>(kMiniRows, bits_.size() - begin);
    for (size_t i = 0; i < n; ++i) values_[i] = order_.key(bits_[begin + i]);
    if (!deltas_) return {values_.data(), n};
    for (size_t i = n - 1; i > 0; --i) values_[i] = difference(values_[i], values_[i - 1]) ^ kSignBit;
    return {values_.data() + 1, n - 1};
  }

  // Modulo 2^32 for narrow values, as the decoder computes: else it would take 33 bits.
  uint64_t difference(uint64_t key, uint64_t before) const {
    const uint64_t less = key - before;
    return order_.width_bytes() == 8 ? less : static_cast<uint64_t>(int64_t{static_cast<int32_t>(less)});
  }

  void plan_all() {
    const size_t minis = (bits_.size() + kMiniRows - 1) / kMiniRows;
    uint64_t first_high = 0, base_high = 0;
    for (size_t mini = 0; mini < minis; ++mini) {
      const auto values = values_of(mini);
      plans_.push_back(planner_.plan(values));
      Plan& plan = plans_.back();
      if (values.empty()) plan.base = mini > 0 ? plans_[mini - 1].base : kSignBit;  // one row has no difference
      low_ = mini == 0 ? plan.base : std::min(low_, plan.base);
      base_high = std::max(base_high, plan.base);
      if (deltas_) {
        firsts_.push_back(values_[0]);
        first_low_ = mini == 0 ? values_[0] : std::min(first_low_, values_[0]);
        first_high = std::max(first_high, values_[0]);
      }
    }
    head_.shift = static_cast<uint8_t>(order_.shift());
    head_.first_bytes = static_cast<uint8_t>(bytes_for(first_high - first_low_));
    head_.base_bytes = static_cast<uint8_t>(bytes_for(base_high - low_));
    for (size_t mini = 0; mini < minis; ++mini) {
      if (plans_[mini].exceptions == 0) continue;
      head_.exceptions = true;
      for (const uint64_t v : values_of(mini)) {
        const auto bytes = static_cast<uint8_t>(bytes_for(excess(v, plans_[mini])));
        head_.exception_bytes = std::max(head_.exception_bytes, bytes);
      }
    }
  }

  // The part of a value above its `width` bits: 0 within the window, small near it on both sides.
  static uint64_t excess(uint64_t v, const Plan& plan) {
    const auto less = static_cast<int64_t>(v - plan.base);
    if (plan.width == 64) return 0;
    const auto above = static_cast<uint64_t>(less >> plan.width);
    return (above << 1) ^ (0 - (above >> 63));
  }

  static void put(uint64_t v, size_t bytes, std::string* out) { out->append(reinterpret_cast<const char*>(&v), bytes); }

  void write_head(std::string* out) const {
    out->push_back(static_cast<char>(head_.shift));
    out->push_back(static_cast<char>(head_.exceptions ? kPackedHasExceptions : 0));
    if (deltas_) {
      out->push_back(static_cast<char>(head_.first_bytes));
      put(first_low_, order_.width_bytes(), out);
    }
    out->push_back(static_cast<char>(head_.base_bytes));
    put(deltas_ ? low_ ^ kSignBit : low_, deltas_ ? 8 : order_.width_bytes(), out);
    if (head_.exceptions) out->push_back(static_cast<char>(head_.exception_bytes));
    for (size_t mini = 0; mini < plans_.size(); ++mini) {
      if (deltas_) put(firsts_[mini] - first_low_, head_.first_bytes, out);
      put(plans_[mini].base - low_, head_.base_bytes, out);
      out->push_back(static_cast<char>(plans_[mini].width));
      if (head_.exceptions) out->push_back(static_cast<char>(plans_[mini].exceptions));
    }
  }

  void write_body(size_t mini, std::string* out) {
    const Plan& plan = plans_[mini];
    const auto values = values_of(mini);
    const uint64_t mask = plan.width == 0 ? 0 : ~uint64_t{0} >> (64 - plan.width);
    MiniValues low_bits;
    for (size_t i = 0; i < values.size(); ++i) low_bits[i] = (values[i] - plan.base) & mask;
    pack_bits({low_bits.data(), values.size()}, plan.width, out);
    if (plan.exceptions == 0) return;
    positions_.clear();
    for (size_t i = 0; i < values.size(); ++i)
      if (excess(values[i], plan) != 0) positions_.push_back(static_cast<uint16_t>(i));
    for (const uint16_t position : positions_) put(position, kExceptionPositionBytes, out);
    for (const uint16_t position : positions_) put(excess(values[position], plan), head_.exception_bytes, out);
  }

  std::span<const uint64_t> bits_;
  bool deltas_;
  OrderedKey order_;
  Planner planner_;
  PackedHead head_;
  std::vector<Plan> plans_;
  std::vector<uint64_t> firsts_;
  std::vector<uint16_t> positions_;
  uint64_t low_ = 0;  // of all numbers to pack
  uint64_t first_low_ = 0;
  MiniValues values_{};
};

}  // namespace

void encode_packed(std::span<const uint64_t> bits, ValueType type, bool deltas, std::string* out) {
  Packer(bits, type, deltas).run(out);
}

}  // namespace tracker::internal
