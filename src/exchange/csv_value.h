// SPDX-License-Identifier: MIT
// Parses a field of a CSV as a step, a time or a number. None: it is not one. Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/number.h"

namespace tracker::internal {

struct CsvNumber {
  ValueType type = ValueType::kFloat64;
  uint64_t bits = 0;
};

// A float64, an int64 beyond 2^53, or `true` and `false`, also capitalised. A number too large for a float64 is an
// infinity, one too small 0.
std::optional<CsvNumber> csv_number(std::string_view text);
// May be written as a float: "3.0".
std::optional<int64_t> csv_step(std::string_view text);
// Microseconds since 1970, from seconds (without rounding) or ISO 8601, which is UTC without a zone.
std::optional<int64_t> csv_time(std::string_view text);

}  // namespace tracker::internal
