// SPDX-License-Identifier: MIT
#include "model/json_numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

namespace tracker::internal {
namespace {

constexpr size_t kNumberBytesMax = 32;

void append(double value, fmt::memory_buffer* out) {
  if (!std::isfinite(value)) {
    const std::string_view text = std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    out->append(text.data(), text.data() + text.size());
    return;
  }
  char digits[kNumberBytesMax];
  const auto end = fmt::format_to_n(digits, sizeof digits, "{}", value);
  const std::string_view text(digits, end.size);
  out->append(text.data(), text.data() + text.size());
  if (text.find_first_of(".e") == std::string_view::npos) fmt::format_to(std::back_inserter(*out), ".0");
}

void append(int64_t value, fmt::memory_buffer* out) {
  const fmt::format_int digits(value);
  out->append(digits.data(), digits.data() + digits.size());
}

template <typename T>
std::string list_of(const T* values, size_t count) {
  fmt::memory_buffer out;
  out.push_back('[');
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out.push_back(',');
    append(values[i], &out);
  }
  out.push_back(']');
  return {out.data(), out.size()};
}

}  // namespace

std::string json_list(const double* values, size_t count) { return list_of(values, count); }
std::string json_list(const int64_t* values, size_t count) { return list_of(values, count); }

}  // namespace tracker::internal
