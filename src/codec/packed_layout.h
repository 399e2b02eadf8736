// SPDX-License-Identifier: MIT
// Constants and structures that encoder and decoder of packed columns share (docs/formats/segment.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/packed.h"

namespace tracker::internal {

constexpr uint8_t kPackedHasExceptions = 2;
// An exception is one number: its position in the low bits, the part of it above the width over these.
constexpr unsigned kExceptionPositionBits = 9;  // below kMiniRows
constexpr uint64_t kSignBit = uint64_t{1} << 63;

// In front of the mini-blocks' entries.
struct PackedHead {
  uint8_t shift = 0;  // low bits that are 0 in all values
  bool exceptions = false;
  std::array<uint8_t, kPackedOrderMax> start_bytes{};  // of an entry's first key and first differences below the order
  uint8_t base_bytes = 0;                              // of an entry's base
  uint8_t exception_width = 0;                         // of all exceptions; 0: each entry has its own
};

}  // namespace tracker::internal
