// SPDX-License-Identifier: MIT
// Goal: no bytes make the CBOR or JSON decoder crash, and an accepted document survives being written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/value.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto value = decode_cbor(bytes);
  if (value.ok()) {
    auto again = decode_cbor(encode_cbor(*value));
    if (!again.ok() || !(*again == *value)) std::abort();
    // Whatever a document holds, what is shown of it is JSON.
    if (!from_json(to_json(*value)).ok()) std::abort();
    (void)to_display(*value);
  }
  (void)from_json(bytes);
  return 0;
}
