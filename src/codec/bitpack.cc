// SPDX-License-Identifier: MIT
#include "codec/bitpack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace tracker::internal {
namespace {

constexpr size_t kGroup = 8;  // values; a group of them begins and ends at a whole byte

template <unsigned kWidth>
constexpr uint64_t kMask = kWidth == 64 ? ~uint64_t{0} : (uint64_t{1} << kWidth) - 1;

inline uint64_t load(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

template <unsigned kWidth, size_t kIndex>
inline uint64_t value_of_group(const char* in) {
  constexpr size_t bit = kIndex * kWidth;
  constexpr unsigned shift = bit % 8;
  uint64_t v = load(in + bit / 8) >> shift;
  if constexpr (shift + kWidth > 64) v |= static_cast<uint64_t>(static_cast<uint8_t>(in[bit / 8 + 8])) << (64 - shift);
  return v & kMask<kWidth>;
}

// Touches at most kWidth + 8 bytes. Every offset and shift is a constant.
template <unsigned kWidth, typename Word, size_t... kIndex>
inline void unpack_group(const char* in, Word* out, std::index_sequence<kIndex...>) {
  ((out[kIndex] = static_cast<Word>(value_of_group<kWidth, kIndex>(in))), ...);
}

template <unsigned kWidth, typename Word>
void unpack(const char* in, size_t readable, size_t n, Word* out) {
  if constexpr (kWidth == 0) {
    std::fill_n(out, n, Word{0});
  } else {
    constexpr auto kAll = std::make_index_sequence<kGroup>();
    size_t i = 0;
    size_t at = 0;
    for (; i + kGroup <= n && at + kWidth + 8 <= readable; i += kGroup, at += kWidth)
      unpack_group<kWidth>(in + at, out + i, kAll);
    for (; i < n; i += kGroup, at += kWidth) {  // near the end of the bytes: from a copy with room after it
      char copy[kWidth + 8] = {};
      std::memcpy(copy, in + at, std::min<size_t>(packed_bytes(std::min(kGroup, n - i), kWidth), readable - at));
      Word values[kGroup];
      unpack_group<kWidth>(copy, values, kAll);
      std::copy_n(values, std::min(kGroup, n - i), out + i);
    }
  }
}

template <typename Word>
using Unpack = void (*)(const char*, size_t, size_t, Word*);

template <typename Word, unsigned... kWidth>
constexpr std::array<Unpack<Word>, sizeof...(kWidth)> make_table(std::integer_sequence<unsigned, kWidth...>) {
  return {unpack<kWidth, Word>...};
}
constexpr auto kUnpack32 = make_table<uint32_t>(std::make_integer_sequence<unsigned, 33>());
constexpr auto kUnpack64 = make_table<uint64_t>(std::make_integer_sequence<unsigned, 65>());

}  // namespace

void pack_bits(std::span<const uint64_t> values, unsigned width, std::string* out) {
  const size_t start = out->size();
  out->resize(start + packed_bytes(values.size(), width));
  char* at = out->data() + start;
  uint64_t pending = 0;  // bits that are not written yet, lowest first
  unsigned bits = 0;
  for (const uint64_t value : values) {
    pending |= value << bits;
    bits += width;
    if (bits < 64) continue;
    std::memcpy(at, &pending, 8);
    at += 8;
    bits -= 64;
    // The part of `value` that did not fit; a shift by 64 would be undefined.
    pending = bits == 0 ? 0 : value >> (width - bits);
  }
  std::memcpy(at, &pending, (bits + 7) / 8);
}

void unpack_bits(const char* in, size_t readable, size_t n, unsigned width, uint32_t* out) {
  kUnpack32[width](in, readable, n, out);
}
void unpack_bits(const char* in, size_t readable, size_t n, unsigned width, uint64_t* out) {
  kUnpack64[width](in, readable, n, out);
}

}  // namespace tracker::internal
