// SPDX-License-Identifier: MIT
// Goal: no bytes make the parser of batches read out of bounds, hang or allocate without bound, and what it finds sound
// says the same when it is written again. Method: the input, once more with the size and the CRC that a fuzzer cannot
// guess.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "storage/writer/batch.h"

using namespace tracker::internal;

namespace {

constexpr size_t kSizeAt = 8, kHeaderBytes = 12, kCrcBytes = 4;

void parse(std::string_view bytes) {
  const auto batch = parse_batch(bytes);
  if (!batch.ok()) return;
  const std::string again = encode_batch(*batch);
  const auto second = parse_batch(again);
  if (!second.ok() || second->units.size() != batch->units.size()) std::abort();
  if (encode_batch(*second) != again) std::abort();
}

std::string repaired(std::string_view input) {
  ByteWriter out;
  out.bytes(input.substr(0, input.size() - kCrcBytes));
  out.patch_u32(kSizeAt, static_cast<uint32_t>(input.size()));
  out.u32(crc32c(out.buffer()));
  return out.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  parse(input);
  if (size >= kHeaderBytes + kCrcBytes) parse(repaired(input));
  return 0;
}
