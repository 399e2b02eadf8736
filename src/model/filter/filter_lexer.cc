// SPDX-License-Identifier: MIT
#include "model/filter/filter_lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/key.h"

namespace tracker::internal {
namespace {

using Kind = FilterToken::Kind;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Bytes of words: those of keys, of dates with a time (":", "+"), and every character beyond ASCII.
bool is_word_byte(char c) {
  constexpr std::string_view kMore = "_/-.:+@%";
  return is_letter_or_digit(c) || kMore.find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<FilterToken>* out, FilterError* error)
      : text_(text), out_(out), error_(error) {}

  bool run() {
    if (!is_utf8(text_)) return fail(0, "the text is no UTF-8", "");
    for (;;) {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      FilterToken token;
      token.offset = at_;
      const bool ended = at_ == text_.size();
      if (!ended && !next(&token)) return false;
      out_->push_back(std::move(token));
      if (ended) return true;
    }
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static bool is_quote(char c) { return c == '"' || c == '\''; }

  bool fail(size_t offset, std::string message, std::string expected) {
    error_->offset = offset;
    error_->message = std::move(message);
    error_->expected = std::move(expected);
    return false;
  }

  bool next(FilterToken* token) {
    const char c = text_[at_];
    if (is_quote(c)) {
      token->kind = Kind::kQuoted;
      return quoted(&token->text);
    }
    if (is_word_byte(c)) return word(token);
    constexpr std::string_view kSingles = "()[],";
    constexpr Kind kKinds[] = {Kind::kOpen, Kind::kClose, Kind::kOpenList, Kind::kCloseList, Kind::kComma};
    if (const size_t single = kSingles.find(c); single != std::string_view::npos) {
      token->kind = kKinds[single];
      token->text = text_.substr(at_++, 1);
      return true;
    }
    return op(token);
  }

  bool op(FilterToken* token) {
    token->kind = Kind::kOp;
    for (const std::string_view known : {"==", "!=", "<=", ">=", "=", "<", ">", "~"}) {
      if (text_.substr(at_, known.size()) != known) continue;
      token->text = known == "==" ? "=" : known;
      at_ += known.size();
      return true;
    }
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    const std::string shown = c >= 0x20 && c < 0x7f ? std::string(1, text_[at_]) : fmt::format("\\x{:02x}", c);
    return fail(at_, fmt::format("the character {} has no meaning here", shown),
                "a field, a word, a value or an operator; other characters need quotes");
  }

  // `"` or `'` up to the same one. \" and \\ stand for the second character, any other backslash for itself, so that a
  // regular expression is written as it is.
  bool quoted(std::string* out) {
    const size_t begin = at_;
    const char quote = text_[at_++];
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == quote) {
        ++at_;
        return true;
      }
      const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (c == '\\' && (after == quote || after == '\\')) {
        c = after;
        ++at_;
      }
      out->push_back(c);
    }
    return fail(begin, "the quote has no end", fmt::format("a closing {}", quote));
  }

  std::string plain() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_word_byte(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool word(FilterToken* token) {
    token->kind = Kind::kWord;
    token->text = plain();
    if (!token->text.ends_with('.') || at_ == text_.size() || !is_quote(text_[at_])) return true;
    token->key.emplace();
    if (!quoted(&*token->key)) return false;
    token->suffix = plain();
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<FilterToken>* out_;
  FilterError* error_;
};

}  // namespace

std::string token_name(const FilterToken& token) {
  if (token.kind == Kind::kEnd) return "the end";
  const std::string shown =
      token.text.size() > 40 ? fmt::format("{}...", std::string_view(token.text).substr(0, 40)) : token.text;
  return token.kind == Kind::kQuoted ? fmt::format("the text \"{}\"", shown) : fmt::format("\"{}\"", shown);
}

bool lex_filter(std::string_view text, std::vector<FilterToken>* out, FilterError* error) {
  if (text.size() > kFilterBytesMax) {
    error->offset = 0;
    error->message = fmt::format("the text has {} bytes; at most {}", text.size(), kFilterBytesMax);
    return false;
  }
  return Lexer(text, out, error).run();
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace tracker::internal
