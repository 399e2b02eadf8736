// SPDX-License-Identifier: MIT
// Column encodings 4, 5, 7 and 8 (docs/formats/segment.md, "Packed columns"): values as integers in their own order, or
// the differences between them of order 1, 2 or 3, minus a base, packed bit by bit. Each mini-block has a base and a
// width and can be decoded without the others. The few values of a mini-block that need more bits follow it as
// exceptions. Threads: pure functions. Cost: decoding about a nanosecond a value, encoding some tens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/number.h"

namespace tracker::internal {

constexpr uint32_t kMiniRows = 512;  // rows of a mini-block; the last one of a column has fewer
constexpr size_t kMiniExceptionsMax = 128;
constexpr unsigned kPackedOrderMax = 3;

// Half-open; limited to the rows of the column.
struct RowRange {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
};

// A whole number d of a decimal column means d / divisor * factor.
struct DecimalScale {
  double divisor = 0, factor = 1;
};

// Values are raw bits (model/number.h). Appends the body, which follows the encoding byte. `order`: 0 packs the
// values, 1 the differences of neighbours, 2 the differences of these, 3 of those.
void encode_packed(std::span<const uint64_t> bits, ValueType type, unsigned order, std::string* out);

// The rows [begin, end) at the type's own width; begin <= end <= rows. kCorrupt with the offset within the body.
// `checked`: they were decoded before with the same rows, type and order, and nothing is checked again; if that is not
// true, memory is read and written out of bounds. `scale`: where its divisor is not 0, the values are int64, and the
// float64 that each of them means is written (decimal.h).
Status decode_packed(std::string_view body, uint64_t rows, ValueType type, unsigned order, uint64_t begin, uint64_t end,
                     void* out, bool checked = false, DecimalScale scale = {});

}  // namespace tracker::internal
