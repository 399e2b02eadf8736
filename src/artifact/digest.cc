// SPDX-License-Identifier: MIT
// OpenSSL 3 deprecates the functions without a context; their successors add 3.8 MB of providers and 6 ms of start.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "artifact/digest.h"

#include <openssl/sha.h>

namespace tracker::internal {
namespace {

constexpr char kHexLetters[] = "0123456789abcdef";

}  // namespace

std::optional<Digest> Digest::from_hex(std::string_view hex) {
  Digest out;
  if (hex.size() != out.bytes.size() * 2) return std::nullopt;
  for (size_t i = 0; i < hex.size(); ++i) {
    const char* at = hex[i] == '\0' ? nullptr : std::strchr(kHexLetters, hex[i]);
    if (at == nullptr) return std::nullopt;
    out.bytes[i / 2] = static_cast<uint8_t>(out.bytes[i / 2] << 4 | (at - kHexLetters));
  }
  return out;
}

std::string Digest::hex() const {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    out += kHexLetters[byte >> 4];
    out += kHexLetters[byte & 15];
  }
  return out;
}

Sha256::Sha256() { begin(); }

void Sha256::begin() {
  static_assert(sizeof(SHA256_CTX) <= sizeof(state_));
  SHA256_Init(reinterpret_cast<SHA256_CTX*>(state_.data()));
}

void Sha256::update(std::string_view data) {
  SHA256_Update(reinterpret_cast<SHA256_CTX*>(state_.data()), data.data(), data.size());
}

Digest Sha256::finish() {
  Digest out;
  SHA256_Final(out.bytes.data(), reinterpret_cast<SHA256_CTX*>(state_.data()));
  begin();
  return out;
}

}  // namespace tracker::internal
