// SPDX-License-Identifier: MIT
// A warning is one line of text on stderr, and each topic is printed once. Method: stderr is captured.
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/warnings.h"

namespace tracker::internal {
namespace {

std::string printed(std::string_view text) {
  ::testing::internal::CaptureStderr();
  print_line(text);
  return ::testing::internal::GetCapturedStderr();
}

TEST(WarningsTest, ALineStaysOneLineOfTextWhateverANameHolds) {
  EXPECT_EQ(printed("a\nb\x1b[31m\x7f"), "tracker: a␊b␛[31m␡\n");
  EXPECT_EQ(printed("a\u009b31m\u202eb"), "tracker: a\\u009b31m\\u202eb\n");
  EXPECT_EQ(printed("gr\xc3\xb6\xc3\x9f"), "tracker: gr\xc3\xb6\xc3\x9f\n");
  EXPECT_EQ(printed("gr\xf6"), "tracker: gr\ufffd\n");
}

TEST(WarningsTest, ATopicIsPrintedOnceAndManyTopicsEndWithOneLine) {
  Warnings once;
  ::testing::internal::CaptureStderr();
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 100; ++i) once.warn_once("topic " + std::to_string(i), "text");
  const std::string all = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), static_cast<int>(Warnings::kWarningsMax) + 1);
  EXPECT_NE(all.find("only counted"), std::string::npos);
}

}  // namespace
}  // namespace tracker::internal
