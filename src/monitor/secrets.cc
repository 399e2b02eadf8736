// SPDX-License-Identifier: MIT
#include "monitor/secrets.h"

#include <cctype>

#include "model/redact.h"

namespace tracker::internal {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// Behind a name that ends at `at`: where its value begins, 0 for no assignment.
size_t value_behind(std::string_view text, size_t at) {
  if (at < text.size() && is_quote(text[at])) ++at;
  if (at < text.size() && text[at] == ']') ++at;  // environ["TOKEN"] = "x"
  at = skip_blanks(text, at);
  if (at >= text.size() || (text[at] != '=' && text[at] != ':')) return 0;
  while (at < text.size() && (text[at] == '=' || text[at] == ':' || text[at] == '>')) ++at;
  return skip_blanks(text, at);
}

// A quoted text to its quote, else a word; of a line alone.
size_t value_length(std::string_view text, size_t at) {
  size_t end = at;
  if (at < text.size() && is_quote(text[at])) {
    for (end = at + 1; end < text.size() && text[end] != text[at] && text[end] != '\n';)
      end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    return end - at + (end < text.size() && text[end] == text[at] ? 1 : 0);
  }
  while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])) == 0 && text[end] != ',' &&
         text[end] != ';')
    ++end;
  return end - at;
}

}  // namespace

std::string redact_free_text(std::string_view text, uint64_t* count) {
  std::string out;
  size_t kept = 0;
  for (size_t at = 0; at < text.size();) {
    if (!is_name(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && is_name(text[at])) ++at;
    const size_t value = value_behind(text, at);
    if (value == 0 || !is_secret_key(text.substr(begin, at - begin))) continue;
    const size_t length = value_length(text, value);
    if (length == 0 || text.substr(value, length) == kRedacted) continue;
    out += text.substr(kept, value - kept);
    out += kRedacted;
    kept = at = value + length;
    ++*count;
  }
  out += text.substr(kept);
  return redact_text(out, count);
}

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments, uint64_t* count) {
  std::vector<std::string> out;
  bool secret = false;
  for (const std::string& each : arguments) {
    if (secret && !each.starts_with("-")) {
      out.emplace_back(kRedacted);
      ++*count;
    } else {
      out.push_back(redact_free_text(each, count));
    }
    secret = each.starts_with("-") && each.find('=') == std::string::npos && is_secret_key(each);
  }
  return out;
}

}  // namespace tracker::internal
