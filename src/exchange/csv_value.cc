// SPDX-License-Identifier: MIT
#include "exchange/csv_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "model/filter/filter_lexer.h"

namespace tracker::internal {
namespace {

constexpr int64_t kExactMax = int64_t{1} << 53;
constexpr size_t kDateDigits = 10;  // 2026-09-01

std::optional<int64_t> integer_in(std::string_view text) {
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size()) return out;
  return std::nullopt;
}

// For a number outside float64: an infinity or 0, by the power of ten of its first digit that is not 0.
double beyond_range(std::string_view text) {
  const bool negative = text.starts_with('-');
  const size_t e = text.find_first_of("eE");
  const std::string_view digits = text.substr(negative ? 1 : 0, e - (negative ? 1 : 0));
  const size_t point = std::min(digits.find('.'), digits.size()), first = digits.find_first_not_of("0.");
  std::string_view exponent = e == std::string_view::npos ? "" : text.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  int64_t power = 0;
  if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), power).ec == std::errc::result_out_of_range)
    power = exponent.starts_with('-') ? -INT64_MAX / 2 : INT64_MAX / 2;
  power = std::clamp(power, -INT64_MAX / 2, INT64_MAX / 2);
  power += static_cast<int64_t>(point) - static_cast<int64_t>(std::min(first, digits.size()));
  const double out = power > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return negative ? -out : out;
}

std::optional<double> double_in(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return beyond_range(text);
  return error == std::errc() ? std::optional(out) : std::nullopt;
}

// Of "+02:00", "-0130" or "+02".
std::optional<int64_t> zone_us(std::string_view text) {
  std::string digits(text.substr(1));
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  const bool all = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!all || (digits.size() != 2 && digits.size() != 4)) return std::nullopt;
  const int64_t hours = *integer_in(digits.substr(0, 2));
  const int64_t minutes = digits.size() == 4 ? *integer_in(digits.substr(2)) : 0;
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (text.front() == '-' ? -1 : 1) * (hours * 60 + minutes) * 60'000'000;
}

// 2026-09-01T12:00:00.5+02:00
std::optional<int64_t> calendar_time(std::string_view text) {
  if (text.size() < kDateDigits || text[4] != '-') return std::nullopt;
  std::string clock(text);
  int64_t ahead_us = 0;
  if (const size_t at = text.find_last_of("+-"); at > kDateDigits && at != std::string_view::npos) {
    const auto zone = zone_us(text.substr(at));
    if (!zone || text[at - 1] == 'Z') return std::nullopt;
    ahead_us = *zone;
    clock.resize(at);
  }
  if (const size_t dot = clock.find('.'); dot != std::string::npos) {  // nanoseconds are cut
    const size_t end = std::min(clock.find_first_not_of("0123456789", dot + 1), clock.size());
    if (end > dot + 7) clock.erase(dot + 7, end - dot - 7);
  }
  const auto time = time_literal(clock, 0);
  if (!time) return std::nullopt;
  return time->integer - ahead_us;
}

}  // namespace

std::optional<int64_t> csv_step(std::string_view text) {
  if (auto whole = integer_in(text)) return whole;
  const auto number = double_in(text);
  if (number && std::fabs(*number) < static_cast<double>(kExactMax) && *number == std::trunc(*number))
    return static_cast<int64_t>(*number);
  return std::nullopt;
}

std::optional<int64_t> csv_time(std::string_view text) {
  const size_t dot = text.find('.');
  const auto seconds = integer_in(text.substr(0, dot));
  const std::string_view part = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  constexpr int64_t kSecondsMax = 9'000'000'000'000;
  if (!seconds || *seconds > kSecondsMax || *seconds < -kSecondsMax || part.size() > 6 ||
      !std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    const auto number = double_in(text);
    if (!number) return calendar_time(text);
    if (!std::isfinite(*number) || std::fabs(*number) > static_cast<double>(kSecondsMax)) return std::nullopt;
    return std::llround(*number * 1e6);
  }
  const int64_t us = part.empty() ? 0 : *integer_in(std::string(part) + std::string(6 - part.size(), '0'));
  return *seconds * 1'000'000 + (text.front() == '-' ? -us : us);
}

std::optional<CsvNumber> csv_number(std::string_view text) {
  const bool is_true = text == "true" || text == "True";  // as JSON and Python write it
  if (is_true || text == "false" || text == "False") return CsvNumber{ValueType::kBool, bits_of(is_true)};
  if (const auto whole = integer_in(text); whole && (*whole > kExactMax || *whole < -kExactMax))
    return CsvNumber{ValueType::kInt64, bits_of(*whole)};
  if (const auto number = double_in(text)) return CsvNumber{ValueType::kFloat64, bits_of(*number)};
  return std::nullopt;
}

}  // namespace tracker::internal
