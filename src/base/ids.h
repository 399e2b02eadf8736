// SPDX-License-Identifier: MIT
// 128-bit random identifiers (run uid, writer id, store id), written as 32 lower-case hex digits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tracker::internal {

struct Id128 {
  std::array<uint8_t, 16> bytes{};

  // From getrandom(2). Never all zero.
  static Id128 random();
  static std::optional<Id128> from_hex(std::string_view hex);
  // The first 128 bits of a deterministic hash of `text` (shared runs of one launch, design 5).
  static Id128 hash_of(std::string_view text);

  bool is_zero() const { return *this == Id128{}; }
  std::string hex() const;
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  auto operator<=>(const Id128&) const = default;
};

uint64_t random_u64();

// A pronounceable label such as "brisk-otter-417" for runs without a name.
std::string random_label();

}  // namespace tracker::internal
