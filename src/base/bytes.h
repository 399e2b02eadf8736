// SPDX-License-Identifier: MIT
// Little-endian byte coding: ByteWriter appends to a string, ByteReader reads a span and can never run past it.
// A ByteReader that met a short or wrong input stays failed and returns zeros; check ok() once at the end,
// and before any size read from it is used for an allocation. Threads: values, no sharing.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace tracker::internal {

static_assert(std::endian::native == std::endian::little, "formats are little-endian; a port needs byte swaps here");

class ByteWriter {
 public:
  template <typename T>
  void fixed(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void u8(uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u16(uint16_t v) { fixed(v); }
  void u32(uint32_t v) { fixed(v); }
  void u64(uint64_t v) { fixed(v); }
  void i64(int64_t v) { fixed(v); }
  void varint(uint64_t v);  // LEB128
  void zigzag(int64_t v) { varint((static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63)); }
  void bytes(std::string_view v) { out_.append(v); }
  void sized(std::string_view v) {
    varint(v.size());
    out_.append(v);
  }  // varint length, then the bytes
  size_t size() const { return out_.size(); }
  void patch_u32(size_t at, uint32_t v) { std::memcpy(out_.data() + at, &v, sizeof v); }
  std::string& buffer() { return out_; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  template <typename T>
  T fixed() {
    T value{};
    if (in_.size() - at_ < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, in_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint8_t u8() { return fixed<uint8_t>(); }
  uint16_t u16() { return fixed<uint16_t>(); }
  uint32_t u32() { return fixed<uint32_t>(); }
  uint64_t u64() { return fixed<uint64_t>(); }
  int64_t i64() { return fixed<int64_t>(); }
  uint64_t varint();
  int64_t zigzag() {
    const uint64_t v = varint();
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }
  std::string_view bytes(size_t n);
  std::string_view sized() { return bytes(varint()); }

  bool ok() const { return ok_; }
  bool at_end() const { return at_ == in_.size(); }
  size_t offset() const { return at_; }
  size_t remaining() const { return in_.size() - at_; }
  void fail() {
    if (ok_) {
      ok_ = false;
      failed_at_ = at_;
    }
    at_ = in_.size();
  }
  size_t failed_at() const { return ok_ ? at_ : failed_at_; }

 private:
  std::string_view in_;
  size_t at_ = 0;
  size_t failed_at_ = 0;
  bool ok_ = true;
};

}  // namespace tracker::internal
