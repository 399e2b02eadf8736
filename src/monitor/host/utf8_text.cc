// SPDX-License-Identifier: MIT
#include "monitor/host/utf8_text.h"

#include "model/key.h"
#include "model/visible.h"

namespace tracker::internal {

std::string as_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  constexpr char32_t kReplacement = 0xfffd;
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t from = at;
    const bool replaced = next_character(bytes, &at) == kReplacement && at == from + 1;
    if (replaced) out += "\xef\xbf\xbd";
    else out += bytes.substr(from, at - from);
  }
  return out;
}

std::string cut_utf8(std::string text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  text.resize(bytes);
  return text + "…";
}

}  // namespace tracker::internal
