// SPDX-License-Identifier: MIT
// Goal: no bytes in a definitions file make recovery crash; series ids it gives are in order. Method: the input as the
// file; and as bodies of its records (u16 length each) after a valid identity, with the CRCs that a fuzzer cannot
// guess.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "journal/ring/definitions.h"

using namespace tracker::internal;

namespace {

void check_order(const Definitions& definitions) {
  uint32_t last = 0;
  for (const SeriesDef& series : definitions.series) {
    if (series.id <= last) std::abort();
    last = series.id;
  }
}

void check(std::string_view bytes) {
  check_order(salvage_definitions(bytes, WriterIdentity()));
  const auto definitions = parse_definitions(bytes);
  if (!definitions.ok()) return;
  check_order(*definitions);
  const auto again = WriterIdentity::from_value(definitions->identity.to_value());
  if (!again.ok() || again->writer != definitions->identity.writer) std::abort();
}

void put(std::string_view body, ByteWriter* out) {
  out->u32(static_cast<uint32_t>(body.size()));
  out->u32(crc32c(body));
  out->bytes(body);
}

std::string file_of(std::string_view input) {
  WriterIdentity identity;
  identity.writer = Id128::hash_of("writer");
  identity.run = {Id128::hash_of("run"), "project", "label", 1'700'000'000'000'000};
  ByteWriter out;
  out.bytes(kDefinitionsMagic);
  put("\x01" + encode_cbor(identity.to_value()), &out);
  ByteReader in(input);
  while (!in.at_end()) {
    const size_t size = in.u16();
    put(in.bytes(std::min(size, in.remaining())), &out);
  }
  return out.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(input);
  check(file_of(input));
  return 0;
}
