// SPDX-License-Identifier: MIT
// Goal: nothing of a private key is left that is printed line by line, and what is printed beside it stays. Method:
// keys in pieces as a console hands them on.
#include "model/redact/private_key_lines.h"

#include <gtest/gtest.h>

#include <string>

namespace tracker::internal {
namespace {

constexpr std::string_view kFirst = "-----BEGIN RSA PRIVATE KEY-----";
constexpr std::string_view kLast = "-----END RSA PRIVATE KEY-----";
const std::string kBodyLine(64, 'M');

// The lines of one stream, from 0 on.
class KeyLinesOf {
 public:
  std::string next(std::string_view text) { return again(line_++, text); }
  std::string again(uint64_t line, std::string_view text) { return lines_.redact(line, text, &count_); }
  uint64_t count() const { return count_; }

 private:
  PrivateKeyLines lines_;
  uint64_t line_ = 0, count_ = 0;
};

// Bug: only a key within one piece was known, and print() makes a piece of each line.
// Promise P12: A private key that is printed line by line is removed, and its neighbours stay.
TEST(PrivateKeyLinesTest, AKeyLineByLineIsGoneAndCountedOnceAndWhatFollowsStays) {
  KeyLinesOf lines;
  EXPECT_EQ(lines.next("before"), "before");
  EXPECT_EQ(lines.next(std::string("key: ").append(kFirst)), "key: [redacted]");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(lines.next(kBodyLine + (i % 2 == 0 ? "" : "\r")), "[redacted]");
  EXPECT_EQ(lines.next("  q83vEg== "), "[redacted]");
  EXPECT_EQ(lines.next(kLast), "[redacted]");
  EXPECT_EQ(lines.next(kBodyLine), kBodyLine);
  EXPECT_EQ(lines.count(), 1u);
}

TEST(PrivateKeyLinesTest, PiecesOfManyLinesKeepTheirLines) {
  KeyLinesOf lines;
  EXPECT_EQ(lines.next(std::string("a\n").append(kFirst).append("\n") + kBodyLine), "a\n[redacted]");
  EXPECT_EQ(lines.again(3, kBodyLine + "\nabc=\n" + std::string(kLast) + " b\n" + kBodyLine),
            "[redacted]\n[redacted]\n[redacted] b\n" + kBodyLine);
}

TEST(PrivateKeyLinesTest, ALineThatIsHandedOnAgainIsLookedAtAgain) {
  KeyLinesOf lines;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(lines.again(7, kFirst), "[redacted]");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(lines.again(8, kBodyLine), "[redacted]");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(lines.again(9, "YWJj" + std::string(kLast)), "[redacted]");
  EXPECT_EQ(lines.again(10, kBodyLine), kBodyLine);
}

TEST(PrivateKeyLinesTest, OtherLinesStayAlsoWhereAKeyIsOnlyTalkedOf) {
  KeyLinesOf lines;
  EXPECT_EQ(lines.next(std::string("no ").append(kFirst).append(" in the file")), "no [redacted]");
  EXPECT_EQ(lines.next("epoch 1 loss 0.5"), "epoch 1 loss 0.5");
  EXPECT_EQ(lines.next("done"), "done");
  EXPECT_EQ(lines.next(kBodyLine), "[redacted]");
  EXPECT_EQ(lines.next("step 2: a thread's line between"), "step 2: a thread's line between");
  EXPECT_EQ(lines.next(kBodyLine), "[redacted]");
  for (uint64_t i = 5; i < kPrivateKeyLinesMax; ++i) (void)lines.next("a line");
  EXPECT_EQ(lines.next(kBodyLine), kBodyLine);
}

}  // namespace
}  // namespace tracker::internal
