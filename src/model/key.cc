// SPDX-License-Identifier: MIT
#include "model/key.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/ids.h"

namespace tracker::internal {

bool is_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    const int extra = c >= 0xf0 && c <= 0xf4 ? 3 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xc2 && c < 0xe0 ? 1 : 0;
    if (extra == 0 || text.size() - i <= static_cast<size_t>(extra)) return false;
    uint32_t point = c & (0x3fu >> extra);
    for (int k = 1; k <= extra; ++k) {
      const auto next = static_cast<uint8_t>(text[i + static_cast<size_t>(k)]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3f);
    }
    // Overlong forms, surrogates and what lies beyond Unicode.
    if ((extra == 2 && point < 0x800) || (extra == 3 && point < 0x10000)) return false;
    if ((point >= 0xd800 && point < 0xe000) || point > 0x10ffff) return false;
    i += static_cast<size_t>(extra) + 1;
  }
  return true;
}

Status check_key(std::string_view key) {
  if (key.empty()) return Status(Code::kInvalid, "the key is empty", "name the metric, for example \"train/loss\"");
  if (key.size() > kKeyBytesMax)
    return Status(Code::kInvalid, fmt::format("the key has {} bytes, at most {} are kept", key.size(), kKeyBytesMax));
  if (key.find('\0') != std::string_view::npos) return Status(Code::kInvalid, "the key holds a NUL character");
  if (!is_utf8(key)) return Status(Code::kInvalid, "the key is not UTF-8");
  return {};
}

Status check_label(std::string_view what, std::string_view label) {
  if (label.empty()) return Status(Code::kInvalid, fmt::format("{} is empty: expected a name", what));
  if (label.size() > kLabelBytesMax)
    return Status(Code::kInvalid,
                  fmt::format("{} has {} bytes, at most {} are allowed", what, label.size(), kLabelBytesMax));
  if (!is_utf8(label)) return Status(Code::kInvalid, fmt::format("{} is not UTF-8", what));
  if (label.find_first_not_of(' ') == std::string_view::npos)
    return Status(Code::kInvalid, fmt::format("{} is blank: expected a name", what));
  for (const char c : label)
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f)
      return Status(Code::kInvalid, fmt::format("{} holds a control character", what));
  return {};
}

std::string folder_name(std::string_view label) {
  std::string out;
  for (const char c : label) {
    const bool plain =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (plain) out += c;
    else out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
  }
  if (out == "." || out == "..") out = out == "." ? "%2E" : "%2E%2E";
  if (out.size() <= kFolderNameBytesMax) return out;
  // A cut name ends with a hash of the whole label; '~' cannot come from the mapping above.
  return out.substr(0, kFolderNameBytesMax - 33) + "~" + Id128::hash_of(label).hex();
}

}  // namespace tracker::internal
