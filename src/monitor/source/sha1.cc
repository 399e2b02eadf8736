// SPDX-License-Identifier: MIT
#include "monitor/source/sha1.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tracker::internal {

void Sha1::block(const uint8_t* bytes) {
  uint32_t w[80];
  for (size_t t = 0; t < 16; ++t)
    w[t] = uint32_t{bytes[4 * t]} << 24 | uint32_t{bytes[4 * t + 1]} << 16 | uint32_t{bytes[4 * t + 2]} << 8 |
           uint32_t{bytes[4 * t + 3]};
  for (size_t t = 16; t < 80; ++t) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  auto [a, b, c, d, e] = state_;
  for (size_t t = 0; t < 80; ++t) {
    uint32_t f = b ^ c ^ d, k = t < 40 ? 0x6ed9eba1 : 0xca62c1d6;
    if (t < 20) f = (b & c) | (~b & d), k = 0x5a827999;
    else if (t >= 40 && t < 60) f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
    const uint32_t next = std::rotl(a, 5) + f + e + k + w[t];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  state_[0] += a, state_[1] += b, state_[2] += c, state_[3] += d, state_[4] += e;
}

void Sha1::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t held = bytes_ % waiting_.size();
    const size_t n = std::min(bytes.size(), waiting_.size() - held);
    std::memcpy(waiting_.data() + held, bytes.data(), n);
    bytes_ += n;
    bytes.remove_prefix(n);
    if (held + n == waiting_.size()) block(waiting_.data());
  }
}

Sha1Digest Sha1::finish() {
  const uint64_t bits = bytes_ * 8;
  add(std::string_view("\x80", 1));
  while (bytes_ % waiting_.size() != 56) add(std::string_view("\0", 1));
  char length[8];
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
  add({length, sizeof length});
  Sha1Digest out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
  return out;
}

}  // namespace tracker::internal
