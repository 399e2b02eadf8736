// SPDX-License-Identifier: MIT
// Decimal columns: short decimals take about their digits, what else is among them keeps every bit, and bytes
// no encoder made are refused.
#include "codec/decimal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "base/bytes.h"
#include "codec/best_column.h"
#include "support/child.h"
#include "support/random_frame.h"

namespace tracker::internal {
namespace {

constexpr ValueType kType = ValueType::kFloat64;

std::string best(const std::vector<uint64_t>& bits) {
  std::string out;
  encode_best_column(bits, kType, &out);
  return out;
}

bool is_decimal(const std::string& column) { return column.at(0) == static_cast<char>(ColumnEncoding::kDecimal); }

void expect_back(const std::string& column, const std::vector<uint64_t>& bits) {
  std::vector<uint64_t> back;
  const Status status = decode_value_column(column, bits.size(), kType, &back);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(back == bits);
}

// Noise in [low, high) with so many digits after the point, as round() gives it.
std::vector<uint64_t> decimals(std::mt19937_64& random, double low, double high, int digits, size_t rows) {
  const double power = std::pow(10.0, digits);
  std::vector<uint64_t> out;
  for (size_t i = 0; i < rows; ++i) {
    const double value = low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
    out.push_back(bits_of(std::nearbyint(value * power) / power));
  }
  return out;
}

TEST(DecimalTest, ValuesRoundedToAFewDigitsTakeAboutTheirDigits) {
  auto random = seeded_random();
  for (int digits = 0; digits <= 6; ++digits) {
    const std::vector<uint64_t> bits = decimals(random, 0, 1000, digits, 20 * kMiniRows);
    const std::string column = best(bits);
    const double entropy = std::log2(1000) + digits * std::log2(10);
    EXPECT_LE(static_cast<double>(column.size() * 8), static_cast<double>(bits.size()) * (entropy + 1.1)) << digits;
    expect_back(column, bits);
  }
}

TEST(DecimalTest, AmongDecimalsEveryOtherValueKeepsItsBits) {
  auto random = seeded_random();
  std::vector<uint64_t> bits = decimals(random, -1, 1, 4, 4 * kMiniRows);
  const uint64_t others[] = {bits_of(-0.0),
                             bits_of(std::nan("")),
                             0x7ff0000000000001,
                             0xfff8dead0000beef,
                             bits_of(HUGE_VAL),
                             bits_of(-HUGE_VAL),
                             1,
                             0x8000000000000001,
                             bits_of(1e300),
                             bits_of(1.0 / 3),
                             bits_of(0x1p51),
                             bits_of(-0x1p53)};
  for (size_t i = 0; i < std::size(others); ++i) bits[i * 170 + 1] = others[i];
  bits[0] = others[1];
  bits.back() = others[2];
  const std::string column = best(bits);
  EXPECT_TRUE(is_decimal(column));
  EXPECT_LE(column.size(), bits.size() * 2 + 12 * std::size(others));
  expect_back(column, bits);
}

TEST(DecimalTest, PercentagesThatAreComputedFromDecimalsTakeTheSame) {
  auto random = seeded_random();
  const std::vector<uint64_t> bits = decimals(random, 0, 1, 4, 20 * kMiniRows);
  const size_t bytes = best(bits).size();
  for (const double factor : {100.0, 1000.0}) {
    std::vector<uint64_t> more;
    for (const uint64_t value : bits) more.push_back(bits_of(std::bit_cast<double>(value) * factor));
    const std::string column = best(more);
    EXPECT_LE(column.size(), bytes + 8) << factor;
    expect_back(column, more);
  }
}

// Whichever values a sample meets: segments of one metric take about the same.
TEST(DecimalTest, OtherValuesAmongDecimalsCostTheirBytesAndNoMore) {
  auto random = seeded_random();
  for (int percent = 1; percent <= 20; ++percent) {
    std::vector<uint64_t> bits = decimals(random, 0, 1, 4, 20 * kMiniRows);
    size_t others = 0;
    for (uint64_t& value : bits)
      if (random() % 100 < static_cast<uint64_t>(percent)) value = bits_of(std::nan("")), ++others;
    const std::string column = best(bits);
    EXPECT_TRUE(is_decimal(column)) << percent;
    EXPECT_LE(column.size(), bits.size() * 180 / 100 + others * 12) << percent;
    expect_back(column, bits);
  }
}

TEST(DecimalTest, WholeNumbersAtTheEndsOfTheirRangeComeBack) {
  for (int exponent = 0; exponent <= 15; ++exponent) {
    for (const double factor : {1.0, 100.0, 1000.0}) {
      const double power = std::pow(10.0, exponent);
      std::vector<uint64_t> bits;  // with enough others for this exponent and this factor to be chosen
      for (int i = 1; i <= 600; ++i) bits.push_back(bits_of((i * 7 + 1) / power * factor));
      for (const double end : {0x1p51, -0x1p51})
        for (int64_t off = -3; off <= 3; ++off) {
          const double value = (end + static_cast<double>(off)) / power * factor;
          for (const double near : {std::nextafter(value, -HUGE_VAL), value, std::nextafter(value, HUGE_VAL)})
            bits.push_back(bits_of(near));
        }
      expect_back(best(bits), bits);
    }
  }
}

TEST(DecimalTest, AThreadThatRoundsOtherwiseWritesAndReadsTheSame) {
  auto random = seeded_random();
  const std::vector<uint64_t> bits = decimals(random, 0, 1, 4, 3 * kMiniRows);
  const std::string column = best(bits);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    std::vector<uint64_t> back;
    const bool ok = decode_value_column(column, bits.size(), kType, &back).ok();
    const bool same = best(bits) == column;
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(ok && back == bits);
    EXPECT_TRUE(same);
    EXPECT_EQ(after, mode);
  }
}

TEST(DecimalTest, DecimalsThatRiseSteadilyTakeNextToNothing) {
  std::vector<uint64_t> bits;
  for (int i = 0; i < 10'000; ++i) bits.push_back(bits_of((i * 25 + 10) / 100.0));
  const std::string column = best(bits);
  EXPECT_LE(column.size(), 32u);
  expect_back(column, bits);
}

TEST(DecimalTest, NoiseThatIsNoDecimalIsNotOne) {
  auto random = seeded_random();
  std::vector<uint64_t> bits;
  for (int i = 0; i < 5'000; ++i) bits.push_back(bits_of(static_cast<double>(random() >> 11) * 0x1p-53));
  std::string out;
  EXPECT_FALSE(put_column(ColumnEncoding::kDecimal, bits, kType, &out));
  EXPECT_TRUE(out.empty());
}

// The choice is made on a sample.
TEST(DecimalTest, AColumnThatStopsBeingDecimalsComesBack) {
  auto random = seeded_random();
  std::vector<uint64_t> bits = decimals(random, 0, 1, 3, 64 * kMiniRows);
  for (size_t i = 100; i < bits.size(); i += 2)
    if (i % kMiniRows > 100) bits[i] = random();
  expect_back(best(bits), bits);
}

TEST(DecimalTest, ARangeThatWasCheckedIsThatOfTheWhole) {
  auto random = seeded_random();
  std::vector<uint64_t> bits = decimals(random, 0, 100, 2, 1300);
  for (size_t i = 0; i < bits.size(); i += 37) bits[i] = random();
  std::string column;
  ASSERT_TRUE(put_column(ColumnEncoding::kDecimal, bits, kType, &column));
  for (int round = 0; round < 300; ++round) {
    const size_t begin = random() % bits.size(), end = begin + random() % (bits.size() - begin + 1);
    std::vector<uint64_t> part(end - begin);
    ASSERT_TRUE(decode_rows(column, bits.size(), kType, {begin, end}, part.data(), true).ok());
    ASSERT_TRUE(std::equal(part.begin(), part.end(), bits.begin() + static_cast<std::ptrdiff_t>(begin)));
  }
}

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

// docs/formats/segment.md, "A worked example".
TEST(DecimalTest, TheColumnsOfTheDocumentAreWhatIsWritten) {
  std::string packed, decimal;
  const std::vector<uint64_t> ints{10, 11, 14, 19, 26, 35, 46, 60};
  ASSERT_TRUE(put_column(ColumnEncoding::kPackedSecond, ints, ValueType::kInt64, &packed));
  EXPECT_EQ(hex_of(packed), "070000000a000000000000800001000000000000000002000000000000000120");
  std::vector<uint64_t> bits;
  for (const double value : {12.5, 12.6, std::nan(""), 12.6, 12.5, 12.7, 12.6, 12.5}) bits.push_back(bits_of(value));
  ASSERT_TRUE(put_column(ColumnEncoding::kDecimal, bits, kType, &decimal));
  EXPECT_EQ(hex_of(decimal), "0901000100000002000000000000000000f87f03fa0102000001040101");
}

// A column of two rows: exponent, factor, exceptions with their rows, and the whole numbers as plain int64.
std::string column_of(uint8_t exponent, uint8_t factor, const std::vector<uint32_t>& rows, uint64_t whole,
                      std::string_view wholes = {}) {
  ByteWriter out;
  out.u8(static_cast<uint8_t>(ColumnEncoding::kDecimal));
  out.u8(exponent), out.u8(factor);
  out.u32(static_cast<uint32_t>(rows.size()));
  for (const uint32_t row : rows) out.u32(row);
  for (size_t i = 0; i < rows.size(); ++i) out.u64(0);
  std::string column(out.buffer());
  if (!wholes.empty()) return column + std::string(wholes);
  encode_value_column(std::vector<uint64_t>{12, whole}, ValueType::kInt64, &column);
  return column;
}

std::string refusal(const std::string& column) {
  std::vector<uint64_t> out;
  const Status status = decode_value_column(column, 2, kType, &out);
  EXPECT_EQ(status.ok() ? Code::kCorrupt : status.code(), Code::kCorrupt);
  return status.ok() ? "" : status.message();
}

TEST(DecimalTest, EachDamageIsNamed) {
  EXPECT_EQ(refusal(column_of(15, 3, {0, 1}, 7)), "");
  EXPECT_EQ(refusal(column_of(16, 0, {}, 7)), "column: an exponent beyond 15 at byte 1");
  EXPECT_EQ(refusal(column_of(4, 4, {}, 7)), "column: a factor beyond 10^3 at byte 2");
  EXPECT_EQ(refusal(column_of(4, 0, {1, 0}, 7)), "column: exceptions that do not rise at byte 11");
  EXPECT_EQ(refusal(column_of(4, 0, {1, 1}, 7)), "column: exceptions that do not rise at byte 11");
  EXPECT_EQ(refusal(column_of(4, 0, {2}, 7)), "column: exceptions that do not rise at byte 7");
  EXPECT_EQ(refusal(column_of(4, 0, {}, (uint64_t{1} << 51) - 1)), "");
  EXPECT_EQ(refusal(column_of(4, 0, {}, uint64_t{1} << 51)), "column: a whole number of 2^51 or more at byte 0");
  EXPECT_EQ(refusal(column_of(4, 0, {}, 1 + (uint64_t{1} << 52))), "column: a whole number of 2^51 or more at byte 0");
}

// The whole numbers are int64, for which the encoding does not exist: nothing nests, however long the bytes are.
TEST(DecimalTest, ADecimalColumnInADecimalColumnIsRefused) {
  EXPECT_EQ(refusal(column_of(4, 0, {}, 0, column_of(4, 0, {}, 7))),
            "column: an encoding this type does not have at byte 0");
  std::string deep;
  for (int i = 0; i < 500'000; ++i) deep += std::string("\x09\0\0\0\0\0\0", 7);
  EXPECT_EQ(refusal(deep), "column: an encoding this type does not have at byte 0");
}

TEST(DecimalTest, BytesThatNoEncoderMadeAreRefusedOrDecodedWithinTheirRows) {
  auto random = seeded_random();
  std::vector<uint64_t> bits = decimals(random, 0, 100, 2, 700);
  for (size_t i = 5; i < bits.size(); i += 50) bits[i] = random();
  const std::string column = [&] {
    std::string out;
    put_column(ColumnEncoding::kDecimal, bits, kType, &out);
    return out;
  }();
  for (size_t size = 0; size < column.size(); ++size) {
    std::vector<uint64_t> out;
    ASSERT_EQ(decode_value_column(std::string_view(column).substr(0, size), bits.size(), kType, &out).code(),
              Code::kCorrupt);
  }
  for (int round = 0; round < 20'000 / kSlowDown; ++round) {
    std::string damaged = column;
    for (size_t flips = 1 + random() % 3; flips > 0; --flips) damaged[1 + random() % 200] = static_cast<char>(random());
    std::vector<uint64_t> out;
    (void)decode_value_column(damaged, round % 2 == 0 ? bits.size() : random() % 2000, kType, &out);
  }
}

}  // namespace
}  // namespace tracker::internal
