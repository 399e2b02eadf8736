// SPDX-License-Identifier: MIT
#include "model/redact/redact.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace tracker::internal {
namespace {

bool is_plain_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_plain_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_token_char(char c) { return is_word(c) || c == '_' || c == '-'; }
bool is_base64url(char c) { return is_token_char(c) || c == '='; }
bool is_bearer_char(char c) { return is_base64url(c) || c == '.' || c == '~' || c == '+' || c == '/'; }
bool is_name(char c) { return is_token_char(c) || c == '.'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }
bool is_solid(char c) { return !is_space(c) && !is_quote(c); }
bool is_query_value(char c) { return is_solid(c) && c != '&' && c != '#' && c != '>' && c != ')' && c != ']'; }

size_t run_length(std::string_view text, size_t at, bool (*accept)(char)) {
  size_t n = 0;
  while (at + n < text.size() && accept(text[at + n])) ++n;
  return n;
}

size_t skip_blanks(std::string_view text, size_t at) { return at + run_length(text, at, is_blank); }

bool same_letters(std::string_view text, std::string_view small) {
  return text.size() == small.size() && std::equal(text.begin(), text.end(), small.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

struct TokenForm {
  std::string_view prefix;
  size_t tail_min;  // characters after the prefix that make it a token and not a word
};
constexpr TokenForm kForms[] = {
    {"AKIA", 16},   {"ASIA", 16},  {"AIza", 30},     {"dop_v1_", 20},  {"dckr_pat_", 16}, {"eyJ", 0},
    {"ghp_", 20},   {"gho_", 20},  {"ghs_", 20},     {"ghu_", 20},     {"ghr_", 20},      {"github_pat_", 20},
    {"glpat-", 16}, {"gsk_", 20},  {"hf_", 20},      {"npm_", 30},     {"nvapi-", 20},    {"pypi-AgE", 20},
    {"r8_", 30},    {"sk-", 20},   {"sk_live_", 16}, {"sk_test_", 16}, {"rk_live_", 16},  {"xoxa-", 20},
    {"xoxb-", 20},  {"xoxp-", 20}, {"xoxr-", 20},    {"xoxs-", 20},    {"xapp-", 20},     {"ya29.", 20},
    {"trk_", 20},  // of a tracker server
};

// The letters that a form begins with.
constexpr std::array<bool, 256> kFormBegins = [] {
  std::array<bool, 256> out{};
  for (const TokenForm& form : kForms) out[static_cast<unsigned char>(form.prefix[0])] = true;
  return out;
}();

// A JWT: three base64url parts; the first begins with {". Else 0.
size_t jwt_at(std::string_view text, size_t at) {
  size_t length = run_length(text, at, is_base64url);
  int dots = 0;
  while (dots < 2 && at + length < text.size() && text[at + length] == '.') {
    const size_t part = run_length(text, at + length + 1, is_base64url);
    if (part < 4) break;
    length += part + 1;
    ++dots;
  }
  return dots >= 1 ? length : 0;
}

// Length of the PEM private key that begins at `at`, or 0. One without an end reaches to the end of the text.
size_t private_key_at(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  if (!rest.starts_with("-----BEGIN ") || rest.substr(0, 64).find("PRIVATE KEY-----") == std::string_view::npos)
    return 0;
  const size_t end = rest.find("-----END ");
  if (end == std::string_view::npos) return rest.size();
  const size_t close = rest.find("-----", end + 9);
  return close == std::string_view::npos ? rest.size() : close + 5;
}

// Length of the token that begins at `at`, or 0. A letter or digit before it makes it part of a word, unless it is of
// an escape: "\n", "%20".
size_t token_at(std::string_view text, size_t at) {
  if (at > 0 && is_word(text[at - 1])) {
    const bool escape = (at > 1 && text[at - 2] == '\\') || (at > 2 && text[at - 3] == '%');
    if (!escape) return 0;
  }
  const std::string_view rest = text.substr(at);
  for (const TokenForm& form : kForms) {
    if (rest[0] != form.prefix[0] || !rest.starts_with(form.prefix)) continue;
    // Parts of words ("a-sk-…"), and of other tokens.
    const char before = at > 0 ? text[at - 1] : 0;
    if ((before == '-' && form.prefix == "sk-") || (is_token_char(before) && form.prefix == "eyJ")) return 0;
    if (form.prefix == "eyJ") return jwt_at(text, at);
    const size_t tail = run_length(text, at + form.prefix.size(), is_token_char);
    if (tail >= form.tail_min) return form.prefix.size() + tail;
  }
  return 0;
}

struct Span {
  size_t begin = 0, length = 0;  // length 0: none
};

constexpr size_t kUrlBytesMax = 1024;  // so far an "@" is searched for: a line of "://" stays linear

// The credentials of "scheme://user:pass@host" when the "://" begins at `at`.
Span url_credentials(std::string_view text, size_t at) {
  const size_t start = at + 3;
  const std::string_view url = text.substr(start, run_length(text.substr(0, start + kUrlBytesMax), start, is_solid));
  const size_t colon = url.find(':');
  size_t host_end = std::min(url.find_first_of("/?#"), url.size());
  if (colon == std::string_view::npos || colon > host_end) {
    // "https://<token>@github.com"; of other schemes it is a user's name: ssh://git@host.
    const size_t user_end = url.substr(0, host_end).rfind('@');
    const bool web = text.substr(0, at).ends_with("http") || text.substr(0, at).ends_with("https");
    return web && user_end != std::string_view::npos ? Span{start, user_end} : Span{};
  }
  // What follows the colon is a port, or a password; one with "/", "?", "#" or "@" in it reaches to the last "@".
  const bool port = url.find_first_not_of("0123456789", colon + 1) >= host_end;
  if (!port && url.substr(0, host_end).find('@') == std::string_view::npos) host_end = url.size();
  const size_t last_at = url.substr(0, host_end).rfind('@');
  if (last_at == std::string_view::npos || last_at < colon) return {};
  return {start, last_at};
}

// The credentials of "user:pass@host" without a scheme, when the "@" is at `at` and what is before `from` is done with.
// Mail ("mailto:a@b.org"), times, versions ("python:3.11@sha256") and paths of copies ("host:/a@b") are none.
Span bare_credentials(std::string_view text, size_t at, size_t from) {
  constexpr size_t kBytesMax = 256;
  size_t begin = at;
  while (begin > from && at - begin < kBytesMax && is_solid(text[begin - 1])) --begin;
  const std::string_view run = text.substr(begin, at - begin);
  const size_t colon = run.find(':');
  if (colon == std::string_view::npos || at + 1 >= text.size() || !is_word(text[at + 1])) return {};
  size_t user = colon;
  while (user > 0 && (is_name(run[user - 1]) || run[user - 1] == '+' || run[user - 1] == '%')) --user;
  const std::string_view name = run.substr(user, colon - user), password = run.substr(colon + 1);
  if (name.empty() || password.size() < 2 || password.find('/') != std::string_view::npos) return {};
  if (user > 0 && run[user - 1] == '/') return {};
  if (password.find_first_of("{}<") != std::string_view::npos || password.back() == ';') return {};  // a rule of CSS
  if (std::all_of(name.begin(), name.end(), is_plain_digit)) return {};
  for (const std::string_view mail :
       {"mailto", "email", "e-mail", "mail", "from", "to", "cc", "bcc", "author", "contact"})
    if (same_letters(name, mail)) return {};
  const std::string_view host = text.substr(at + 1, run_length(text, at + 1, is_name));
  const bool number = password.find_first_not_of("v0123456789.-+") == std::string_view::npos;
  if (host == "sha256" || (number && host.find('.') == std::string_view::npos)) return {};
  return {begin + user, at - begin - user};
}

// Of a text in three quotes, which may span lines: the position after its closing quotes; 0: it is no such text.
size_t triple_quoted_end(std::string_view text, size_t at) {
  const std::string_view quotes = text.substr(at, 3);
  if (quotes.size() < 3 || quotes[1] != quotes[0] || quotes[2] != quotes[0]) return 0;
  const std::string_view near = text.substr(at + 3, kSecretAheadBytes);  // many without an end stay linear
  const size_t close = near.find(quotes);
  return close != std::string_view::npos ? at + 3 + close + 3 : at + 3 + std::min(near.find('\n'), near.size());
}

// Whether the value goes on after a ',' or ';': before a blank, a quote, a bracket or a further assignment it does
// not.
bool is_within_value(std::string_view text, size_t at) {
  const size_t next = at + 1;
  if (next >= text.size() || is_space(text[next]) || is_quote(text[next])) return false;
  if (std::string_view("{}[]()<>&|").find(text[next]) != std::string_view::npos) return false;
  const size_t end = next + run_length(text.substr(0, next + 64), next, is_name);
  return end == next || end >= text.size() || (text[end] != '=' && text[end] != ':');
}

// A quoted text to its quote, else a word; of a line alone. Python's b"" and f"" are quoted texts.
size_t value_length(std::string_view text, size_t at) {
  size_t begin = at;
  while (begin < text.size() && begin - at < 2 &&
         std::string_view("bBfFrRuU").find(text[begin]) != std::string_view::npos)
    ++begin;
  if (begin >= text.size() || !is_quote(text[begin])) begin = at;
  size_t end = begin;
  if (begin < text.size() && is_quote(text[begin])) {
    if (const size_t close = triple_quoted_end(text, begin)) return close - at;
    for (end = begin + 1; end < text.size() && text[end] != text[begin] && text[end] != '\n';)
      end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    return end - at + (end < text.size() && text[end] == text[begin] ? 1 : 0);
  }
  for (; end < text.size() && !is_space(text[end]); ++end)
    if ((text[end] == ',' || text[end] == ';') && !is_within_value(text, end)) break;
  return end - at;
}

// After "name: type" of Python, whose type begins at `value` and ends at `end`: where the value after its "=" ends, 0
// for none. The type may have brackets with blanks in them, and further types after "|".
size_t annotated_end(std::string_view text, size_t value, size_t end) {
  constexpr size_t kBytesMax = 256;
  const std::string_view near = text.substr(0, std::min(text.size(), value + kBytesMax));
  if (value >= near.size() || !is_word(near[value])) return 0;
  int depth = 0;
  for (size_t i = value; i < near.size() && (i < end || depth > 0); ++i) {
    if (near[i] == '\n') return 0;
    depth += near[i] == '[' ? 1 : near[i] == ']' ? -1 : 0;
    if (i >= end) end = i + 1;
  }
  for (size_t at = skip_blanks(near, end); at < near.size() && near[at] == '|'; at = skip_blanks(near, end)) {
    at = skip_blanks(near, at + 1);
    end = at + run_length(near, at, [](char c) { return is_name(c) || c == '[' || c == ']'; });
    if (end == at) return 0;
  }
  const size_t equals = skip_blanks(near, end);
  if (equals + 1 >= near.size() || near[equals] != '=' || near[equals + 1] == '=') return 0;
  const size_t at = skip_blanks(text, equals + 1);
  return at + value_length(text, at);
}

// The start of the value after a name that ends at `at`; 0 if it is not an assignment.
size_t value_after(std::string_view text, size_t at) {
  if (at < text.size() && is_quote(text[at])) ++at;
  if (at < text.size() && text[at] == ']') ++at;  // environ["TOKEN"] = "x"
  at = skip_blanks(text, at);
  if (at >= text.size() || (text[at] != '=' && text[at] != ':')) return 0;
  while (at < text.size() && (text[at] == '=' || text[at] == ':' || text[at] == '>')) ++at;
  return skip_blanks(text, at);
}

bool is_scheme(std::string_view word) {
  for (const std::string_view scheme : {"bearer", "basic", "token", "digest", "negotiate", "apikey"})
    if (same_letters(word, scheme)) return true;
  return false;
}

// Of "Authorization: Bearer x" the value is all of it, to its closing quote or to the end of the line.
size_t header_length(std::string_view text, size_t value, size_t name) {
  if (value < text.size() && is_quote(text[value])) return value_length(text, value);
  const char quote = name > 0 && is_quote(text[name - 1]) ? text[name - 1] : 0;
  size_t end = value;
  while (end < text.size() && text[end] != '\n' && text[end] != '\r' && text[end] != quote && !is_quote(text[end]))
    ++end;
  return end - value;
}

// kScript: within <script> and <style>, where only what certainly is one goes, so that the page stays what it is.
enum class TextKind : uint8_t { kProse, kCode, kScript };

// Finds the secrets of a text, from left to right.
class SecretFinder {
 public:
  SecretFinder(std::string_view text, TextKind kind)
      : text_(text), code_(kind == TextKind::kCode), script_(kind == TextKind::kScript) {}

  std::vector<Span> run() {
    for (size_t i = 0; i < text_.size();) i = step(i);
    return std::move(spans_);
  }

 private:
  // Where to go on.
  size_t step(size_t i) {
    const char c = text_[i];
    if (is_name(c)) return word(i);
    if (c == ':' && text_.substr(i, 3) == "://") return address(i);
    if (c == '@' && !script_) return take(bare_credentials(text_, i, done_), i + 1);
    return i + 1;
  }

  size_t address(size_t i) {
    if (i < no_at_until_) return i + 3;
    const std::string_view rest = text_.substr(i, kUrlBytesMax);
    const std::string_view url = rest.substr(0, run_length(rest, 0, is_solid));
    if (url.find('@') != std::string_view::npos) return take(url_credentials(text_, i), i + 3);
    no_at_until_ = i + url.size();
    return i + 3;
  }

  size_t take(Span span, size_t otherwise) {
    if (span.length == 0) return otherwise;
    const size_t masked = span.begin + kRedacted.size();  // what was masked before is not counted again
    if (text_.substr(span.begin).starts_with(kRedacted) && (masked >= text_.size() || !is_word(text_[masked])))
      return std::max(masked, otherwise);
    spans_.push_back(span);
    done_ = span.begin + span.length;
    return std::max(done_, otherwise);
  }

  // A run of the characters of names; tokens are in it where a word begins.
  size_t word(size_t begin) {
    if (text_[begin] == '-')
      if (const size_t length = private_key_at(text_, begin)) return take({begin, length}, begin + 1);
    size_t end = begin;
    for (; end < text_.size() && is_name(text_[end]); ++end)
      if (kFormBegins[static_cast<unsigned char>(text_[end])])
        if (const size_t length = token_at(text_, end)) return take({end, length}, end + 1);
    if (end >= text_.size()) return end;
    const char next = text_[end];
    if (next == ' ' && is_bearer(begin, end)) return bearer(end + 1);
    if (next != '=' && next != ':' && !is_blank(next) && !is_quote(next)) return end;
    return assignment(begin, end);
  }

  bool is_bearer(size_t begin, size_t end) const {
    return end - begin == 6 && same_letters(text_.substr(begin, 6), "bearer");
  }

  size_t bearer(size_t at) {
    const size_t length = run_length(text_, at, is_bearer_char);
    const std::string_view token = text_.substr(at, length);
    const bool digit = std::any_of(token.begin(), token.end(), is_plain_digit);
    return length >= (digit ? 8u : 20u) ? take({at, length}, at) : at;
  }

  size_t assignment(size_t begin, size_t end) {
    const std::string_view name = text_.substr(begin, end - begin);
    if (script_) return literal(name, end);
    const char before = begin > 0 ? text_[begin - 1] : 0;
    if (text_[end] == '=' && (before == '?' || before == '&' || before == '#') && is_secret_parameter(name))
      return take({end + 1, run_length(text_, end + 1, is_query_value)}, end);
    const bool option = name.starts_with("--");
    if (!(code_ || option ? is_secret_key(name) : is_secret_in_prose(name)) && !is_variable(name)) return end;
    size_t value = value_after(text_, end);
    if (value == 0 && option) value = word_after(end);
    if (value == 0 || text_.substr(value, 3) == "//") return end;  // "token://"
    const bool header = name.size() >= 6 && (ends_with(name, "authorization") || ends_with(name, "cookie"));
    size_t length = header ? header_length(text_, value, begin) : value_length(text_, value);
    if (!header && is_scheme(text_.substr(value, length))) {  // "auth_token: Bearer x"
      const size_t second = skip_blanks(text_, value + length);
      length = second + value_length(text_, second) - value;
    }
    if (!header && text_.substr(end, value - end).find('=') == std::string_view::npos)
      if (const size_t all = annotated_end(text_, value, value + length)) length = all - value;
    return take({value, length}, end);
  }

  // In a script: the content of a quoted text after a name. Values of fetch()'s `credentials` are no secrets.
  size_t literal(std::string_view name, size_t end) {
    const size_t value = is_secret_in_prose(name) ? value_after(text_, end) : 0;
    if (value == 0 || value >= text_.size() || !is_quote(text_[value])) return end;
    const size_t length = value_length(text_, value);
    if (length < 3 || text_[value + length - 1] != text_[value]) return end;
    const std::string_view inside = text_.substr(value + 1, length - 2);
    for (const std::string_view word : {"same-origin", "include", "omit"})
      if (inside == word) return end;
    return take({value + 1, length - 2}, end);
  }

  // Of "--password x", where x is neither an option nor what a help text has in its place: "--password PASSWORD".
  size_t word_after(size_t at) const {
    if (!is_blank(text_[at])) return 0;
    const size_t value = skip_blanks(text_, at);
    if (value >= text_.size() || text_[value] == '-' || text_[value] == '<' || text_[value] == '[') return 0;
    const std::string_view word = text_.substr(value, value_length(text_, value));
    const bool placeholder =
        std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
    return placeholder ? 0 : value;
  }

  bool is_variable(std::string_view name) const { return code_ && is_secret_in_prose(name); }
  static bool ends_with(std::string_view name, std::string_view small) {
    return name.size() >= small.size() && same_letters(name.substr(name.size() - small.size()), small);
  }

  const std::string_view text_;
  const bool code_, script_;
  size_t done_ = 0;         // the end of the last span
  size_t no_at_until_ = 0;  // there is no "@" before, from where one was searched for last
  std::vector<Span> spans_;
};

// How long the escape sequence is that begins at `at` with ESC: colours and movements (CSI), titles and links (OSC).
// No sequence has a byte of a longer character: none is cut in two.
size_t escape_length(std::string_view text, size_t at) {
  const auto is_ascii = [&](size_t i) { return static_cast<unsigned char>(text[i]) < 0x80; };
  if (at + 1 >= text.size() || !is_ascii(at + 1)) return 1;
  size_t end = at + 2;
  if (text[at + 1] == '[') {
    while (end < text.size() && (text[end] < 0x40 || text[end] > 0x7e) && text[end] >= 0x20) ++end;
    return end - at + (end < text.size() && is_ascii(end) ? 1 : 0);
  }
  return 2;  // of an OSC what follows is read as text
}

// `text` without its escape sequences, and where each character of it was.
struct PlainText {
  std::string text;
  std::vector<uint32_t> at;
};

PlainText without_escapes(std::string_view text) {
  PlainText out;
  out.text.reserve(text.size());
  out.at.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\x1b') {
      i += escape_length(text, i);
      continue;
    }
    out.at.push_back(static_cast<uint32_t>(i));
    out.text += text[i++];
  }
  return out;
}

// Only the escape sequences of a secret, so that what follows it looks as it did.
void append_escapes(std::string_view text, std::string* out) {
  for (size_t i = text.find('\x1b'); i < text.size(); i = text.find('\x1b', i)) {
    const size_t length = escape_length(text, i);
    out->append(text.substr(i, length));
    i += length;
  }
}

std::string redact_as(std::string_view text, TextKind kind, uint64_t* count, size_t bytes) {
  bytes = std::min(bytes, text.size());
  text = text.substr(0, bytes + std::min(kSecretAheadBytes, text.size() - bytes));
  const bool escapes = text.find('\x1b') != std::string_view::npos && text.size() <= UINT32_MAX;
  const PlainText plain = escapes ? without_escapes(text) : PlainText();
  const std::vector<Span> spans = SecretFinder(escapes ? std::string_view(plain.text) : text, kind).run();
  if (spans.empty()) return std::string(text.substr(0, bytes));
  std::string out;
  size_t kept = 0;
  uint64_t found = 0;
  for (const Span& span : spans) {
    const size_t begin = escapes ? plain.at[span.begin] : span.begin;
    const size_t end = escapes ? plain.at[span.begin + span.length - 1] + 1 : span.begin + span.length;
    if (begin >= bytes) break;
    ++found;
    out.append(text.substr(kept, begin - kept)).append(kRedacted);
    if (escapes) append_escapes(text.substr(begin, end - begin), &out);
    kept = end;
  }
  if (kept < bytes) out.append(text.substr(kept, bytes - kept));
  *count += found;
  return out;
}

}  // namespace

