// SPDX-License-Identifier: MIT
// Goal: what ByteWriter writes, ByteReader reads back, and no input makes the reader run past its end.
// Method: round trips at the edges of each type, known bytes for the variable-length forms, every truncation of a
// record.
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace tracker::internal {
namespace {

constexpr std::array<uint64_t, 9> kVarintEdges = {
    0, 1, 127, 128, 16383, 16384, 0xffffffffu, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()};

TEST(BytesTest, FixedValuesAreLittleEndian) {
  ByteWriter out;
  out.u8(0x01);
  out.u16(0x2345);
  out.u32(0x6789abcd);
  out.u64(0x0102030405060708);
  EXPECT_EQ(out.buffer(), std::string("\x01\x45\x23\xcd\xab\x89\x67\x08\x07\x06\x05\x04\x03\x02\x01", 15));
}

TEST(BytesTest, VarintsRoundTripAtTheirEdges) {
  ByteWriter out;
  for (const uint64_t value : kVarintEdges) out.varint(value);
  ByteReader in(out.buffer());
  for (const uint64_t value : kVarintEdges) EXPECT_EQ(in.varint(), value);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

TEST(BytesTest, VarintsHaveTheBytesOfLeb128) {
  ByteWriter out;
  out.varint(300);
  EXPECT_EQ(out.buffer(), std::string("\xac\x02", 2));
}

TEST(BytesTest, ZigzagRoundTripsBothEndsOfInt64) {
  constexpr std::array<int64_t, 6> values = {
      0, -1, 1, -64, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  ByteWriter out;
  for (const int64_t value : values) out.zigzag(value);
  ByteReader in(out.buffer());
  for (const int64_t value : values) EXPECT_EQ(in.zigzag(), value);
  EXPECT_TRUE(in.ok() && in.at_end());
}

TEST(BytesTest, ZigzagKeepsSmallNegativeNumbersInOneByte) {
  ByteWriter out;
  out.zigzag(-64);
  EXPECT_EQ(out.size(), 1u);
}

TEST(BytesTest, DoublesKeepTheirBits) {
  const auto payload = std::bit_cast<double>(uint64_t{0x7ff4000000abcdef});  // a signalling NaN with a payload
  ByteWriter out;
  out.fixed(payload);
  out.fixed(-0.0);
  ByteReader in(out.buffer());
  EXPECT_EQ(std::bit_cast<uint64_t>(in.fixed<double>()), 0x7ff4000000abcdefu);
  EXPECT_EQ(std::bit_cast<uint64_t>(in.fixed<double>()), uint64_t{1} << 63);
}

TEST(BytesTest, PatchingALengthLeavesTheRestAlone) {
  ByteWriter out;
  out.u32(0);
  out.bytes("payload");
  out.patch_u32(0, 7);
  ByteReader in(out.buffer());
  EXPECT_EQ(in.u32(), 7u);
  EXPECT_EQ(in.bytes(7), "payload");
}

TEST(BytesTest, EveryTruncationOfARecordFailsAndStaysFailed) {
  ByteWriter out;
  out.u32(7);
  out.sized("name");
  out.varint(1u << 20);
  out.i64(-5);
  const std::string whole = out.take();
  for (size_t size = 0; size < whole.size(); ++size) {
    ByteReader in(std::string_view(whole).substr(0, size));
    in.u32();
    in.sized();
    in.varint();
    in.i64();
    EXPECT_FALSE(in.ok()) << size;
    EXPECT_EQ(in.u64(), 0u) << size;
    EXPECT_LE(in.failed_at(), size);
    EXPECT_TRUE(in.at_end()) << size;
  }
}

TEST(BytesTest, ALengthBeyondTheEndFailsInsteadOfWrapping) {
  ByteWriter out;
  out.varint(std::numeric_limits<uint64_t>::max());
  out.bytes("abc");
  ByteReader in(out.buffer());
  EXPECT_EQ(in.sized(), "");
  EXPECT_FALSE(in.ok());
}

TEST(BytesTest, AVarintOfMoreThan64BitsIsRefused) {
  const std::string too_long(11, '\xff');
  ByteReader eleven_bytes(too_long);
  eleven_bytes.varint();
  EXPECT_FALSE(eleven_bytes.ok());

  const std::string too_big = std::string(9, '\xff') + '\x02';
  ByteReader bit_64(too_big);
  bit_64.varint();
  EXPECT_FALSE(bit_64.ok());
}

TEST(BytesTest, TheFirstFailureIsTheOneReported) {
  ByteReader in(std::string_view("\x01\x02\x03", 3));
  in.u8();
  in.u64();
  in.u8();
  EXPECT_EQ(in.failed_at(), 1u);
}

}  // namespace
}  // namespace tracker::internal
