// SPDX-License-Identifier: MIT
#include "codec/best_column.h"

#include <algorithm>
#include <bitset>
#include <vector>

#include "codec/packed.h"

namespace tracker::internal {
namespace {

constexpr size_t kSampleMinis = 4;
constexpr size_t kShortRows = 8;
constexpr unsigned kHashBits = 12;
// What costs more to decode must be smaller by this share: differences of a higher order are added up, a decimal is
// divided, and the mini-blocks of a zstd column cannot be decoded one by one.
constexpr size_t kHigherGainMin = 32;  // by a 32nd
constexpr size_t kDecimalGainMin = 32;
constexpr size_t kShuffledGainMin = 8;  // by an eighth

// Mini-blocks spread over the column; the whole column if it is short.
std::vector<uint64_t> sample_of(std::span<const uint64_t> bits) {
  if (bits.size() <= kSampleMinis * kMiniRows) return {bits.begin(), bits.end()};
  std::vector<uint64_t> sample;
  const size_t last = bits.size() / kMiniRows - 1;
  for (size_t i = 0; i < kSampleMinis; ++i) {
    const auto from = bits.begin() + static_cast<std::ptrdiff_t>(i * last / (kSampleMinis - 1) * kMiniRows);
    sample.insert(sample.end(), from, from + kMiniRows);
  }
  return sample;
}

// Whether at least a quarter of the values occur more than once. If not, zstd, which costs the most to try, gains
// nothing. Compares one bit of a hash for each value, so a few values are mistaken for repeats.
bool has_repeats(std::span<const uint64_t> sample) {
  std::bitset<size_t{1} << kHashBits> seen;
  const auto some = sample.first(std::min<size_t>(sample.size(), kMiniRows));
  for (const uint64_t v : some) seen.set((v * 0x9e3779b97f4a7c15u) >> (64 - kHashBits));
  return seen.count() <= some.size() * 3 / 4;
}

enum class Zstd { kMay, kMayNot };

// The smallest of the encodings that need a try, of a sample.
class Choice {
 public:
  Choice(std::span<const uint64_t> sample, ValueType type) : sample_(sample), type_(type) {}

  void make(Zstd zstd) {
    consider(ColumnEncoding::kPacked, 0);
    // Differences of a higher order are only smaller where those before them are.
    if (consider(ColumnEncoding::kPackedDeltas, 0) && consider(ColumnEncoding::kPackedSecond, kHigherGainMin))
      consider(ColumnEncoding::kPackedThird, kHigherGainMin);
    if (type_ == ValueType::kFloat64) consider(ColumnEncoding::kDecimal, kDecimalGainMin);
    if (zstd == Zstd::kMay && has_repeats(sample_)) consider(ColumnEncoding::kShuffled, kShuffledGainMin);
  }
  const std::string& column() const { return best_; }

 private:
  bool consider(ColumnEncoding encoding, size_t gain_min) {
    tried_.clear();
    if (!put_column(encoding, sample_, type_, &tried_)) return false;
    const size_t handicap = gain_min > 0 ? best_.size() / gain_min : 0;
    if (!best_.empty() && tried_.size() + handicap >= best_.size()) return false;
    best_.swap(tried_);
    return true;
  }

  std::span<const uint64_t> sample_;
  ValueType type_;
  std::string best_, tried_;
};

void encode_best(std::span<const uint64_t> bits, ValueType type, Zstd zstd, std::string* out) {
  const size_t start = out->size();
  encode_value_column(bits, type, out);
  const auto simple = static_cast<ColumnEncoding>((*out)[start]);
  // No encoding is smaller than these two, and for a few varints the choice does not matter.
  if (simple == ColumnEncoding::kConstant || simple == ColumnEncoding::kArithmetic || bits.size() < kShortRows) return;
  const auto sample = sample_of(bits);
  Choice choice(sample, type);
  choice.make(zstd);
  const std::string& best = choice.column();
  // Varints decode slowly and only from the start: not for long columns.
  const bool may_stay = simple == ColumnEncoding::kPlain || bits.size() <= kMiniRows;
  if (may_stay && (out->size() - start) * sample.size() <= best.size() * bits.size()) return;
  out->resize(start);
  if (sample.size() == bits.size()) out->append(best);
  else if (!put_column(static_cast<ColumnEncoding>(best[0]), bits, type, out))  // a sample of decimals, the rest not
    put_column(ColumnEncoding::kPacked, bits, type, out);
}

}  // namespace

void encode_best_column(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  encode_best(bits, type, Zstd::kMay, out);
}

void encode_best_parts(std::span<const uint64_t> words, std::string* out) {
  encode_best(words, ValueType::kInt64, Zstd::kMayNot, out);
}

}  // namespace tracker::internal
