// SPDX-License-Identifier: MIT
#include "monitor/console/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tracker::internal {
namespace {

struct Range {
  uint32_t first, last;
};

// Blocks that terminals draw two columns wide (East Asian Width W and F of Unicode, by blocks) and marks that take
// none.
constexpr std::array<Range, 20> kWide{{{0x1100, 0x115f}, {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
                                       {0x26a1, 0x26a1}, {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274c, 0x274c},
                                       {0x2b50, 0x2b50}, {0x2e80, 0x303e},   {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
                                       {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                       {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f9ff}, {0x20000, 0x3fffd}}};
constexpr std::array<Range, 7> kNoWidth{{{0x300, 0x36f},
                                         {0x1ab0, 0x1aff},
                                         {0x1dc0, 0x1dff},
                                         {0x200b, 0x200f},
                                         {0x20d0, 0x20ff},
                                         {0xfe00, 0xfe0f},
                                         {0xfe20, 0xfe2f}}};

template <size_t n>
bool is_in(const std::array<Range, n>& ranges, uint32_t code) {
  const auto* found = std::find_if(ranges.begin(), ranges.end(), [&](const Range& r) { return code <= r.last; });
  return found != ranges.end() && found->first <= code;
}

size_t bytes_of_lead(char c) {
  const auto lead = static_cast<unsigned char>(c);
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 1;
}

struct Character {
  size_t bytes, columns;
};

// The one at the front of `text`.
Character character(std::string_view text) {
  const size_t bytes = bytes_of_lead(text[0]);
  if (bytes == 1 || bytes > text.size()) return {1, 1};
  uint32_t code = static_cast<unsigned char>(text[0]) & (0xffU >> (bytes + 1));
  for (const char c : text.substr(1, bytes - 1)) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return {1, 1};
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  }
  if (is_in(kNoWidth, code)) return {bytes, 0};
  return {bytes, is_in(kWide, code) ? 2U : 1U};
}

// How long the escape sequence at the front of `text` is; 0: there is none.
size_t sequence_bytes(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b') return 0;
  if (text[1] != '[') return 2;
  const size_t end =
      std::find_if(text.begin() + 2, text.end(), [](char c) { return c >= 0x40 && c <= 0x7e; }) - text.begin();
  return std::min(end + 1, text.size());
}

// The cell at the front of `text`.
Character cell_of(std::string_view text) {
  if (const size_t bytes = sequence_bytes(text); bytes > 0) return {bytes, 0};
  Character out = character(text);
  while (out.bytes < text.size()) {
    const Character next = character(text.substr(out.bytes));
    if (next.columns > 0) break;
    out.bytes += next.bytes;
  }
  return out;
}

}  // namespace

size_t terminal_columns(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character one = cell_of(text);
    columns += one.columns;
    text.remove_prefix(one.bytes);
  }
  return columns;
}

size_t terminal_offset(std::string_view text, size_t column, size_t* missing) {
  size_t at = 0, columns = 0;
  while (at < text.size() && columns < column) {
    const Character one = cell_of(text.substr(at));
    columns += one.columns;
    at += one.bytes;
  }
  *missing = column - std::min(columns, column);
  size_t end = at;  // sequences after the last character belong to it
  while (end < text.size()) {
    const Character one = cell_of(text.substr(end));
    if (one.columns > 0) return at;
    end += one.bytes;
  }
  return end;
}

size_t terminal_cell(std::string_view text) { return cell_of(text).bytes; }

size_t terminal_overwrite(std::string* line, size_t at, std::string_view cell) {
  const size_t columns = cell_of(cell).columns;
  const bool sequence = sequence_bytes(cell) > 0;
  size_t end = at, gone = 0;
  while (end < line->size()) {
    const std::string_view rest = std::string_view(*line).substr(end);
    const Character one = cell_of(rest);
    if (sequence ? sequence_bytes(rest) == 0 : gone >= columns) break;
    gone += one.columns;
    end += one.bytes;
  }
  line->replace(at, end - at, cell);
  if (gone > columns) line->insert(at + cell.size(), gone - columns, ' ');  // half of a wide character is left: a blank
  return at + cell.size();
}

size_t terminal_torn_tail(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(text.size(), 3); ++back) {
    const char c = text[text.size() - back];
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
    return bytes_of_lead(c) > back ? back : 0;
  }
  return 0;
}

}  // namespace tracker::internal
