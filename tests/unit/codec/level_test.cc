// SPDX-License-Identifier: MIT
// Goal: levels are exactly those of the rows, survive encoding bit for bit, and no bytes make the decoder misbehave.
// Method: random rows of every type compared with a plain loop; damaged bytes with and without a right CRC. The seed is
// printed: TRACKER_TEST_SEED=….
#include "codec/level.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/crc32c.h"
#include "support/random_frame.h"

namespace tracker::internal {
namespace {

struct Rows {
  std::vector<int64_t> steps;
  std::vector<uint64_t> bits;
};

Rows random_rows(std::mt19937_64& random, ValueType type, size_t count) {
  Rows out;
  const bool regular = random() % 2 == 0;
  auto step = static_cast<int64_t>(random()) >> (random() % 64);
  const auto stride = static_cast<int64_t>(1 + random() % 9);
  for (size_t i = 0; i < count && step < INT64_MAX - 100; ++i) {
    out.steps.push_back(step);
    step += regular ? stride : 1 + static_cast<int64_t>(random() % 20);
    out.bits.push_back(type == ValueType::kBool ? random() % 2 : random() >> (64 - 8 * value_width(type)));
  }
  return out;
}

constexpr ValueType kTypes[] = {ValueType::kFloat64,  ValueType::kFloat32, ValueType::kFloat16,
                                ValueType::kBFloat16, ValueType::kInt64,   ValueType::kBool};

// A cell by a plain loop over its rows.
void expect_cell(const Level& level, size_t i, const Rows& rows, size_t begin) {
  const size_t end = begin + level.count[i];
  EXPECT_EQ(level.x0[i], rows.steps[begin]);
  EXPECT_EQ(level.x1[i], rows.steps[end - 1]);
  EXPECT_EQ(level.first[i], rows.bits[begin]);
  EXPECT_EQ(level.last[i], rows.bits[end - 1]);
  uint64_t nan = 0, pos = 0, neg = 0;
  double least = INFINITY, greatest = -INFINITY;
  for (size_t row = begin; row < end; ++row) {
    const double v = to_double(level.type, rows.bits[row]);
    if (std::isnan(v)) ++nan;
    else if (std::isinf(v)) ++(v > 0 ? pos : neg);
    else {
      least = std::min(least, v);
      greatest = std::max(greatest, v);
    }
  }
  const auto at = [i](const std::vector<uint64_t>& counts) { return counts.empty() ? 0 : counts[i]; };
  EXPECT_EQ(at(level.nan), nan);
  EXPECT_EQ(at(level.pos_inf), pos);
  EXPECT_EQ(at(level.neg_inf), neg);
  if (nan + pos + neg == level.count[i]) return;
  EXPECT_EQ(to_double(level.type, level.min[i]), least);
  EXPECT_EQ(to_double(level.type, level.max[i]), greatest);
}

void expect_rows(const Level& level, const Rows& rows) {
  size_t begin = 0;
  for (size_t i = 0; i < level.cells(); ++i) {
    expect_cell(level, i, rows, begin);
    begin += level.count[i];
    if (begin < rows.steps.size()) {
      EXPECT_NE(rows.steps[begin] >> level.shift, level.x0[i] >> level.shift) << "a cell that ends too early";
    }
  }
  EXPECT_EQ(begin, rows.steps.size());
}

TEST(LevelTest, ItsCellsAreThoseOfTheRowsAndComeBackBitForBit) {
  std::mt19937_64 random = seeded_random();
  for (int round = 0; round < 300; ++round) {
    const ValueType type = kTypes[random() % std::size(kTypes)];
    const Rows rows = random_rows(random, type, 4096 + random() % 8000);
    if (rows.steps.size() < 4096) continue;
    const unsigned shift = level_shift(rows.steps.size(), rows.steps.front(), rows.steps.back());
    const Level fine = make_level(rows.steps, rows.bits, type, shift);
    expect_rows(fine, rows);
    const Level coarse = coarser_level(fine, std::min(shift + kLevelFactorShift, kLevelShiftMax));
    expect_rows(coarse, rows);
    for (const Level& level : {fine, coarse}) {
      const std::string bytes = encode_level(level);
      auto back = decode_level(bytes);
      ASSERT_TRUE(back.ok()) << back.status().message();
      EXPECT_TRUE(*back == level);
    }
    if (HasFailure()) return;
  }
}

// Times may be equal to their predecessors; cells over times are half as wide.
TEST(LevelTest, ALevelOverTimesIsThatOfRowsWhoseTimesDoNotFall) {
  std::mt19937_64 random = seeded_random();
  for (int round = 0; round < 100; ++round) {
    const ValueType type = kTypes[random() % std::size(kTypes)];
    Rows rows = random_rows(random, type, 4096 + random() % 8000);
    int64_t time = static_cast<int64_t>(random()) >> (10 + random() % 50);
    const uint64_t most = 1 + random() % 3000;
    for (int64_t& x : rows.steps) x = time += static_cast<int64_t>(random() % most * (random() % 3));
    const size_t count = rows.steps.size();
    if (count == 0) continue;
    const unsigned shift = level_shift(count, rows.steps.front(), rows.steps.back(), LevelAxis::kTimes);
    const Level fine = make_level(rows.steps, rows.bits, type, shift, LevelAxis::kTimes);
    EXPECT_LE(fine.cells(), count / kTimeLevelCellRows + 2);
    const Level coarse = coarser_level(fine, std::min(shift + kTimeLevelFactorShift, kLevelShiftMax));
    for (const Level& level : {fine, coarse}) {
      expect_rows(level, rows);
      const std::string bytes = encode_level(level);
      EXPECT_EQ(bytes[0], 2);
      auto back = decode_level(bytes);
      ASSERT_TRUE(back.ok()) << back.status().message();
      EXPECT_TRUE(*back == level);
    }
    if (HasFailure()) return;
  }
}

TEST(LevelTest, TheFinestLevelHasAtLeast512RowsACellOnAverage) {
  EXPECT_EQ(level_shift(100'000, 0, 99'999), 9u);
  EXPECT_EQ(level_shift(100'000, 0, 999'990), 13u);  // every tenth step: 819 rows a cell
  EXPECT_EQ(level_shift(5000, INT64_MIN, INT64_MAX), 61u);
  EXPECT_EQ(level_shift(5000, 7, 7 + 4999), 9u);
  EXPECT_EQ(level_shift(100'000, 0, 99'999'000, LevelAxis::kTimes), 18u) << "262 rows that are a millisecond apart";
}

TEST(LevelTest, AnEvenSeriesTakesAFewBytesACell) {
  Rows rows;
  std::mt19937_64 noise(1);
  for (int64_t i = 0; i < 100'000; ++i) {
    rows.steps.push_back(i);
    rows.bits.push_back(bits_of(2.0f + std::ldexp(static_cast<float>(noise() % (1 << 20)), -20)));
  }
  const Level level = make_level(rows.steps, rows.bits, ValueType::kFloat32, 9);
  EXPECT_EQ(level.cells(), 196u);
  EXPECT_LT(encode_level(level).size(), level.cells() * 20);
}

std::string with_crc(std::string bytes) {
  const uint32_t crc = crc32c(std::string_view(bytes).substr(0, bytes.size() - 4));
  std::memcpy(bytes.data() + bytes.size() - 4, &crc, sizeof crc);
  return bytes;
}

class DamagedLevelTest : public ::testing::TestWithParam<LevelAxis> {};
INSTANTIATE_TEST_SUITE_P(Axes, DamagedLevelTest, ::testing::Values(LevelAxis::kSteps, LevelAxis::kTimes));

TEST_P(DamagedLevelTest, DamageIsFoundAndNoBytesMisleadTheDecoder) {
  std::mt19937_64 random = seeded_random();
  const Rows rows = random_rows(random, ValueType::kFloat32, 5000);
  const unsigned shift = level_shift(rows.steps.size(), rows.steps.front(), rows.steps.back(), GetParam());
  const std::string sound = encode_level(make_level(rows.steps, rows.bits, ValueType::kFloat32, shift, GetParam()));
  for (size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(decode_level(std::string_view(sound).substr(0, size)).ok());
    if (size >= 4) (void)decode_level(with_crc(sound.substr(0, size))).ok();
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = sound;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    EXPECT_FALSE(decode_level(bytes).ok());
    const auto level = decode_level(with_crc(bytes));
    if (!level.ok()) continue;
    uint64_t count = 0;
    for (const uint64_t n : level->count) count += n;
    ASSERT_EQ(count, level->rows);
    ASSERT_EQ(level->sum.size(), level->cells());
  }
}

TEST(LevelTest, ANewerVersionIsNamed) {
  const std::vector<int64_t> steps = {1, 2};
  const std::vector<uint64_t> bits = {0, 0};
  std::string bytes = encode_level(make_level(steps, bits, ValueType::kFloat64, 3));
  bytes[0] = 3;
  EXPECT_EQ(decode_level(with_crc(bytes)).status().code(), Code::kVersion);
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

// The examples of docs/formats/level.md.
TEST(LevelTest, TheWorkedExamplesHaveTheseBytes) {
  std::vector<int64_t> steps, times;
  std::vector<uint64_t> bits;
  for (int64_t i = 0; i < 12; ++i) {
    steps.push_back(10 + i);
    times.push_back(100 + 10 * i + (i % 3 == 2 ? 0 : i % 3));
    bits.push_back(bits_of(0.5f * static_cast<float>(i)));
  }
  bits[5] = 0x7fc00000;
  EXPECT_EQ(hex_of(encode_level(make_level(steps, bits, ValueType::kFloat32, 3))),
            "010203030c140b0102"
            "09000000000000004040"
            "09000000c07f0000b040"
            "09000000000000004040"
            "0900000000400000b040"
            "0f042f0000288001000000000007802503030201"
            "0303000003030000"
            "4f9de163");
  EXPECT_EQ(hex_of(encode_level(make_level(times, bits, ValueType::kFloat32, 6, LevelAxis::kTimes))),
            "020206020cc8016e03"
            "0603c8013c8e01"
            "0603f0018c0128"
            "0403060809"
            "0d00000000000000c03f0000a040"
            "0b04140000f80b000005204e"
            "0d00000000000000c03f0000a040"
            "0b04140000f80b000005204e"
            "10042f0000f07f0100000000000780ba16"
            "0403000201"
            "0403000000"
            "0403000000"
            "5ebd4bec");
}

}  // namespace
}  // namespace tracker::internal
