// SPDX-License-Identifier: MIT
// The wire format of protocol buffers, field by field, for the few public messages that importers and exporters need. A
// reader never runs past its bytes; after an error it stays failed. Threads: values. Cost: no allocation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tracker::internal {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // of a varint, or the raw bits of a fixed one
  std::string_view bytes;  // of kBytes
  bool is(uint32_t n, WireType t) const { return number == n && type == t; }
};

class WireReader {
 public:
  explicit WireReader(std::string_view in) : in_(in) {}
  // Returns false at the end, and if the bytes are not a message; ok() distinguishes them.
  bool next(WireField* field);
  bool ok() const { return ok_; }
  // One varint, for packed fields.
  bool varint(uint64_t* value);
  bool at_end() const { return at_ == in_.size(); }

 private:
  bool fail() {
    ok_ = false;
    at_ = in_.size();
    return false;
  }
  std::string_view in_;
  size_t at_ = 0;
  bool ok_ = true;
};

void wire_varint(uint32_t field, uint64_t value, std::string* out);
void wire_fixed32(uint32_t field, uint32_t bits, std::string* out);
void wire_fixed64(uint32_t field, uint64_t bits, std::string* out);
void wire_bytes(uint32_t field, std::string_view bytes, std::string* out);

}  // namespace tracker::internal
