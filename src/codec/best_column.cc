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
// Mini-blocks of a packed column can be decoded one by one, those of a zstd column cannot: zstd must be this much
// smaller.
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

}  // namespace

void encode_best_column(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  const size_t start = out->size();
  encode_value_column(bits, type, out);
  const auto simple = static_cast<ColumnEncoding>((*out)[start]);
  // No encoding is smaller than these two, and for a few varints the choice does not matter.
  if (simple == ColumnEncoding::kConstant || simple == ColumnEncoding::kArithmetic || bits.size() < kShortRows) return;
  const auto sample = sample_of(bits);
  std::string best, candidate;
  for (const auto encoding : {ColumnEncoding::kPacked, ColumnEncoding::kPackedDeltas, ColumnEncoding::kShuffled}) {
    if (encoding == ColumnEncoding::kShuffled && !has_repeats(sample)) break;
    candidate.clear();
    put_column(encoding, sample, type, &candidate);
    const size_t handicap = encoding == ColumnEncoding::kShuffled ? best.size() / kShuffledGainMin : 0;
    if (best.empty() || candidate.size() + handicap < best.size()) best.swap(candidate);
  }
  // Varints decode slowly and only from the start: not for long columns.
  const bool may_stay = simple == ColumnEncoding::kPlain || bits.size() <= kMiniRows;
  if (may_stay && (out->size() - start) * sample.size() <= best.size() * bits.size()) return;
  out->resize(start);
  if (sample.size() == bits.size()) out->append(best);
  else put_column(static_cast<ColumnEncoding>(best[0]), bits, type, out);
}

}  // namespace tracker::internal
