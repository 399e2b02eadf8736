// SPDX-License-Identifier: MIT
// Which slot of a run's table remembers a metric's name: the short way of trk_log_f64() and its like. Threads: pure
// functions. Cost: about 2 ns.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tracker::internal {

constexpr size_t kNameSlots = 1024;  // by-name look-ups remembered a run, direct-mapped; a power of two

template <typename Word>
uint64_t word_at(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Mixes the first and last 8 bytes and the length: names of one program rarely differ only in the middle, and the
// compare decides anyway. Words may overlap; shorter names take shorter words, never a loop over bytes.
inline size_t name_slot(std::string_view name) {
  const char* const data = name.data();
  const size_t size = name.size();
  uint64_t a = 0, b = 0;
  if (size >= 8) {
    a = word_at<uint64_t>(data), b = word_at<uint64_t>(data + size - 8);
  } else if (size >= 4) {
    a = word_at<uint32_t>(data), b = word_at<uint32_t>(data + size - 4);
  } else if (size > 0) {
    a = word_at<uint8_t>(data) | word_at<uint8_t>(data + size / 2) << 8 | word_at<uint8_t>(data + size - 1) << 16;
  }
  const uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15ull) ^ size) * 0xbf58476d1ce4e5b9ull;
  static_assert(std::has_single_bit(kNameSlots));
  return static_cast<size_t>(h >> (64 - std::countr_zero(kNameSlots)));
}

// memcmp() of equally long names without the call, which costs as much as the rest of the look-up.
inline bool same_bytes(const char* x, const char* y, size_t size) {
  if (size < 8) {
    if (size >= 4)
      return word_at<uint32_t>(x) == word_at<uint32_t>(y) &&
             word_at<uint32_t>(x + size - 4) == word_at<uint32_t>(y + size - 4);
    for (size_t i = 0; i < size; ++i)
      if (x[i] != y[i]) return false;
    return true;
  }
  for (size_t i = 0; i + 8 < size; i += 8)
    if (word_at<uint64_t>(x + i) != word_at<uint64_t>(y + i)) return false;
  return word_at<uint64_t>(x + size - 8) == word_at<uint64_t>(y + size - 8);
}

}  // namespace tracker::internal
