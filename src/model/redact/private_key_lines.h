// SPDX-License-Identifier: MIT
// A PEM private key that is printed line by line: only its first line says what it is. Threads: one at a time. Memory:
// some numbers. Cost: a search of a piece for "-----BEGIN "; within a key a check of each line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tracker::internal {

// A key has no more, RSA of 16,384 bits neither: a program that only names the first line is not watched for ever.
// Limit: lines after the first line of a printed private key that are searched for its end. Beyond it: they are kept as
// they are.
constexpr uint64_t kPrivateKeyLinesMax = 256;

class PrivateKeyLines {
 public:
  // As redact_text() of the lines of one stream, which begin with number `line`, and without those that go on with a
  // key that an earlier call has begun. Other lines among them stay. A line may come again; it is checked again.
  std::string redact(uint64_t line, std::string_view text, uint64_t* count);

 private:
  std::string without_key(uint64_t line, std::string_view text);
  std::string without_key_line(uint64_t number, std::string_view line);

  uint64_t begin_ = 0;       // the line that the last key began in
  uint64_t end_ = 0;         // the position after the last line that may be of it; 0: none
  bool after_body_ = false;  // the line before was of its body
};

}  // namespace tracker::internal
