// SPDX-License-Identifier: MIT
// Goal: crc32c() is the CRC-32C that other readers compute, and the instruction and the table never differ.
// Method: the vectors of RFC 3720 B.4, and seeded random input through both implementations at every length and
// alignment.
#include "base/crc32c.h"
#include "support/conditions.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tracker::internal {
namespace {

TEST(Crc32cTest, MatchesTheVectorsOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  std::string descending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(static_cast<char>(i));
    descending.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c(descending), 0x113fdb5cu);
}

TEST(Crc32cTest, NothingHasTheCrcZero) { EXPECT_EQ(crc32c(""), 0u); }

TEST(Crc32cTest, ContinuesFromAnEarlierPart) {
  const std::string text = "the same bytes in two parts, cut anywhere";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string_view all = text;
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all)) << cut;
  }
}

TEST(Crc32cTest, TheInstructionAndTheTableAgree) {
  NEEDS(kCrc32cInstruction);
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 100'000; ++i) {
    const auto state = static_cast<uint32_t>(random());
    const uint64_t word = random();
    ASSERT_EQ(crc32c_word(state, word), crc32c_word_software(state, word)) << state << ' ' << word;
  }
}

TEST(Crc32cTest, WordsAndBytesGiveTheSameValueAtEveryLengthAndAlignment) {
  std::mt19937_64 random(7);
  std::string data(80, '\0');
  for (char& c : data) c = static_cast<char>(random());
  for (size_t start = 0; start < 8; ++start) {
    for (size_t size = 0; start + size <= data.size(); ++size) {
      const std::string_view part = std::string_view(data).substr(start, size);
      uint32_t bytewise = 0;
      for (size_t i = 0; i < size; ++i) bytewise = crc32c(part.substr(i, 1), bytewise);
      ASSERT_EQ(crc32c(part), bytewise) << start << ' ' << size;
    }
  }
}

TEST(Crc32cTest, EverySingleBitErrorIsSeen) {
  const std::string record = "one record of a ring";
  const uint32_t good = crc32c(record);
  for (size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string bad = record;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(bad), good) << bit;
  }
}

}  // namespace
}  // namespace tracker::internal
