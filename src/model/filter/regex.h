// SPDX-License-Identifier: MIT
// Regular expressions whose time is linear in the text whatever the pattern is (RE2, no backtracking), so that a filter
// typed into a console cannot hold up a server. RE2's headers stay in regex.cc,
// and nothing that records runs refers to it: libtracker.so does not load libre2. Threads: const calls by any.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"

namespace re2 {
class RE2;
}

namespace tracker::internal {

// Limit: bytes of a regular expression. Beyond it: an error with the column.
constexpr size_t kRegexBytesMax = 1000;
// Limit: bytes of a compiled regular expression. Beyond it: an error with the column.
constexpr int64_t kRegexMemoryBytesMax = 1 << 20;
// Limit: bytes of a text that a regular expression searches. Beyond it: the rest is not searched.
constexpr size_t kRegexTextBytesMax = 1024 * 1024;

class Regex {
 public:
  // kInvalid with RE2's reason: syntax, a pattern that is too long or that needs too much memory, back references.
  static Result<Regex> compile(std::string_view pattern);
  // Whether the pattern occurs anywhere in `text`; bytes that are no UTF-8 match nothing. Linear in the text.
  bool search(std::string_view text) const;

 private:
  explicit Regex(std::shared_ptr<const re2::RE2> regex) : regex_(std::move(regex)) {}
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace tracker::internal
