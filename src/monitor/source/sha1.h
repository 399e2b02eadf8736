// SPDX-License-Identifier: MIT
// SHA-1 (RFC 3174), for comparing a file with what git's index says of it; for nothing that must resist an attacker.
// Threads: values. Cost: some 3 ns a byte.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tracker::internal {

using Sha1Digest = std::array<uint8_t, 20>;

class Sha1 {
 public:
  void add(std::string_view bytes);
  Sha1Digest finish();

 private:
  void block(const uint8_t* bytes);
  std::array<uint32_t, 5> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<uint8_t, 64> waiting_{};
  uint64_t bytes_ = 0;
};

}  // namespace tracker::internal
