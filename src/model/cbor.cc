// SPDX-License-Identifier: MIT
// The subset of CBOR (RFC 8949) that Value needs: definite lengths, text keys, no tags. Integers are read in any width
// up to int64, floats as 2, 4 or 8 bytes; written as shortest integers and 8-byte floats.
#include <fmt/format.h>

#include "base/bytes.h"
#include "model/number.h"
#include "model/value.h"

namespace tracker::internal {
namespace {

enum Major : uint8_t { kUnsigned = 0, kNegative = 1, kBytes = 2, kText = 3, kArray = 4, kMap = 5, kSimple = 7 };

void put_big_endian(ByteWriter& out, uint64_t v, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.u8(static_cast<uint8_t>(v >> (8 * i)));
}

void put_head(ByteWriter& out, Major major, uint64_t argument) {
  const auto top = static_cast<uint8_t>(major << 5);
  if (argument < 24) return out.u8(static_cast<uint8_t>(top | argument));
  const int bytes = argument <= 0xff ? 1 : argument <= 0xffff ? 2 : argument <= 0xffffffff ? 4 : 8;
  out.u8(static_cast<uint8_t>(top | (bytes == 1 ? 24 : bytes == 2 ? 25 : bytes == 4 ? 26 : 27)));
  put_big_endian(out, argument, bytes);
}

void put(ByteWriter& out, const Value& value) {
  if (const bool* v = value.as_bool()) return out.u8(*v ? 0xf5 : 0xf4);
  if (const int64_t* v = value.as_int())
    return *v >= 0 ? put_head(out, kUnsigned, static_cast<uint64_t>(*v))
                   : put_head(out, kNegative, ~static_cast<uint64_t>(*v));
  if (const double* v = value.as_double()) {
    out.u8(0xfb);
    return put_big_endian(out, bits_of(*v), 8);
  }
  if (const std::string* v = value.as_text()) {
    put_head(out, kText, v->size());
    return out.bytes(*v);
  }
  if (const Value::List* list = value.as_list()) {
    put_head(out, kArray, list->size());
    for (const Value& item : *list) put(out, item);
    return;
  }
  if (const Value::Map* map = value.as_map()) {
    put_head(out, kMap, map->size());
    for (const auto& [name, item] : *map) {
      put_head(out, kText, name.size());
      out.bytes(name);
      put(out, item);
    }
    return;
  }
  out.u8(0xf6);
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : in_(bytes) {}

  Result<Value> run() {
    Value value = item(0);
    if (!in_.ok()) return Status(Code::kCorrupt, fmt::format("CBOR: bad input at byte {}", in_.failed_at()));
    if (!in_.at_end()) return Status(Code::kCorrupt, fmt::format("CBOR: {} bytes too many", in_.remaining()));
    return value;
  }

 private:
  uint64_t big_endian(int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; ++i) v = v << 8 | in_.u8();
    return v;
  }
  uint64_t argument(uint8_t low) {
    if (low < 24) return low;
    if (low > 27) in_.fail();  // reserved, or an indefinite length
    return in_.ok() ? big_endian(1 << (low - 24)) : 0;
  }
  std::string text(uint64_t size) { return std::string(in_.bytes(size)); }

  Value item(int depth) {
    const uint8_t head = in_.u8();
    const uint8_t low = head & 31;
    if (!in_.ok() || depth > kValueDepthMax) {
      in_.fail();
      return nullptr;
    }
    switch (head >> 5) {
      case kUnsigned: {
        const uint64_t v = argument(low);
        if (v > INT64_MAX) return static_cast<double>(v);
        return static_cast<int64_t>(v);
      }
      case kNegative: {
        const uint64_t v = argument(low);
        if (v > INT64_MAX) return -1.0 - static_cast<double>(v);
        return static_cast<int64_t>(~v);
      }
      case kText: return text(argument(low));
      case kArray: return list(argument(low), depth);
      case kMap: return map(argument(low), depth);
      case kSimple: return simple(low);
      default: in_.fail(); return nullptr;
    }
  }

  // Every element takes at least one byte (two in a map), so a count beyond what is left is a lie: nothing is reserved
  // for it.
  Value list(uint64_t count, int depth) {
    Value::List out;
    if (count > in_.remaining()) in_.fail();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) out.push_back(item(depth + 1));
    return out;
  }

  Value map(uint64_t count, int depth) {
    Value::Map out;
    if (count > in_.remaining() / 2) in_.fail();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) {
      const uint8_t head = in_.u8();
      if (head >> 5 != kText) in_.fail();
      std::string name = in_.ok() ? text(argument(head & 31)) : std::string();
      Value value = in_.ok() ? item(depth + 1) : Value();
      out.emplace_back(std::move(name), std::move(value));
    }
    return out;
  }

  Value simple(uint8_t low) {
    switch (low) {
      case 20: return false;
      case 21: return true;
      case 22:
      case 23: return nullptr;
      case 25: return to_double(ValueType::kFloat16, big_endian(2));
      case 26: return to_double(ValueType::kFloat32, big_endian(4));
      case 27: return std::bit_cast<double>(big_endian(8));
      default: in_.fail(); return nullptr;
    }
  }

  ByteReader in_;
};

}  // namespace

std::string encode_cbor(const Value& value) {
  ByteWriter out;
  put(out, value);
  return out.take();
}

Result<Value> decode_cbor(std::string_view bytes) { return Decoder(bytes).run(); }

}  // namespace tracker::internal
