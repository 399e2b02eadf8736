// SPDX-License-Identifier: MIT
// What is said on stderr is one line of text, and each topic is said once. Method: stderr is captured.
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/say.h"

namespace tracker::internal {
namespace {

std::string said(std::string_view text) {
  ::testing::internal::CaptureStderr();
  say(text);
  return ::testing::internal::GetCapturedStderr();
}

TEST(SayTest, ALineStaysOneLineOfTextWhateverANameHolds) {
  EXPECT_EQ(said("a\nb\x1b[31m\x7f"), "tracker: a␊b␛[31m␡\n");
  EXPECT_EQ(said("a\u009b31m\u202eb"), "tracker: a\\u009b31m\\u202eb\n");
  EXPECT_EQ(said("gr\xc3\xb6\xc3\x9f"), "tracker: gr\xc3\xb6\xc3\x9f\n");
  EXPECT_EQ(said("gr\xf6"), "tracker: gr\ufffd\n");
}

TEST(SayTest, ATopicIsSaidOnceAndManyTopicsEndWithOneLine) {
  SayOnce once;
  ::testing::internal::CaptureStderr();
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 100; ++i) once.say("topic " + std::to_string(i), "text");
  const std::string all = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), static_cast<int>(SayOnce::kSaidMax) + 1);
  EXPECT_NE(all.find("only counted"), std::string::npos);
}

}  // namespace
}  // namespace tracker::internal
