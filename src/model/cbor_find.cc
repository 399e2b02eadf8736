// SPDX-License-Identifier: MIT
#include "model/cbor_find.h"

#include <cstdint>

#include "base/bytes.h"
#include "model/value.h"

namespace tracker::internal {
namespace {

enum MajorType : uint8_t {
  kMajorUnsigned = 0,
  kMajorNegative = 1,
  kMajorText = 3,
  kMajorArray = 4,
  kMajorMap = 5,
  kMajorSimple = 7
};

struct Head {
  uint8_t major = 0;
  uint64_t argument = 0;
};

Head read_head(ByteReader* in) {
  const uint8_t first = in->u8();
  const uint8_t low = first & 31;
  Head head{static_cast<uint8_t>(first >> 5), low};
  if (low < 24) return head;
  if (low > 27) in->fail();
  head.argument = 0;
  for (int i = 0; in->ok() && i < 1 << (low - 24); ++i) head.argument = head.argument << 8 | in->u8();
  return head;
}

// Passes over the elements that `count` says, each at least a byte, so that a wrong count ends at the end of the bytes.
void skip(ByteReader* in, int depth) {
  const Head head = read_head(in);
  if (depth > kValueDepthMax) in->fail();
  if (head.major == kMajorText) in->bytes(head.argument);
  if (head.major != kMajorArray && head.major != kMajorMap) return;
  const uint64_t per_entry = head.major == kMajorMap ? 2 : 1;
  for (uint64_t i = 0; i < head.argument && in->ok(); ++i)
    for (uint64_t part = 0; part < per_entry && in->ok(); ++part) skip(in, depth + 1);
}

std::optional<std::string_view> value_at(std::string_view cbor, ByteReader* in) {
  const size_t begin = in->offset();
  skip(in, 0);
  if (!in->ok()) return std::nullopt;
  return cbor.substr(begin, in->offset() - begin);
}

}  // namespace

std::optional<std::string_view> cbor_entry(std::string_view cbor, std::string_view key) {
  ByteReader in(cbor);
  const Head map = read_head(&in);
  if (map.major != kMajorMap) return std::nullopt;
  for (uint64_t i = 0; i < map.argument && in.ok(); ++i) {
    const Head name = read_head(&in);
    if (name.major != kMajorText) return std::nullopt;
    if (in.bytes(name.argument) == key && in.ok()) return value_at(cbor, &in);
    skip(&in, 0);
  }
  return std::nullopt;
}

std::optional<std::string_view> cbor_path(std::string_view cbor, std::string_view path) {
  // As Value::find_path(): a key may hold a slash itself, and the whole wins over its parts.
  for (;;) {
    if (auto whole = cbor_entry(cbor, path)) return whole;
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto head = cbor_entry(cbor, path.substr(0, slash));
    if (!head) return std::nullopt;
    cbor = *head;
    path.remove_prefix(slash + 1);
  }
}

std::optional<std::string_view> cbor_element(std::string_view cbor, size_t index) {
  ByteReader in(cbor);
  const Head list = read_head(&in);
  if (list.major != kMajorArray || index >= list.argument) return std::nullopt;
  for (size_t i = 0; i < index; ++i) skip(&in, 0);
  return value_at(cbor, &in);
}

}  // namespace tracker::internal
