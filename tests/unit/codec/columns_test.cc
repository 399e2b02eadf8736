// SPDX-License-Identifier: MIT
// Columns: every value of every type comes back bit for bit, and the cheap encodings are used where they save space.
// Method: chosen corner values, random columns of every behaviour, and bytes no encoder made.
#include "codec/columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/random_frame.h"

namespace tracker::internal {
namespace {

constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kIntMax = std::numeric_limits<int64_t>::max();

std::string encode_ints(const std::vector<int64_t>& values) {
  std::string out;
  encode_int_column(values, &out);
  return out;
}

std::vector<int64_t> decode_ints(const std::string& column, size_t rows) {
  std::vector<int64_t> out;
  EXPECT_TRUE(decode_int_column(column, rows, &out).ok());
  return out;
}

TEST(ColumnsTest, IntegersAtTheirLimitsComeBack) {
  for (const std::vector<int64_t>& values : {std::vector<int64_t>{},
                                             {0},
                                             {-1},
                                             {kIntMin},
                                             {kIntMax},
                                             {kIntMin, kIntMax, kIntMin},
                                             {kIntMax, kIntMax, kIntMax},
                                             {kIntMin, 0, kIntMax},
                                             {5, 3, 1, -1},
                                             {kIntMax - 1, kIntMax, kIntMin},
                                             {7, 7, 8}})
    EXPECT_EQ(decode_ints(encode_ints(values), values.size()), values);
}

TEST(ColumnsTest, AnArithmeticSequenceTakesSeventeenBytes) {
  std::vector<int64_t> steps(100'000);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<int64_t>(10 * i);
  const std::string column = encode_ints(steps);
  EXPECT_EQ(column.size(), 17u);
  EXPECT_EQ(decode_ints(column, steps.size()), steps);
}

TEST(ColumnsTest, UnevenTimesTakeTwoBytesARow) {
  std::vector<int64_t> times;
  for (int64_t i = 0; i < 10'000; ++i) times.push_back(1'700'000'000'000'000 + i * 1000 + (i * 7919) % 100);
  const std::string column = encode_ints(times);
  EXPECT_LT(column.size(), 2 * times.size() + 20);
  EXPECT_EQ(decode_ints(column, times.size()), times);
}

TEST(ColumnsTest, NoiseIsNeverLargerThanPlain) {
  auto random = seeded_random();
  std::vector<int64_t> values(1000);
  for (int64_t& v : values) v = static_cast<int64_t>(random());
  EXPECT_EQ(encode_ints(values).size(), 1 + 8 * values.size());
}

TEST(ColumnsTest, OneNumberTakesFewBytes) {
  EXPECT_LE(encode_ints({42}).size(), 2u);
  EXPECT_LE(encode_ints({42, 43}).size(), 3u);
}

TEST(ColumnsTest, AConstantTakesItsWidthAndAByte) {
  for (const ValueType type :
       {ValueType::kFloat64, ValueType::kFloat32, ValueType::kFloat16, ValueType::kBFloat16, ValueType::kBool}) {
    std::string out;
    encode_value_column(std::vector<uint64_t>(50, 1), type, &out);
    EXPECT_EQ(out.size(), 1 + value_width(type)) << value_type_name(type);
  }
}

TEST(ColumnsTest, NanPayloadsInfinitiesAndMinusZeroKeepEveryBit) {
  const std::vector<uint64_t> bits = {bits_of(std::nan("")), 0x7ff0000000000001, 0xfff8dead0000beef, bits_of(-0.0),
                                      bits_of(0.0),          bits_of(HUGE_VAL),  bits_of(-HUGE_VAL), 1,
                                      0x8000000000000001};
  std::string out;
  encode_value_column(bits, ValueType::kFloat64, &out);
  std::vector<uint64_t> back;
  ASSERT_TRUE(decode_value_column(out, bits.size(), ValueType::kFloat64, &back).ok());
  EXPECT_EQ(back, bits);
}

TEST(ColumnsTest, RandomColumnsOfEveryTypeComeBack) {
  auto random = seeded_random();
  for (int round = 0; round < 3000; ++round) {
    const auto type = static_cast<ValueType>(1 + random() % 6);
    std::vector<uint64_t> bits = random_column(random, random() % 300);
    for (uint64_t& v : bits) v &= width_mask(type);
    std::string out;
    encode_value_column(bits, type, &out);
    std::vector<uint64_t> back;
    ASSERT_TRUE(decode_value_column(out, bits.size(), type, &back).ok());
    ASSERT_EQ(back, bits) << value_type_name(type);
  }
}

TEST(ColumnsTest, DecodingAppends) {
  std::vector<int64_t> out = {1};
  ASSERT_TRUE(decode_int_column(encode_ints({2, 3}), 2, &out).ok());
  EXPECT_EQ(out, (std::vector<int64_t>{1, 2, 3}));
}

TEST(ColumnsTest, WrongLengthsAreCorrupt) {
  std::vector<int64_t> ints;
  std::vector<uint64_t> bits;
  EXPECT_EQ(decode_int_column("", 0, &ints).code(), Code::kCorrupt);
  EXPECT_EQ(decode_int_column(std::string(8, '\0'), 1, &ints).code(), Code::kCorrupt);  // plain, 7 bytes
  EXPECT_EQ(decode_int_column(std::string(9, '\0'), 2, &ints).code(), Code::kCorrupt);  // one value for two rows
  EXPECT_EQ(decode_int_column("\x03\x80", 1, &ints).code(), Code::kCorrupt);            // a cut varint
  EXPECT_EQ(decode_int_column("\x03\x01\x01", 1, &ints).code(), Code::kCorrupt);        // a delta too many
  EXPECT_EQ(decode_int_column("\x03\x01", 1u << 30, &ints).code(), Code::kCorrupt);     // before memory is taken
  EXPECT_EQ(decode_value_column("\x01zz", 4, ValueType::kFloat32, &bits).code(), Code::kCorrupt);
  // Floats have no deltas.
  EXPECT_EQ(decode_value_column("\x03\x01", 1, ValueType::kFloat64, &bits).code(), Code::kCorrupt);
}

TEST(ColumnsTest, AnEncodingThatIsNotInTheTableIsNotWrittenAndIsRefusedByName) {
  std::string out = "before";
  const std::vector<uint64_t> bits{1, 2, 3};
  EXPECT_FALSE(put_column(static_cast<ColumnEncoding>(10), bits, ValueType::kInt64, &out));
  EXPECT_FALSE(put_column(ColumnEncoding::kArithmetic, bits, ValueType::kFloat64, &out));  // of integers alone
  EXPECT_EQ(out, "before");
  std::vector<int64_t> values;
  const Status refused = decode_int_column(std::string("\x0azzzz"), 1, &values);
  EXPECT_EQ(refused.code(), Code::kVersion);
  EXPECT_NE(refused.message().find("column encoding 10"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace tracker::internal
