// SPDX-License-Identifier: MIT
// Goal: any values of any type come back bit for bit from each encoding. Method: the input is type, encoding, and the
// values; a few bytes of it are repeated with a stride, so that short inputs fill several mini-blocks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#include "codec/best_column.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHead = 4;
  if (size < kHead) return 0;
  const auto type = static_cast<ValueType>(1 + data[0] % 6);
  const size_t repeats = 1 + data[2] % 16;
  const uint64_t stride = uint64_t{data[3]} << (data[2] / 16 * 4);
  const size_t width = value_width(type);
  std::vector<uint64_t> bits;
  for (size_t n = 0; n < repeats; ++n) {
    for (size_t at = kHead; at + width <= size; at += width) {
      uint64_t v = 0;
      std::memcpy(&v, data + at, width);
      v += n * stride;
      bits.push_back(width == 8 ? v : v & ((uint64_t{1} << (8 * width)) - 1));
    }
  }
  constexpr ColumnEncoding kEncodings[] = {ColumnEncoding::kPacked,      ColumnEncoding::kPackedDeltas,
                                           ColumnEncoding::kShuffled,    ColumnEncoding::kPackedSecond,
                                           ColumnEncoding::kPackedThird, ColumnEncoding::kDecimal};
  std::string column;
  const size_t choice = data[1] % (1 + std::size(kEncodings));
  // Not all values are decimals.
  if (choice == 0 || !put_column(kEncodings[choice - 1], bits, type, &column)) encode_best_column(bits, type, &column);
  std::vector<uint64_t> back;
  if (!decode_value_column(column, bits.size(), type, &back).ok() || back != bits) std::abort();
  return 0;
}
