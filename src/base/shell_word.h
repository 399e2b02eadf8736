// SPDX-License-Identifier: MIT
// Quotes words of commands in messages, so that a command can be pasted into a shell. Threads: pure function.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tracker::internal {

// The word itself if sh reads it unchanged, else the word in single quotes.
inline std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "%+,-./:=@_";
  const bool plain = std::all_of(word.begin(), word.end(), [kPlain](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

}  // namespace tracker::internal
