// SPDX-License-Identifier: MIT
#include "cli/output/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <map>
#include <set>

#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

struct Range {
  char32_t first, last;
};

template <size_t n>
bool within(const Range (&ranges)[n], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](Range r) { return c >= r.first && c <= r.last; });
}

bool is_combining(char32_t c) {
  static constexpr Range kCombining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                         {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff},
                                         {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
  return within(kCombining, c);
}

bool is_wide(char32_t c) {
  static constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},  {0x3400, 0x4dbf},
                                    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
                                    {0xfe30, 0xfe4f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  return within(kWide, c);
}

size_t width_of(char32_t c) { return is_combining(c) ? 0 : is_wide(c) ? 2 : 1; }

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += width_of(next_character(text, &at));
  return width;
}

std::string cut_to(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t end = 0, used = 0;
  for (size_t at = 0; at < text.size();) {
    used += width_of(next_character(text, &at));
    if (used > width - 1) break;
    end = at;
  }
  return std::string(text.substr(0, end)) + "…";
}

namespace {

// `head` columns of the beginning, "…", and of the end what there is room for.
std::string cut_after(std::string_view text, size_t head, size_t width) {
  const size_t whole = display_width(text);
  if (whole <= width) return std::string(text);
  std::string out = cut_to(text, head + 1);
  const size_t left = width - std::min(width, display_width(out));
  size_t at = 0;
  for (size_t before = 0; at < text.size() && (whole - before > left || text.size() - at > 8 * (left + 1));)
    before += width_of(next_character(text, &at));
  return out.append(text.substr(at));
}

}  // namespace

std::string cut_middle(std::string_view text, size_t width) { return cut_after(text, width / 2, width); }

std::vector<std::string> cut_names(const std::vector<std::string>& names, size_t width) {
  std::vector<std::string> out;
  std::map<std::string, std::set<std::string>> cut_alike;
  for (const std::string& name : names) cut_alike[out.emplace_back(cut_middle(name, width))].insert(name);
  for (const auto& [cut, alike] : cut_alike)
    for (size_t head = alike.size() > 1 ? width : 0; head-- > 0;) {
      std::set<std::string> apart;
      for (const std::string& name : alike) apart.insert(cut_after(name, head, width));
      if (apart.size() < alike.size()) continue;
      for (size_t i = 0; i < names.size(); ++i)
        if (out[i] == cut) out[i] = cut_after(names[i], head, width);
      break;
    }
  return out;
}

std::string wrapped(std::string_view text, size_t width) {
  const size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::string out(text.substr(0, indent));
  size_t used = indent;
  for (size_t at = indent; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t wide = display_width(word);
    const size_t gap = at == indent ? 0 : 1;
    const bool fits = gap == 0 || width == 0 || used + gap + wide <= width;
    out += fits ? std::string(gap, ' ') : "\n" + std::string(indent + 2, ' ');
    used = fits ? used + gap + wide : indent + 2 + wide;
    out += word;
    at = end + 1;
  }
  return out + "\n";
}

std::string pad_to(std::string_view text, size_t width, bool right) {
  const size_t used = display_width(text);
  const std::string fill(used < width ? width - used : 0, ' ');
  return right ? fill + std::string(text) : std::string(text) + fill;
}

std::string count_text(uint64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

std::string counted(uint64_t count, std::string_view noun) {
  if (count != 1 && noun.ends_with('y'))
    return fmt::format("{} {}ies", count_text(count), noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string short_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{:.5g}", value);
}

std::string short_number(ValueType type, uint64_t bits) {
  if (type == ValueType::kInt64 || type == ValueType::kBool) return number_text(type, bits);
  return short_number(to_double(type, bits));
}

std::string duration_text(int64_t duration_us) {
  if (duration_us < 0) duration_us = 0;
  if (duration_us < 10'000'000) return fmt::format("{:.1f} s", static_cast<double>(duration_us) / 1e6);
  const int64_t s = duration_us / 1'000'000;
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  return fmt::format("{} d {} h", s / 86400, s % 86400 / 3600);
}

std::string ago_text(int64_t then_us, int64_t now_us) {
  const double passed_s = (static_cast<double>(now_us) - static_cast<double>(then_us)) / 1e6;
  const double s = std::abs(passed_s);
  if (s < 10) return "just now";
  const auto in = [passed_s](double amount, const char* unit) {
    return passed_s > 0 ? fmt::format("{:.0f} {} ago", std::floor(amount), unit)
                        : fmt::format("in {:.0f} {}", std::floor(amount), unit);
  };
  if (s < 60) return in(s, "s");
  if (s < 3600) return in(s / 60, "min");
  if (s < 86400) return in(s / 3600, "h");
  return in(s / 86400, "d");
}

std::string time_text(int64_t time_us) {
  const time_t seconds = static_cast<time_t>(time_us / 1'000'000);
  tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return fmt::format("{} µs since 1970", time_us);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string run_text(const RunFolder& run) {
  const std::string name = run.identity.project + "/" + run.identity.id;
  return is_in_own_place(run) ? name : name + " in " + place_of(run);
}

}  // namespace tracker::internal
