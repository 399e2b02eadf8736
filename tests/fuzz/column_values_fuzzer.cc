// SPDX-License-Identifier: MIT
// Goal: any values of any type come back bit for bit from each encoding. Method: the input is type, encoding, and the
// values; a few bytes of it are repeated with a stride, so that short inputs fill several mini-blocks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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
  std::string column;
  switch (data[1] % 4) {
    case 0: encode_best_column(bits, type, &column); break;
    case 1: put_column(ColumnEncoding::kPacked, bits, type, &column); break;
    case 2: put_column(ColumnEncoding::kPackedDeltas, bits, type, &column); break;
    default: put_column(ColumnEncoding::kShuffled, bits, type, &column); break;
  }
  std::vector<uint64_t> back;
  if (!decode_value_column(column, bits.size(), type, &back).ok() || back != bits) std::abort();
  return 0;
}
