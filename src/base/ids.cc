// SPDX-License-Identifier: MIT
#include "base/ids.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <chrono>
#include <cstring>

namespace tracker::internal {
namespace {

void fill_random(void* out, size_t n) {
  if (::getrandom(out, n, 0) == static_cast<ssize_t>(n)) return;
  // getrandom may be forbidden (seccomp): an address and the clock still distinguish two processes.
  uint64_t mix = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
                 reinterpret_cast<uintptr_t>(&mix);
  auto* at = static_cast<uint8_t*>(out);
  for (size_t i = 0; i < n; ++i) {
    mix += 0x9e3779b97f4a7c15u;
    uint64_t z = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9u;
    at[i] = static_cast<uint8_t>(z >> 56);
  }
}

constexpr const char* kAdjectives[] = {
    "amber", "bold",  "brisk", "calm",  "clear", "crisp", "deep",   "eager", "early",  "fair",   "fleet",
    "fresh", "grand", "happy", "keen",  "kind",  "light", "lively", "loyal", "lucky",  "mellow", "merry",
    "neat",  "noble", "proud", "quick", "quiet", "rapid", "ready",  "sharp", "silver", "smart",  "solid",
    "still", "sunny", "swift", "tidy",  "true",  "vivid", "warm",   "wise",  "young"};
constexpr const char* kAnimals[] = {
    "adder",  "badger", "beaver", "bison", "crane", "curlew", "deer",   "dove",  "eagle", "egret", "falcon",
    "ferret", "finch",  "fox",    "gecko", "hare",  "hawk",   "heron",  "ibis",  "jay",   "koala", "lark",
    "lemur",  "lynx",   "marten", "mole",  "newt",  "orca",   "osprey", "otter", "owl",   "panda", "puffin",
    "raven",  "robin",  "salmon", "seal",  "stork", "swan",   "tapir",  "tern",  "vole",  "wren",  "zebra"};

}  // namespace

Id128 Id128::random() {
  Id128 id;
  do fill_random(id.bytes.data(), id.bytes.size());
  while (id.is_zero());
  return id;
}

uint64_t random_u64() {
  uint64_t v = 0;
  fill_random(&v, sizeof v);
  return v;
}

std::optional<Id128> Id128::from_hex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  Id128 id;
  for (size_t i = 0; i < 32; ++i) {
    const char c = hex[i];
    int digit = 0;
    if (c >= '0' && c <= '9') digit = c - '0';
    else if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    else return std::nullopt;
    id.bytes[i / 2] = static_cast<uint8_t>(id.bytes[i / 2] << 4 | digit);
  }
  return id;
}

Id128 Id128::hash_of(std::string_view text) {
  // Two FNV-1a hashes with different offsets, finalised: for identity within one store, not for cryptography.
  uint64_t h[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
  for (int k = 0; k < 2; ++k) {
    for (const char c : text) h[k] = (h[k] ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
    h[k] ^= h[k] >> 32;
    h[k] *= 0x9e3779b97f4a7c15u;
    h[k] ^= h[k] >> 29;
  }
  Id128 id;
  std::memcpy(id.bytes.data(), h, sizeof h);
  return id;
}

std::string Id128::hex() const {
  std::string out;
  for (const uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

std::string random_label() {
  const uint64_t r = random_u64();
  return fmt::format("{}-{}-{:03}", kAdjectives[r % std::size(kAdjectives)], kAnimals[(r >> 16) % std::size(kAnimals)],
                     (r >> 32) % 1000);
}

}  // namespace tracker::internal
