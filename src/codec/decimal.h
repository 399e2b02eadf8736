// SPDX-License-Identifier: MIT
// Column encoding 9 (docs/formats/segment.md, "Decimal columns"): float64 values that are short decimals, as whole
// numbers d with value = d / 10^exponent, in a column of int64. Values that are none follow as exceptions, bit for bit.
// The idea is that of ALP (Afroozeh, Kuffo, Boncz: "ALP: Adaptive Lossless floating-Point Compression", SIGMOD 2024);
// a division gives the nearest float64 of a decimal, so that no second factor is needed. Threads: pure functions; they
// need the rounding mode to be to nearest. Cost: a division a value more than the column of int64.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "codec/column_table.h"

namespace tracker::internal {

constexpr unsigned kDecimalExponentMax = 15;

// For the table of column_table.h. encode_decimal() returns false if more than one of 16 probed values, or of 8 of all,
// is no decimal.
bool encode_decimal(std::span<const uint64_t> bits, ValueType type, std::string* out);
Status check_decimal(std::string_view body, uint64_t rows, ValueType type);
Status decode_decimal(const ColumnRows& column);

// Each of the n int64 becomes the float64 of it divided by `divisor`.
void divide(uint64_t* words, uint64_t n, double divisor);

}  // namespace tracker::internal
