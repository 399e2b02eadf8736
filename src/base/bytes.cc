// SPDX-License-Identifier: MIT
#include "base/bytes.h"

namespace tracker::internal {

void ByteWriter::varint(uint64_t v) {
  while (v >= 0x80) {
    out_.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out_.push_back(static_cast<char>(v));
}

uint64_t ByteReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = u8();
    if (!ok_) return 0;
    if (shift == 63 && byte > 1) break;  // more than 64 bits
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail();
  return 0;
}

std::string_view ByteReader::bytes(size_t n) {
  if (in_.size() - at_ < n) {
    fail();
    return {};
  }
  const std::string_view out = in_.substr(at_, n);
  at_ += n;
  return out;
}

}  // namespace tracker::internal
