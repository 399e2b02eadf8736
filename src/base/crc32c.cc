// SPDX-License-Identifier: MIT
#include "base/crc32c.h"

#include <array>
#include <cstring>

namespace tracker::internal {
namespace {

// The table of the reflected polynomial 0x82f63b78, one byte at a time.
constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

bool detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return false;
#endif
}

}  // namespace

const bool kHasCrc32c = detect();

uint32_t crc32c_word_software(uint32_t state, uint64_t word) {
  for (int i = 0; i < 8; ++i) {
    state = (state >> 8) ^ kTable[(state ^ static_cast<uint32_t>(word)) & 0xff];
    word >>= 8;
  }
  return state;
}

uint32_t crc32c(std::string_view data, uint32_t previous) {
  uint32_t state = ~previous;
  const char* at = data.data();
  size_t left = data.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    state = crc32c_word(state, word);
  }
  for (; left > 0; --left, ++at) state = (state >> 8) ^ kTable[(state ^ static_cast<uint8_t>(*at)) & 0xff];
  return ~state;
}

}  // namespace tracker::internal
