// SPDX-License-Identifier: MIT
#include "exchange/wire.h"

#include <cstring>

namespace tracker::internal {
namespace {

void append_varint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void append_tag(uint32_t field, WireType type, std::string* out) {
  append_varint(uint64_t{field} << 3 | static_cast<uint64_t>(type), out);
}

}  // namespace

bool WireReader::varint(uint64_t* value) {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == in_.size()) return fail();
    const auto byte = static_cast<uint8_t>(in_[at_++]);
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = out;
      return true;
    }
  }
  return fail();
}

bool WireReader::next(WireField* field) {
  if (at_ == in_.size()) return false;
  uint64_t tag = 0;
  if (!varint(&tag)) return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  field->type = static_cast<WireType>(tag & 7);
  field->value = 0;
  field->bytes = {};
  if (field->number == 0 || tag >> 3 > 0x1fffffff) return fail();
  uint64_t size = 0;
  switch (field->type) {
    case WireType::kVarint: return varint(&field->value);
    case WireType::kFixed64: size = 8; break;
    case WireType::kFixed32: size = 4; break;
    case WireType::kBytes:
      if (!varint(&size)) return false;
      break;
    default: return fail();
  }
  if (size > in_.size() - at_) return fail();
  if (field->type == WireType::kBytes) field->bytes = in_.substr(at_, size);
  else std::memcpy(&field->value, in_.data() + at_, size);
  at_ += size;
  return true;
}

void wire_varint(uint32_t field, uint64_t value, std::string* out) {
  append_tag(field, WireType::kVarint, out);
  append_varint(value, out);
}

void wire_fixed32(uint32_t field, uint32_t bits, std::string* out) {
  append_tag(field, WireType::kFixed32, out);
  out->append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

void wire_fixed64(uint32_t field, uint64_t bits, std::string* out) {
  append_tag(field, WireType::kFixed64, out);
  out->append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

void wire_bytes(uint32_t field, std::string_view bytes, std::string* out) {
  append_tag(field, WireType::kBytes, out);
  append_varint(bytes.size(), out);
  out->append(bytes);
}

}  // namespace tracker::internal
