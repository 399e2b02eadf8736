// SPDX-License-Identifier: MIT
#include "model/redact/private_key_lines.h"

#include <algorithm>

#include "model/redact/redact.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kEndLine = "-----END ";
constexpr size_t kBodyLineBytesMin = 32;  // they have 64 or more, but for the last one

bool is_base64(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/' || c == '=';
}

std::string_view without_blanks(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = line.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? "" : line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

bool begins_key(std::string_view text) {
  const size_t begin = text.rfind("-----BEGIN ");
  return begin != std::string_view::npos && text.substr(begin, 64).find("PRIVATE KEY-----") != std::string_view::npos &&
         text.find(kEndLine, begin) == std::string_view::npos;
}

}  // namespace

std::string PrivateKeyLines::redact(uint64_t line, std::string_view text, uint64_t* count) {
  std::string clean = end_ > 0 && line > begin_ ? without_key(line, text) : std::string(text);
  if (begins_key(clean)) {
    begin_ = line + static_cast<uint64_t>(std::count(clean.begin(), clean.end(), '\n'));
    end_ = begin_ + kPrivateKeyLinesMax;
    after_body_ = false;
  }
  return redact_text(clean, count);
}

std::string PrivateKeyLines::without_key(uint64_t line, std::string_view text) {
  std::string out;
  for (size_t at = 0; at <= text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (line >= end_) end_ = 0;
    if (at > 0) out += '\n';
    const std::string_view each = text.substr(at, end - at);
    if (end_ > 0) out += without_key_line(line, each);
    else out += each;
    at = end + 1;
  }
  return out;
}

std::string PrivateKeyLines::without_key_line(uint64_t number, std::string_view line) {
  if (const size_t at = line.find(kEndLine); at != std::string_view::npos) {
    end_ = number + 1;  // it may come again
    const size_t close = line.find("-----", at + kEndLine.size());
    const size_t begin = at - std::min(at, without_blanks(line.substr(0, at)).size());
    return std::string(line.substr(0, begin))
        .append(kRedacted)
        .append(close == std::string_view::npos ? "" : line.substr(close + 5));
  }
  const std::string_view word = without_blanks(line);
  after_body_ = !word.empty() && (after_body_ || word.size() >= kBodyLineBytesMin) &&
                std::all_of(word.begin(), word.end(), is_base64);
  return std::string(after_body_ ? kRedacted : line);
}

}  // namespace tracker::internal
