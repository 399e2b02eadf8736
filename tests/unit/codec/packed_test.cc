// SPDX-License-Identifier: MIT
// The encodings of segments: every value of every type comes back bit for bit from each of them, whole and in parts;
// outliers do not widen their neighbours; bytes no encoder made are refused.
// Method: values of every behaviour with special ones among them, sizes around the length of a mini-block.
#include "codec/packed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codec/best_column.h"
#include "codec/bitpack.h"
#include "support/child.h"
#include "support/random_frame.h"

namespace tracker::internal {
namespace {

constexpr ColumnEncoding kAll[] = {ColumnEncoding::kPacked, ColumnEncoding::kPackedDeltas, ColumnEncoding::kShuffled,
                                   ColumnEncoding::kPackedSecond, ColumnEncoding::kPackedThird};
constexpr ValueType kTypes[] = {ValueType::kFloat64,  ValueType::kFloat32, ValueType::kFloat16,
                                ValueType::kBFloat16, ValueType::kInt64,   ValueType::kBool};

std::vector<uint64_t> decoded(const std::string& column, size_t rows, ValueType type) {
  std::vector<uint64_t> out;
  const Status status = decode_value_column(column, rows, type, &out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return out;
}

std::string as(ColumnEncoding encoding, const std::vector<uint64_t>& bits, ValueType type) {
  std::string out;
  put_column(encoding, bits, type, &out);
  return out;
}

std::string best(const std::vector<uint64_t>& bits, ValueType type) {
  std::string out;
  encode_best_column(bits, type, &out);
  return out;
}

// Noise of one magnitude, as a loss has, of any type.
std::vector<uint64_t> noise(std::mt19937_64& random, size_t rows) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < rows; ++i) out.push_back(bits_of(1.0f + static_cast<float>(random() % 100'000) * 1e-6f));
  return out;
}

TEST(PackedTest, BitsOfEveryWidthComeBack) {
  auto random = seeded_random();
  for (unsigned width = 0; width <= 64; ++width) {
    for (const size_t n : {0, 1, 7, 8, 9, 63, 64, 65, 511, 512}) {
      std::vector<uint64_t> values(n);
      for (uint64_t& v : values) v = width == 0 ? 0 : random() >> (64 - width);
      std::string bytes;
      pack_bits(values, width, &bytes);
      ASSERT_EQ(bytes.size(), packed_bytes(n, width));
      std::vector<uint64_t> wide(n);
      unpack_bits(bytes.data(), bytes.size(), n, width, wide.data());
      ASSERT_EQ(wide, values) << width;
      if (width > 32) continue;
      std::vector<uint32_t> narrow(n);
      unpack_bits(bytes.data(), bytes.size(), n, width, narrow.data());
      ASSERT_TRUE(std::equal(narrow.begin(), narrow.end(), values.begin())) << width;
    }
  }
}

TEST(PackedTest, EveryEncodingGivesBackEveryBitOfEveryType) {
  auto random = seeded_random();
  for (int round = 0; round < 1500; ++round) {
    const ValueType type = kTypes[random() % 6];
    const size_t rows = random() % 4 == 0 ? kMiniRows * (random() % 4) + random() % 3 : random() % 1400;
    std::vector<uint64_t> bits = random() % 2 == 0 ? random_column(random, rows) : noise(random, rows);
    const uint64_t zeros = random() % 3 == 0 ? random() % 30 : 0;
    for (uint64_t& v : bits) {
      if (random() % 200 == 0) v = random();
      v = (v << zeros) & width_mask(type);
    }
    for (const ColumnEncoding encoding : kAll)
      ASSERT_TRUE(decoded(as(encoding, bits, type), rows, type) == bits) << value_type_name(type);
    ASSERT_TRUE(decoded(best(bits, type), rows, type) == bits) << value_type_name(type);
  }
}

TEST(PackedTest, PartsOfAColumnThatWasCheckedAreThoseOfTheWhole) {
  auto random = seeded_random();
  for (int round = 0; round < 300; ++round) {
    const size_t rows = 1 + random() % 1400, begin = random() % rows, end = begin + random() % (rows - begin + 1);
    const std::vector<uint64_t> bits = random_column(random, rows);
    for (const ColumnEncoding encoding : kAll) {
      const std::string column = as(encoding, bits, ValueType::kInt64);
      std::vector<uint64_t> part(end - begin);
      ASSERT_TRUE(decode_rows(column, rows, ValueType::kInt64, {begin, end}, part.data(), true).ok());
      ASSERT_TRUE(std::equal(part.begin(), part.end(), bits.begin() + static_cast<std::ptrdiff_t>(begin)));
    }
  }
}

TEST(PackedTest, ASixteenBitTypeKeepsEachOfItsValues) {
  std::vector<uint64_t> bits(65'536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = i * 40'503 % 65'536;
  for (const ValueType type : {ValueType::kFloat16, ValueType::kBFloat16})
    for (const ColumnEncoding encoding : kAll)
      ASSERT_TRUE(decoded(as(encoding, bits, type), bits.size(), type) == bits);
}

TEST(PackedTest, SpecialFloatsKeepEveryBit) {
  std::vector<uint64_t> bits;
  for (int i = 0; i < 100; ++i)
    for (const uint64_t v : {bits_of(std::nan("")), uint64_t{0x7ff0000000000001}, uint64_t{0xfff8dead0000beef},
                             bits_of(-0.0), bits_of(0.0), bits_of(HUGE_VAL), bits_of(-HUGE_VAL), uint64_t{1},
                             uint64_t{0x8000000000000001}, bits_of(1.0 + i)})
      bits.push_back(v);
  for (const ColumnEncoding encoding : kAll)
    EXPECT_EQ(decoded(as(encoding, bits, ValueType::kFloat64), bits.size(), ValueType::kFloat64), bits);
}

TEST(PackedTest, AnOutlierCostsAFewBytesAndNotAWidth) {
  auto random = seeded_random();
  std::vector<uint64_t> bits = noise(random, 4 * kMiniRows);
  const size_t before = best(bits, ValueType::kFloat32).size();
  bits[100] = 0x7fc00000;
  bits[700] = bits_of(-1e30f);
  bits[701] = bits_of(1e30f);
  EXPECT_LE(best(bits, ValueType::kFloat32).size(), before + 32);
}

TEST(PackedTest, DoublesThatAreExactInFloat32TakeAsMuchAsFloat32) {
  auto random = seeded_random();
  const std::vector<uint64_t> narrow = noise(random, 20 * kMiniRows);
  std::vector<uint64_t> wide;
  for (const uint64_t v : narrow) wide.push_back(bits_of(double{std::bit_cast<float>(static_cast<uint32_t>(v))}));
  EXPECT_LE(best(wide, ValueType::kFloat64).size(), best(narrow, ValueType::kFloat32).size() + 100);
}

TEST(PackedTest, ExceptionsInALayoutFromBeforeTheFirstReleaseAreNamed) {
  std::string column;
  ASSERT_TRUE(put_column(ColumnEncoding::kPacked, std::vector<uint64_t>{1, 2, 3}, ValueType::kInt64, &column));
  column[2] = 1;  // flags
  std::vector<uint64_t> out;
  const Status status = decode_value_column(column, 3, ValueType::kInt64, &out);
  EXPECT_EQ(status.message(), "packed column: exceptions as versions before 0.1.0 wrote them at byte 1");
}

TEST(PackedTest, CountersConstantsAndFlagsTakeNextToNothing) {
  std::vector<uint64_t> counter, epoch, flag;
  for (uint64_t i = 0; i < 100'000; ++i) {
    counter.push_back(i * 32);
    epoch.push_back(i / 782);
    flag.push_back(i % 100 == 0 ? 1 : 0);
  }
  EXPECT_LE(best(counter, ValueType::kInt64).size(), 32u);
  EXPECT_LE(best(epoch, ValueType::kInt64).size(), 2'000u);
  EXPECT_LE(best(flag, ValueType::kBool).size(), 14'000u);
}

TEST(PackedTest, APatternOfValuesFarApartIsCompressed) {
  auto random = seeded_random();
  uint64_t few[10];
  for (uint64_t& v : few) v = random();
  std::vector<uint64_t> bits;
  for (int i = 0; i < 5'000; ++i) bits.push_back(few[i % 10]);
  EXPECT_LE(best(bits, ValueType::kFloat64).size(), bits.size() / 10);
}

TEST(PackedTest, ASmoothCurveTakesNextToNothingOfADouble) {
  std::vector<uint64_t> schedule, average;
  double mean = 1;
  for (int i = 0; i < 20'000; ++i) {
    schedule.push_back(bits_of(1e-3 * (1 + std::cos(i * 3.14159 / 100'000))));
    average.push_back(bits_of(mean *= 0.9999));
  }
  EXPECT_LE(best(schedule, ValueType::kFloat64).size(), schedule.size() * 3 / 2);
  EXPECT_LE(best(average, ValueType::kFloat64).size(), average.size() * 3 / 2);
}

TEST(PackedTest, NoiseIsNotCompressedForLessThanAnEighth) {
  auto random = seeded_random();
  const std::string column = best(noise(random, 5'000), ValueType::kFloat32);
  EXPECT_EQ(column[0], static_cast<char>(ColumnEncoding::kPacked));
}

TEST(PackedTest, EveryTruncationIsRefused) {
  auto random = seeded_random();
  for (const ValueType type : kTypes) {
    std::vector<uint64_t> bits = random_column(random, 600);
    for (uint64_t& v : bits) v &= width_mask(type);
    for (const ColumnEncoding encoding : kAll) {
      const std::string column = as(encoding, bits, type);
      for (size_t size = 0; size < column.size(); ++size) {
        std::vector<uint64_t> out;
        const Status status = decode_value_column(std::string_view(column).substr(0, size), bits.size(), type, &out);
        ASSERT_EQ(status.code(), Code::kCorrupt) << size;
        ASSERT_NE(status.message().find("at byte"), std::string::npos);
      }
      std::vector<uint64_t> out;
      EXPECT_EQ(decode_value_column(column + "x", bits.size(), type, &out).code(), Code::kCorrupt);
    }
  }
}

TEST(PackedTest, WrongRowCountsAndRandomBytesNeverCrash) {
  auto random = seeded_random();
  for (int round = 0; round < 20'000 / kSlowDown; ++round) {
    const ValueType type = kTypes[random() % 6];
    std::vector<uint64_t> bits = random_column(random, random() % 700);
    std::string column = as(kAll[random() % std::size(kAll)], bits, type);
    for (size_t flips = random() % 4; flips > 0; --flips)
      column[1 + random() % std::min<size_t>(column.size() - 1, 40)] = static_cast<char>(random());
    std::vector<uint64_t> out;
    (void)decode_value_column(column, round % 2 == 0 ? bits.size() : random() % 2000, type, &out);
  }
}

}  // namespace
}  // namespace tracker::internal
