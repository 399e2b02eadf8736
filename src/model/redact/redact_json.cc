// SPDX-License-Identifier: MIT
// Secrets in the strings of a JSON document. As prose a document cannot be redacted: a value goes with its closing
// quote, and a key's PEM header with all that follows.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "model/redact/redact.h"

namespace tracker::internal {
namespace {

// What is outside of strings: numbers, NaN and Infinity, true, false, null. No form of a secret is made of that.
constexpr std::array<bool, 256> kBetweenStrings = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view(" \t\r\n{}[]:,+-.0123456789trufalsenNIiyE"))
    out[static_cast<unsigned char>(c)] = true;
  return out;
}();

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // which readers of JSON pass over

class JsonRedactor {
 public:
  JsonRedactor(std::string_view text, uint64_t* count) : text_(text), count_(count) { out_.reserve(text.size()); }

  // False: it is no JSON, nothing was counted.
  bool run() {
    if (text_.starts_with(kByteOrderMark)) out_.append(text_.substr(0, at_ = kByteOrderMark.size()));
    while (at_ < text_.size()) {
      const size_t quote = std::min(text_.find('"', at_), text_.size());
      for (const char c : text_.substr(at_, quote - at_)) {
        if (!kBetweenStrings[static_cast<unsigned char>(c)]) return false;
        structure(c);
      }
      out_.append(text_.substr(at_, quote - at_));
      at_ = quote;
      if (at_ < text_.size() && !string()) return false;
    }
    *count_ += found_;
    return true;
  }

  std::string take() { return std::move(out_); }

 private:
  void structure(char c) {
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') {
      --depth_;
      if (depth_ < named_at_) named_at_ = 0;
    }
    // What is below a secret key is as secret, to the end of its value.
    if ((c == ',' || c == '}' || c == ']') && depth_ <= secret_from_) secret_from_ = kNone;
  }

  bool string() {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return false;
    const std::string_view literal = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    size_t next = at_;
    while (next < text_.size() && std::isspace(static_cast<unsigned char>(text_[next])) != 0) ++next;
    const bool is_key = next < text_.size() && text_[next] == ':';
    std::string decoded;
    const bool readable = decode(literal, &decoded);
    append(literal, decoded, readable, !is_key && secret_from_ != kNone);
    note(decoded, is_key);
    return true;
  }

  // False: half of a surrogate pair, or no JSON string; `out` has what is there.
  static bool decode(std::string_view literal, std::string* out) {
    *out = literal.substr(1, literal.size() - 2);
    if (literal.find('\\') == std::string_view::npos) return true;
    const Result<Value> value = from_json(literal);
    if (!value.ok() || value->as_text() == nullptr) return false;
    *out = *value->as_text();
    return true;
  }

  void append(std::string_view literal, const std::string& decoded, bool readable, bool secret) {
    uint64_t found = 0;
    if (secret && !decoded.empty() && decoded != kRedacted) {
      found_ += 1;
      out_.append("\"").append(kRedacted).append("\"");
      return;
    }
    const std::string clean = redact_text(decoded, &found);
    found_ += found;
    if (found == 0) out_.append(literal);
    else if (!readable) out_.append("\"").append(kRedacted).append("\"");
    else out_.append(to_json(Value(clean)));
  }

  void note(const std::string& decoded, bool is_key) {
    if (is_key) {
      key_ = decoded;
      // "values" beside a "name": a column of a table
      const bool column = key_ == "values" && named_at_ > 0 && named_at_ == depth_;
      if (secret_from_ == kNone && (column || is_secret_in_prose(key_))) secret_from_ = depth_;
    } else {
      if (key_ == "name") named_at_ = is_secret_in_prose(decoded) ? depth_ : 0;
      key_.clear();
    }
  }

  static constexpr int64_t kNone = -1;
  const std::string_view text_;
  uint64_t* const count_;
  size_t at_ = 0;
  int64_t depth_ = 0;
  int64_t secret_from_ = kNone;  // the depth of the secret key whose value is read
  int64_t named_at_ = 0;         // the depth of the object whose "name" is secret; 0: none
  std::string key_;              // whose value comes next
  uint64_t found_ = 0;
  std::string out_;
};

}  // namespace

std::string redact_json(std::string_view text, uint64_t* count) {
  JsonRedactor redactor(text, count);
  return redactor.run() ? redactor.take() : redact_text(text, count);
}

}  // namespace tracker::internal
