// SPDX-License-Identifier: MIT
// What a field of a CSV is: a step, a time, a number. None: it is no such thing. Threads: pure functions.
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

// A float64, an int64 beyond 2^53, or `true` and `false`, which may begin with a capital. A number that is too large
// for a float64 is an infinity, one that is too small 0.
std::optional<CsvNumber> csv_number(std::string_view text);
// It may have been written as a float: "3.0".
std::optional<int64_t> csv_step(std::string_view text);
// Microseconds since 1970, of seconds (exactly where they are written so) or of ISO 8601, which is UTC without a zone.
std::optional<int64_t> csv_time(std::string_view text);

}  // namespace tracker::internal
