// SPDX-License-Identifier: MIT
// Goal: records and values of event files as TensorBoard writes them. Method: bytes taken from the format's definition,
// and records damaged byte by byte.
#include "exchange/event_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "exchange/wire.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

TEST(EventFileTest, TheMaskedCrcIsThatOfTheFormat) {
  EXPECT_EQ(masked_crc32c(std::string(8, '\0')),
            0x07980329u);  // CRC-32C 0x8c28b28a, rotated by 15 bits, plus 0xa282ead8
}

TEST(EventFileTest, AnyDamagedByteIsFoundAndNoRecordIsTakenTwice) {
  TempFolder folder;
  const std::string path = folder.path() + "/events";
  std::string whole;
  for (int i = 0; i < 4; ++i) append_event_record("record " + std::to_string(i), &whole);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] ^= 0x40;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    auto file = EventFile::open(path);
    ASSERT_TRUE(file.ok());
    int records = 0, problems = 0;
    for (std::string_view record; problems < 5;) {
      auto got = file->next(&record);
      if (got.ok() && !*got) break;
      if (got.ok()) ++records;
      else ++problems;
    }
    EXPECT_EQ(problems, 1) << at;
    EXPECT_LE(records, 3) << at;
    EXPECT_GE(records, static_cast<int>(at / (whole.size() / 4))) << at;
  }
}

TEST(EventFileTest, ATensorOfSeveralElementsIsNoScalar) {
  std::string tensor, shape, dim, value;
  wire_varint(1, 3, &dim);
  wire_bytes(2, dim, &shape);
  wire_varint(1, 1, &tensor);
  wire_bytes(2, shape, &tensor);
  wire_bytes(4, std::string(12, '\0'), &tensor);
  wire_bytes(1, "tag", &value);
  wire_bytes(8, tensor, &value);
  EventValue out;
  ASSERT_TRUE(read_event_value(value, &out));
  EXPECT_FALSE(out.has_number);
}

TEST(EventFileTest, ANegativeInt32StaysNegative) {
  std::string tensor, value;
  wire_varint(1, 3, &tensor);
  wire_varint(7, static_cast<uint64_t>(int64_t{-5}), &tensor);
  wire_bytes(1, "tag", &value);
  wire_bytes(8, tensor, &value);
  EventValue out;
  ASSERT_TRUE(read_event_value(value, &out));
  ASSERT_TRUE(out.has_number);
  EXPECT_EQ(out.type, ValueType::kInt64);
  EXPECT_EQ(out.bits, bits_of(int64_t{-5}));
}

}  // namespace
}  // namespace tracker::internal
