// SPDX-License-Identifier: MIT
// Goal: no bytes in a spill file make recovery crash. Method: the first 8 bytes are the nonce it is read under, the
// rest is the file; and, with the CRC that a fuzzer cannot guess, the body of its one record.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/frame.h"
#include "journal/ring/spill.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t nonce = 0;
  if (size < sizeof nonce) return 0;
  std::memcpy(&nonce, data, sizeof nonce);
  const std::string_view rest(reinterpret_cast<const char*>(data) + sizeof nonce, size - sizeof nonce);
  (void)parse_spill(rest, nonce);
  ByteWriter file;
  file.bytes("TJS1");
  file.u32(static_cast<uint32_t>(rest.size()));
  file.u32(crc32c(rest, crc32c({reinterpret_cast<const char*>(&nonce), sizeof nonce})));
  file.u32(0);
  file.bytes(rest);
  for (const FrameRecord& record : parse_spill(file.buffer(), nonce).frames) (void)decode_frame(record.bytes);
  return 0;
}
