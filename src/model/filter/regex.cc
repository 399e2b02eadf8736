// SPDX-License-Identifier: MIT
#include "model/filter/regex.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace tracker::internal {

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kRegexBytesMax)
    return Status(Code::kInvalid,
                  fmt::format("a regular expression of {} bytes; at most {}", pattern.size(), kRegexBytesMax));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemoryBytesMax);
  auto regex = std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!regex->ok())
    return Status(Code::kInvalid, fmt::format("no regular expression: {}", regex->error()),
                  "the syntax is RE2's: no back references, no look-around");
  return Regex(std::move(regex));
}

bool Regex::search(std::string_view text) const {
  text = text.substr(0, kRegexTextBytesMax);
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex_);
}

}  // namespace tracker::internal
