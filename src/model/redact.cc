// SPDX-License-Identifier: MIT
#include "model/redact.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace tracker::internal {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_token_char(char c) { return is_word(c) || c == '_' || c == '-'; }
bool is_base64url(char c) { return is_token_char(c) || c == '='; }

// "openaiApiKey" -> {openai, api, key}
std::vector<std::string> words_of(std::string_view key) {
  std::vector<std::string> words;
  bool in_word = false;
  char previous = 0;
  for (const char c : key) {
    const bool camel =
        std::islower(static_cast<unsigned char>(previous)) && std::isupper(static_cast<unsigned char>(c));
    if (!is_word(c)) in_word = false;
    else if (!in_word || camel) words.emplace_back();
    if (is_word(c)) {
      in_word = true;
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    previous = c;
  }
  return words;
}

size_t run_length(std::string_view text, size_t at, bool (*accept)(char)) {
  size_t n = 0;
  while (at + n < text.size() && accept(text[at + n])) ++n;
  return n;
}

struct TokenForm {
  std::string_view prefix;
  size_t tail_min;  // characters behind the prefix that make it a token and not a word
};
constexpr TokenForm kForms[] = {
    {"AKIA", 16},        {"ASIA", 16}, {"ghp_", 20}, {"gho_", 20},  {"ghs_", 20},  {"ghu_", 20},
    {"github_pat_", 20}, {"hf_", 20},  {"sk-", 20},  {"xoxb-", 20}, {"xoxp-", 20}, {"glpat-", 16},
};

// Length of the secret that begins at `at`, or 0.
size_t token_at(std::string_view text, size_t at) {
  if (at > 0 && is_token_char(text[at - 1])) return 0;
  const std::string_view rest = text.substr(at);
  for (const TokenForm& form : kForms) {
    if (!rest.starts_with(form.prefix)) continue;
    const size_t tail = run_length(text, at + form.prefix.size(), is_token_char);
    if (tail >= form.tail_min) return form.prefix.size() + tail;
  }
  if (rest.starts_with("eyJ")) {  // a JWT: three base64url parts; the first begins with {"
    size_t length = run_length(text, at, is_base64url);
    int dots = 0;
    while (dots < 2 && at + length < text.size() && text[at + length] == '.') {
      const size_t part = run_length(text, at + length + 1, is_base64url);
      if (part < 4) break;
      length += part + 1;
      ++dots;
    }
    if (dots >= 1) return length;
  }
  if (rest.starts_with("-----BEGIN ") && rest.substr(0, 64).find("PRIVATE KEY-----") != std::string_view::npos) {
    const size_t end = rest.find("-----END ");
    if (end == std::string_view::npos) return rest.size();
    const size_t close = rest.find("-----", end + 9);
    return close == std::string_view::npos ? rest.size() : close + 5;
  }
  return 0;
}

// The credentials of "scheme://user:pass@host" when the "://" begins at `at`: {start, length}, length 0 for none.
std::pair<size_t, size_t> url_credentials(std::string_view text, size_t at) {
  const size_t start = at + 3;
  size_t end = start;  // of the URL
  while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end])) && text[end] != '"' &&
         text[end] != '\'')
    ++end;
  const std::string_view url = text.substr(start, end - start);
  const size_t colon = url.find(':');
  size_t host_end = std::min(url.find_first_of("/?#"), url.size());
  if (colon == std::string_view::npos || colon > host_end) return {start, 0};
  // What follows the colon is a port, or a password; one with "/", "?", "#" or "@" in it reaches to the last "@".
  const bool port = url.find_first_not_of("0123456789", colon + 1) >= host_end;
  if (!port && url.substr(0, host_end).find('@') == std::string_view::npos) host_end = url.size();
  const size_t last_at = url.substr(0, host_end).rfind('@');
  if (last_at == std::string_view::npos || last_at < colon) return {start, 0};
  return {start, last_at};
}

}  // namespace

bool is_secret_key(std::string_view key) {
  const std::vector<std::string> words = words_of(key);
  if (words.empty()) return false;
  const std::string& last = words.back();
  if (last == "secret" || last == "password" || last == "passwd" || last == "token" || last == "apikey" ||
      last == "privatekey")
    return true;
  if (last != "key" || words.size() < 2) return false;
  const std::string& before = words[words.size() - 2];
  return before == "api" || before == "private" || before == "access" || before == "secret";
}

std::string redact_text(std::string_view text, uint64_t* count) {
  std::string out;
  size_t kept = 0;
  const auto replace = [&](size_t from, size_t length) {
    out += text.substr(kept, from - kept);
    out += kRedacted;
    kept = from + length;
    ++*count;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (i < kept) continue;
    if (const size_t length = token_at(text, i)) replace(i, length);
    else if (text.substr(i, 3) == "://") {
      const auto [start, length2] = url_credentials(text, i);
      if (length2 > 0) replace(start, length2);
    }
  }
  if (kept == 0) return std::string(text);
  out += text.substr(kept);
  return out;
}

void redact(std::string_view key, Value* value, uint64_t* count) {
  if (Value::Map* map = value->as_map()) {
    // What stands below a secret key is as secret: {"auth_token": {"value": ...}}.
    for (auto& [name, item] : *map) redact(is_secret_key(key) ? key : std::string_view(name), &item, count);
  } else if (Value::List* list = value->as_list()) {
    for (Value& item : *list) redact(key, &item, count);
  } else if (const std::string* text = value->as_text()) {
    if (is_secret_key(key) && !text->empty() && *text != kRedacted) {
      *value = kRedacted;
      ++*count;
    } else {
      uint64_t found = 0;
      std::string clean = redact_text(*text, &found);
      if (found > 0) *value = std::move(clean);
      *count += found;
    }
  }
}

}  // namespace tracker::internal
