// SPDX-License-Identifier: MIT
// Filter text to tokens, and words to values. Part of the filter parser. Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/filter/filter.h"

namespace tracker::internal {

struct FilterToken {
  enum class Kind : uint8_t { kWord, kQuoted, kOp, kOpen, kClose, kOpenList, kCloseList, kComma, kEnd };
  Kind kind = Kind::kEnd;
  size_t offset = 0;
  std::string text;  // kQuoted: without the quotes; kOp: "=", ...
  // kWord: config."lr.schedule" or metrics."a b".max, that is a word, a quoted key and what follows it at once.
  std::optional<std::string> key;
  std::string suffix;
};

// "a word", "\"<\"", "the end": for messages.
std::string token_name(const FilterToken& token);

// All tokens, the last one kEnd. False with *error for a quote without an end, a character that begins nothing, bytes
// that are no UTF-8, and texts above kFilterBytesMax.
bool lex_filter(std::string_view text, std::vector<FilterToken>* out, FilterError* error);

// What a word stands for: null, true, false, a number, a duration (90m, 1h30m), a time (2026-09-01, now-7d), else text.
FilterLiteral literal_of_word(std::string_view word, int64_t now_us);
// Only as a time: of a quoted text, too.
std::optional<FilterLiteral> time_literal(std::string_view text, int64_t now_us);

// Lower case of the letters A-Z; other characters stay.
std::string ascii_lower(std::string_view text);

}  // namespace tracker::internal
