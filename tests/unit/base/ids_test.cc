// SPDX-License-Identifier: MIT
// Goal: ids are unique, survive their text form, and only their own text form is accepted.
// Method: round trips, refused spellings, many draws (also across fork, where a seeded generator would repeat itself).
#include "base/ids.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace tracker::internal {
namespace {

TEST(IdsTest, HexRoundTrips) {
  const Id128 id = Id128::random();
  EXPECT_EQ(id.hex().size(), 32u);
  EXPECT_EQ(Id128::from_hex(id.hex()), id);
}

TEST(IdsTest, HexIsInByteOrder) {
  Id128 id;
  id.bytes[0] = 0xab;
  id.bytes[15] = 0x01;
  EXPECT_EQ(id.hex(), "ab000000000000000000000000000001");
}

TEST(IdsTest, OtherSpellingsAreRefused) {
  const std::string good = "0123456789abcdef0123456789abcdef";
  ASSERT_TRUE(Id128::from_hex(good).has_value());
  EXPECT_FALSE(Id128::from_hex("").has_value());
  EXPECT_FALSE(Id128::from_hex(good.substr(1)).has_value());
  EXPECT_FALSE(Id128::from_hex(good + "0").has_value());
  EXPECT_FALSE(Id128::from_hex("0123456789ABCDEF0123456789ABCDEF").has_value());
  EXPECT_FALSE(Id128::from_hex("../../../../../etc/passwd0000000").has_value());
}

// Promise P3: A writer's id is 128 random bits, and a forked child draws others.
TEST(IdsTest, RandomIdsDoNotRepeat) {
  std::set<Id128> seen;
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(Id128::random()).second);
  EXPECT_FALSE(seen.contains(Id128{}));
}

TEST(IdsTest, AForkedChildDrawsOtherIds) {
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Id128 id = Id128::random();
    const bool written = ::write(channel[1], id.bytes.data(), id.bytes.size()) == 16;
    ::_exit(written ? 0 : 1);
  }
  Id128 theirs;
  EXPECT_EQ(::read(channel[0], theirs.bytes.data(), theirs.bytes.size()), 16);
  EXPECT_NE(theirs, Id128::random());
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(channel[0]);
  ::close(channel[1]);
}

TEST(IdsTest, TheHashOfATextIsTheSameEverywhere) {
  // Ranks of one launch find each other by it, on machines with other builds: the value must never change.
  EXPECT_EQ(Id128::hash_of("abc").hex(), Id128::hash_of("abc").hex());
  EXPECT_NE(Id128::hash_of("abc"), Id128::hash_of("abd"));
  EXPECT_NE(Id128::hash_of(""), Id128::hash_of(std::string_view("\0", 1)));
}

TEST(IdsTest, LabelsAreTwoWordsAndANumber) {
  for (int i = 0; i < 1000; ++i) {
    const std::string label = random_label();
    size_t dashes = 0;
    for (const char c : label) {
      dashes += c == '-';
      EXPECT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') << label;
    }
    EXPECT_EQ(dashes, 2u) << label;
    EXPECT_EQ(label.size() - label.rfind('-'), 4u) << label;
  }
}

}  // namespace
}  // namespace tracker::internal
