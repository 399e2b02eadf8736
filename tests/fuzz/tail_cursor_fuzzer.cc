// SPDX-License-Identifier: MIT
// Goal: no text makes the reader of a tail's cursor crash or take memory that is not there, and a cursor that it
// accepts is written and read again the same. Method: the input as a token; and as the body of one, with the CRC that a
// fuzzer cannot guess.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "query/tail/tail_cursor.h"

using namespace tracker::internal;

namespace {

std::string token_of(std::string_view body) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const uint32_t crc = crc32c(body);
  std::string bytes(body);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  std::string out = "t1.";
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](size_t i) { return at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u; };
    const uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    const size_t digits = bytes.size() - at >= 3 ? 4 : bytes.size() - at + 1;
    for (size_t i = 0; i < digits; ++i) out.push_back(kDigits[group >> (18 - 6 * i) & 63]);
  }
  return out;
}

void check(std::string_view token) {
  const auto cursor = TailCursor::parse(token);
  if (!cursor.ok()) {
    if (cursor.status().message().empty()) std::abort();
    return;
  }
  const auto again = TailCursor::parse(cursor->token());
  if (!again.ok() || !(*again == *cursor)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(input);
  check(token_of(input));
  return 0;
}
