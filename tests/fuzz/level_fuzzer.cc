// SPDX-License-Identifier: MIT
// Goal: no bytes make the decoder of levels read out of bounds, hang or allocate without bound; a level that it accepts
// is written again unchanged, and so are the wider cells made of it. Method: the input lacks the CRC, which a fuzzer
// cannot guess; the right one is appended.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/level.h"

using namespace tracker::internal;

namespace {

void expect(bool so) {
  if (!so) std::abort();
}

void check_again(const Level& level) {
  const auto again = decode_level(encode_level(level));
  expect(again.ok() && *again == level);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)decode_level(input).ok();
  ByteWriter with_crc;
  with_crc.bytes(input);
  with_crc.u32(crc32c(input));
  const std::string bytes = with_crc.take();
  const auto head = decode_level_head(bytes);
  const auto level = decode_level(bytes);
  if (!level.ok()) return 0;
  expect(head.ok() && *head == *level);
  expect(level->axis == static_cast<LevelAxis>(input[0]));
  check_again(*level);
  const Level wider = coarser_level(*level, std::min(level->shift + 1, kLevelShiftMax));
  expect(wider.rows == level->rows && wider.cells() <= level->cells());
  check_again(wider);
  return 0;
}
