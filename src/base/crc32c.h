// SPDX-License-Identifier: MIT
// CRC-32C (Castagnoli, RFC 3720 appendix B.4), by the SSE4.2 instruction where the processor has it, else by table.
// crc32c() is the standard value ("123456789" -> 0xe3069283); Crc32cHot is the inlined form of the hot path, which
// feeds whole 8-byte words and skips the final inversion. Threads: any. Cost: no allocation, no lock.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracker::internal {

uint32_t crc32c(std::string_view data, uint32_t previous = 0);

// Whether this processor has the instruction; constant after load.
extern const bool kHasCrc32c;

uint32_t crc32c_word_software(uint32_t state, uint64_t word);

// One step of the raw (not inverted) CRC over a little-endian 8-byte word. A caller with several words reads kHasCrc32c
// once and uses one form for all of them. The state has 32 bits; it is passed in a 64-bit register, as the instruction
// has it, and need not be narrowed between words.
template <bool kHardware>
inline uint64_t crc32c_word_by(uint64_t state, uint64_t word) {
#if defined(__x86_64__)
  if constexpr (kHardware) {
    __asm__("crc32q %1, %0" : "+r"(state) : "r"(word));
    return state;
  }
#endif
  return crc32c_word_software(static_cast<uint32_t>(state), word);
}
inline uint32_t crc32c_word(uint32_t state, uint64_t word) {
  return static_cast<uint32_t>(__builtin_expect(kHasCrc32c, 1) ? crc32c_word_by<true>(state, word)
                                                               : crc32c_word_by<false>(state, word));
}

}  // namespace tracker::internal
