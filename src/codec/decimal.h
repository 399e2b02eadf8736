// SPDX-License-Identifier: MIT
// Column encoding 9 (docs/formats/segment.md, "Decimal columns"): float64 values that are short decimals, as whole
// numbers d with value = d / 10^exponent, in a column of int64. A percentage that is computed from such a value, as in
// `round(x, 4) * 100`, is often not the float64 nearest to its decimal, but it is d / 10^4 * 100, rounded twice: hence
// the factor. Values that are neither follow as exceptions, bit for bit. The idea is that of ALP (Afroozeh, Kuffo,
// Boncz: "ALP: Adaptive Lossless floating-Point Compression", SIGMOD 2024). Threads: pure functions; a rounding mode of
// the thread other than to nearest is replaced meanwhile. Cost: a division a value more than the column of int64, with
// a factor a multiplication too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "codec/column_table.h"

namespace tracker::internal {

constexpr unsigned kDecimalExponentMax = 15;
constexpr unsigned kDecimalFactorMax = 3;  // of its power of ten

// For the table of column_table.h. encode_decimal() returns false if more than a quarter of the values are no decimals.
bool encode_decimal(std::span<const uint64_t> bits, ValueType type, std::string* out);
Status check_decimal(std::string_view body, uint64_t rows, ValueType type);
Status decode_decimal(const ColumnRows& column);

// Each of the n int64 becomes the float64 that it means. False: one is outside [-2^51, 2^51).
bool to_decimals(uint64_t* words, uint64_t n, DecimalScale scale);
Status not_a_whole_number();  // kCorrupt, for that

}  // namespace tracker::internal
