// SPDX-License-Identifier: MIT
// Constants and structures that encoder and decoder of packed columns share (docs/formats/segment.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tracker::internal {

constexpr uint8_t kPackedHasExceptions = 1;
constexpr size_t kExceptionPositionBytes = 2;
constexpr uint64_t kSignBit = uint64_t{1} << 63;

// In front of the mini-blocks' entries.
struct PackedHead {
  uint8_t shift = 0;  // low bits that are 0 in all values
  bool exceptions = false;
  uint8_t first_bytes = 0;      // of an entry's first key, with deltas
  uint8_t base_bytes = 0;       // of an entry's base
  uint8_t exception_bytes = 0;  // bytes of the part of an exception above the width
};

}  // namespace tracker::internal