std::string redact_text(std::string_view text, uint64_t* count, size_t bytes) {
  return redact_as(text, TextKind::kProse, count, bytes);
}
std::string redact_code(std::string_view text, uint64_t* count, size_t bytes) {
  return redact_as(text, TextKind::kCode, count, bytes);
}
std::string redact_script(std::string_view text, uint64_t* count) {
  return redact_as(text, TextKind::kScript, count, text.size());
}

static bool names_secret(std::string_view name) { return is_secret_key(name) || is_secret_in_prose(name); }

size_t secret_argument(std::string_view word) {
  const size_t end = run_length(word, 0, is_name);
  if (end + 1 >= word.size() || word[end] != '=' || !names_secret(word.substr(0, end))) return 0;
  return word.substr(end + 1) == kRedacted ? 0 : end + 1;
}

Status check_no_secret(std::string_view what, std::string_view text) {
  uint64_t count = 0;
  (void)redact_text(text, &count);
  if (count == 0) return {};
  return Status(Code::kInvalid,
                fmt::format("{} holds what looks like a secret (a token, a password), which is never stored", what),
                "give it another name; nothing was stored");
}

void redact(std::string_view key, Value* value, uint64_t* count) {
  if (Value::Map* map = value->as_map()) {
    // What is below a secret key is as secret: {"auth_token": {"value": ...}}.
    for (auto& [name, item] : *map) redact(is_secret_key(key) ? key : std::string_view(name), &item, count);
  } else if (Value::List* list = value->as_list()) {
    std::string option;  // of a command line, such as sys.argv: the word after "--password" is a secret
    for (Value& item : *list) {
      const std::string* word = item.as_text();
      const bool is_option = word != nullptr && word->starts_with("-");
      std::string next;
      if (is_option && word->find('=') == std::string::npos && is_secret_key(*word)) next = *word;
      const bool is_option_value = word != nullptr && !is_option && !option.empty();
      const size_t secret = word != nullptr && (is_option || is_secret_in_prose(word->substr(0, word->find('='))))
                                ? secret_argument(*word)
                                : 0;
      if (secret > 0) {
        item = word->substr(0, secret) + std::string(kRedacted);
        ++*count;
      } else {
        redact(is_option_value ? std::string_view(option) : key, &item, count);
      }
      option = std::move(next);
    }
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
