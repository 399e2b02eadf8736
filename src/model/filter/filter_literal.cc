// SPDX-License-Identifier: MIT
// What a word of a filter stands for: numbers, durations, times.
#include <charconv>
#include <chrono>
#include <cmath>

#include "model/filter/filter_lexer.h"

namespace tracker::internal {
namespace {

using LiteralKind = FilterLiteral::Kind;

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kDayUs = 24 * 3600 * kSecondUs;
constexpr double kDurationUsMax = 9e15;  // 285 years: sums with a time of this century stay within an int64

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits, a dot and an exponent, or "inf"; what from_chars() would also take (hex, "nan") is text.
bool looks_like_number(std::string_view body) {
  if (body == "inf") return true;
  const bool starts = !body.empty() && (is_digit(body[0]) || (body.size() > 1 && body[0] == '.' && is_digit(body[1])));
  return starts && body.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

std::optional<FilterLiteral> number_literal(std::string_view word) {
  std::string_view body = word;
  if (body.starts_with('+') || body.starts_with('-')) body.remove_prefix(1);
  if (!looks_like_number(body)) return std::nullopt;
  const std::string_view unsigned_or_negative = word.starts_with('+') ? body : word;
  const char* end = unsigned_or_negative.data() + unsigned_or_negative.size();
  FilterLiteral out;
  out.kind = LiteralKind::kInt;
  auto parsed = std::from_chars(unsigned_or_negative.data(), end, out.integer);
  if (parsed.ec == std::errc() && parsed.ptr == end) return out;
  out.kind = LiteralKind::kDouble;
  parsed = std::from_chars(unsigned_or_negative.data(), end, out.number);
  if (parsed.ptr != end) return std::nullopt;
  // from_chars leaves the value alone where it is too large or too small for a double.
  if (parsed.ec == std::errc::result_out_of_range) out.number = std::strtod(std::string(word).c_str(), nullptr);
  return out;
}

// "90m", "1h30m", "1.5d": numbers, each with a unit.
std::optional<int64_t> duration_us(std::string_view word) {
  if (word.empty()) return std::nullopt;
  double total = 0;
  while (!word.empty()) {
    size_t digits = 0;
    while (digits < word.size() && (is_digit(word[digits]) || word[digits] == '.')) ++digits;
    size_t unit = digits;
    while (unit < word.size() && word[unit] >= 'a' && word[unit] <= 'z') ++unit;
    double count = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + digits, count);
    if (digits == 0 || parsed.ec != std::errc() || parsed.ptr != word.data() + digits) return std::nullopt;
    const std::string_view name = word.substr(digits, unit - digits);
    const double us = name == "ms"  ? 1000
                      : name == "s" ? kSecondUs
                      : name == "m" ? 60 * kSecondUs
                      : name == "h" ? 3600 * kSecondUs
                      : name == "d" ? kDayUs
                      : name == "w" ? 7 * kDayUs
                                    : 0;
    if (us == 0) return std::nullopt;
    total += count * us;
    word.remove_prefix(unit);
  }
  if (!(total <= kDurationUsMax)) return std::nullopt;
  return static_cast<int64_t>(std::llround(total));
}

// Reads `digits` digits at *text.
bool take_digits(std::string_view* text, size_t digits, int* out) {
  if (text->size() < digits) return false;
  const auto parsed = std::from_chars(text->data(), text->data() + digits, *out);
  if (parsed.ec != std::errc() || parsed.ptr != text->data() + digits || !is_digit((*text)[0])) return false;
  text->remove_prefix(digits);
  return true;
}

bool take(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

// THH:MM[:SS[.ffffff]] after a date, in UTC. `length` becomes that of the last part given.
bool take_clock(std::string_view* text, int64_t* us, int64_t* length) {
  int hours = 0, minutes = 0, seconds = 0;
  if (!take_digits(text, 2, &hours) || !take(text, ':') || !take_digits(text, 2, &minutes)) return false;
  *length = 60 * kSecondUs;
  if (take(text, ':')) {
    if (!take_digits(text, 2, &seconds)) return false;
    *length = kSecondUs;
  }
  if (hours > 23 || minutes > 59 || seconds > 59) return false;
  *us += ((hours * 60 + minutes) * 60 + seconds) * kSecondUs;
  if (take(text, '.')) {
    int digit = 0;
    for (int i = 0; i < 6 && !text->empty() && is_digit((*text)[0]); ++i) {
      *length /= 10;
      take_digits(text, 1, &digit);
      *us += digit * *length;
    }
  }
  return true;
}

std::optional<FilterLiteral> date_literal(std::string_view text) {
  int year = 0, month = 0, day = 0;
  if (!take_digits(&text, 4, &year) || !take(&text, '-') || !take_digits(&text, 2, &month) || !take(&text, '-') ||
      !take_digits(&text, 2, &day))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  FilterLiteral out;
  out.kind = LiteralKind::kTime;
  out.integer = std::chrono::sys_days(date).time_since_epoch().count() * kDayUs;
  int64_t length = kDayUs;
  if ((take(&text, 'T') || take(&text, ' ')) && !take_clock(&text, &out.integer, &length)) return std::nullopt;
  take(&text, 'Z');
  if (!text.empty()) return std::nullopt;
  out.end_us = out.integer + length;
  return out;
}

std::optional<FilterLiteral> now_literal(std::string_view word, int64_t now_us) {
  if (!word.starts_with("now")) return std::nullopt;
  word.remove_prefix(3);
  int64_t offset = 0;
  if (!word.empty()) {
    const char sign = word[0];
    const auto duration = duration_us(word.substr(1));
    if ((sign != '-' && sign != '+') || !duration) return std::nullopt;
    offset = sign == '-' ? -*duration : *duration;
  }
  FilterLiteral out;
  out.kind = LiteralKind::kTime;
  out.integer = now_us + offset;
  out.end_us = out.integer + 1;
  return out;
}

FilterLiteral value_of(std::string_view word, int64_t now_us) {
  FilterLiteral out;
  if (word == "null" || word == "None") return out;
  out.kind = LiteralKind::kBool;
  out.integer = word == "true" || word == "True" ? 1 : 0;
  if (out.integer == 1 || word == "false" || word == "False") return out;
  if (auto number = number_literal(word)) return *number;
  if (const auto duration = duration_us(word)) {
    out.kind = LiteralKind::kDuration;
    out.integer = *duration;
    return out;
  }
  if (auto time = time_literal(word, now_us)) return *time;
  out.kind = LiteralKind::kText;
  return out;
}

}  // namespace

std::optional<FilterLiteral> time_literal(std::string_view text, int64_t now_us) {
  auto out = date_literal(text);
  if (!out) out = now_literal(text, now_us);
  if (out) out->text = text;
  return out;
}

FilterLiteral literal_of_word(std::string_view word, int64_t now_us) {
  FilterLiteral out = value_of(word, now_us);
  out.text = word;
  return out;
}

}  // namespace tracker::internal
