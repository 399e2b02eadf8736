// SPDX-License-Identifier: MIT
// Goal: SHA-256 is SHA-256. Method: the vectors of FIPS 180-4, whole and in pieces.
#include "artifact/digest.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(DigestTest, HashesAreThoseOfTheStandard) {
  EXPECT_EQ(sha256("abc").hex(), kAbc);
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.update(std::string(1000, 'a'));
  EXPECT_EQ(hash.finish().hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  hash.update("abc");
  EXPECT_EQ(hash.finish().hex(), kAbc) << "it starts again after finish()";
}

TEST(DigestTest, OnlySixtyFourLowerCaseDigitsAreADigest) {
  EXPECT_EQ(Digest::from_hex(kAbc), sha256("abc"));
  const std::string text = kAbc;
  for (const std::string& bad : {std::string(), text.substr(1), text + "0", "B" + text.substr(1), "g" + text.substr(1),
                                 std::string(1, '\0') + text.substr(1)})
    EXPECT_FALSE(Digest::from_hex(bad)) << bad;
}

}  // namespace
}  // namespace tracker::internal
