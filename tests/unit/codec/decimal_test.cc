// SPDX-License-Identifier: MIT
// Decimal columns: short decimals take about their digits, what else is among them keeps every bit, and bytes
// no encoder made are refused.
#include "codec/decimal.h"

#include <gtest/gtest.h>

#include <cmath>

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
