// SPDX-License-Identifier: MIT
// A label becomes one folder name, which no label can use to leave its folder or to take another one's. Method: labels
// as people write them, and as somebody would who means harm.
#include "model/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tracker::internal {
namespace {

// Promise P12: Folder names keep `[A-Za-z0-9._-]`, percent-encode the rest, are never `.` or `..`, and are bounded.
TEST(FolderNameTest, LettersDigitsDotsDashesAndUnderscoresStandForThemselves) {
  for (const char* label : {"baseline", "brisk-otter-417", "v1.2_final", "A", "...", ".hidden", "a..b", "-rf"})
    EXPECT_EQ(folder_name(label), label);
}

TEST(FolderNameTest, EverythingElseIsPercentEncoded) {
  EXPECT_EQ(folder_name("mnist/big"), "mnist%2Fbig");
  EXPECT_EQ(folder_name("a b"), "a%20b");
  EXPECT_EQ(folder_name("100%"), "100%25");
  EXPECT_EQ(folder_name("gr\xc3\xbc\xc3\x9f"), "gr%C3%BC%C3%9F");
  EXPECT_EQ(folder_name("~root"), "%7Eroot");
  EXPECT_EQ(folder_name("a\\b:c*?\"<>|"), "a%5Cb%3Ac%2A%3F%22%3C%3E%7C");
}

TEST(FolderNameTest, ItIsNeverTheFolderItselfOrTheOneAbove) {
  EXPECT_EQ(folder_name("."), "%2E");
  EXPECT_EQ(folder_name(".."), "%2E%2E");
  EXPECT_EQ(folder_name("../../etc"), "..%2F..%2Fetc");
}

TEST(FolderNameTest, ItIsBoundedAndLongLabelsThatDifferOnlyAtTheEndStayApart) {
  const std::string a(256, 'x');
  std::string b = a;
  b.back() = 'y';
  EXPECT_EQ(folder_name(a).size(), kFolderNameBytesMax);
  EXPECT_NE(folder_name(a), folder_name(b));
  EXPECT_EQ(folder_name(std::string(kFolderNameBytesMax, 'x')), std::string(kFolderNameBytesMax, 'x'));
  std::string umlauts;
  for (int i = 0; i < 128; ++i) umlauts += "\xc3\xbc";
  EXPECT_EQ(folder_name(umlauts).size(), kFolderNameBytesMax);
}

TEST(FolderNameTest, DifferentLabelsHaveDifferentNames) {
  std::mt19937_64 random(5);
  const std::string alphabet = "aA.%2F/~\xc3 ";
  std::set<std::string> labels, names;
  for (int i = 0; i < 20'000; ++i) {
    std::string label(1 + random() % 6, 'x');
    for (char& c : label) c = alphabet[random() % alphabet.size()];
    labels.insert(label);
    const std::string name = folder_name(label);
    ASSERT_EQ(name.find('/'), std::string::npos);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), labels.size());
}

}  // namespace
}  // namespace tracker::internal
