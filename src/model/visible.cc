// SPDX-License-Identifier: MIT
#include "model/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tracker::internal {
namespace {

constexpr char32_t kReplacement = 0xfffd;

struct Range {
  char32_t first, last;
};

// What shows nothing itself and changes how its neighbours are read.
bool is_hidden(char32_t c) {
  static constexpr Range kHidden[] = {{0x80, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},   {0x180e, 0x180e},
                                      {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
                                      {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

void append_utf8(char32_t c, std::string* out) {
  const auto put = [out](char32_t v) { out->push_back(static_cast<char>(v)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

}  // namespace

char32_t next_character(std::string_view text, size_t* at) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte((*at)++);
  if (lead < 0x80) return lead;
  const size_t more = lead >= 0xf0 && lead < 0xf5   ? 3
                      : lead >= 0xe0 && lead < 0xf0 ? 2
                      : lead >= 0xc2 && lead < 0xe0 ? 1
                                                    : 0;
  if (more == 0 || *at + more > text.size()) return kReplacement;
  char32_t c = lead & (0x3fu >> more);
  for (size_t i = 0; i < more; ++i) {
    if ((byte(*at + i) & 0xc0) != 0x80) return kReplacement;
    c = c << 6 | (byte(*at + i) & 0x3fu);
  }
  const bool overlong = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
  if (overlong || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return kReplacement;
  *at += more;
  return c;
}

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, &at);
    if (c < 0x20) append_utf8(0x2400 + c, &out);
    else if (c == 0x7f) append_utf8(0x2421, &out);
    else if (is_hidden(c)) fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint32_t>(c));
    else append_utf8(c, &out);
  }
  return out;
}

std::string visible_lines(std::string_view message) {
  constexpr std::string_view kShown = "␊  ", kLine = "\n  ";
  std::string out = visible(message);
  for (size_t at = 0; (at = out.find(kShown, at)) != std::string::npos; at += kLine.size())
    out.replace(at, kShown.size(), kLine);
  return out;
}

std::string visible_json(std::string_view document) {
  std::string out;
  out.reserve(document.size());
  const auto escape = [&out](uint32_t unit) { fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit); };
  for (size_t at = 0; at < document.size();) {
    const char32_t c = next_character(document, &at);
    if (c != 0x7f && !is_hidden(c)) {
      append_utf8(c, &out);
    } else if (c < 0x10000) {
      escape(c);
    } else {  // as two surrogates
      escape(0xd800 + ((c - 0x10000) >> 10));
      escape(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  return out;
}

}  // namespace tracker::internal
