// SPDX-License-Identifier: MIT
// Goal: no bytes in a spill file make recovery crash. Method: the first 8 bytes are the nonce it is read under.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "journal/spill.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t nonce = 0;
  if (size < sizeof nonce) return 0;
  std::memcpy(&nonce, data, sizeof nonce);
  (void)parse_spill({reinterpret_cast<const char*>(data) + sizeof nonce, size - sizeof nonce}, nonce);
  return 0;
}
