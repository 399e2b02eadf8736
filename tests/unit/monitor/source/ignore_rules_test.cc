// SPDX-License-Identifier: MIT
// Goal: files of rules mean what git means by them. Method: rules and paths as gitignore(5) describes them.
#include "monitor/source/ignore_rules.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

bool ignored(std::string_view rules, std::string_view path, bool is_folder = false) {
  IgnoreRules out;
  out.add(rules, "");
  return out.ignores(path, is_folder);
}

TEST(IgnoreRulesTest, ANameIsFoundAtAnyDepthAndAPathWhereItStands) {
  EXPECT_TRUE(ignored("data", "data"));
  EXPECT_TRUE(ignored("data", "a/b/data"));
  EXPECT_TRUE(ignored("/data", "data"));
  EXPECT_FALSE(ignored("/data", "a/data"));
  EXPECT_TRUE(ignored("a/data", "a/data"));
  EXPECT_FALSE(ignored("a/data", "b/a/data"));
}

TEST(IgnoreRulesTest, ASlashAtTheEndMeansFolders) {
  EXPECT_TRUE(ignored("out/", "out", true));
  EXPECT_FALSE(ignored("out/", "out", false));
  EXPECT_TRUE(ignored("out/", "a/out", true));
}

TEST(IgnoreRulesTest, WildCardsStayWithinANameAndTwoStarsDoNot) {
  EXPECT_TRUE(ignored("*.pt", "a/model.pt"));
  EXPECT_FALSE(ignored("a/*.pt", "a/b/model.pt"));
  EXPECT_TRUE(ignored("a/**/*.pt", "a/model.pt"));
  EXPECT_TRUE(ignored("a/**/*.pt", "a/b/c/model.pt"));
  EXPECT_TRUE(ignored("**/cache", "x/y/cache"));
  EXPECT_TRUE(ignored("a/**", "a/b/c"));
  EXPECT_FALSE(ignored("a/**", "a"));
  EXPECT_TRUE(ignored("run?[0-9].[!a]", "run_7.b"));
  EXPECT_FALSE(ignored("run?[0-9].[!a]", "run_7.a"));
}

TEST(IgnoreRulesTest, TheLastRuleThatMatchesDecides) {
  EXPECT_FALSE(ignored("*.log\n!keep.log", "keep.log"));
  EXPECT_TRUE(ignored("!keep.log\n*.log", "keep.log"));
}

TEST(IgnoreRulesTest, CommentsBlanksAndEscapesAreThoseOfGit) {
  EXPECT_FALSE(ignored("# data\n\n   \n", "# data"));
  EXPECT_TRUE(ignored("\\#data", "#data"));
  EXPECT_TRUE(ignored("\\!data", "!data"));
  EXPECT_TRUE(ignored("data   \r\n", "data"));
  EXPECT_TRUE(ignored("[x", "[x"));
}

TEST(IgnoreRulesTest, AFileOfRulesHoldsForItsFolderAlone) {
  IgnoreRules rules;
  rules.add("/data\n*.bin", "a/b/");
  EXPECT_TRUE(rules.ignores("a/b/data", false));
  EXPECT_TRUE(rules.ignores("a/b/c/x.bin", false));
  EXPECT_FALSE(rules.ignores("a/data", false));
  EXPECT_FALSE(rules.ignores("a/c/data", false));
  EXPECT_FALSE(rules.ignores("x.bin", false));
}

TEST(IgnoreRulesTest, ManyStarsCostNoTime) {
  std::string pattern, name(2000, 'a');
  for (int i = 0; i < 400; ++i) pattern += "*a";
  EXPECT_FALSE(ignored(pattern + "b", name));
  EXPECT_TRUE(ignored(pattern, name));
}

TEST(IgnoreRulesTest, RulesBeyondTheBoundAreNotRead) {
  IgnoreRules rules;
  std::string some;
  for (size_t i = 0; i < kIgnoreFileBytesMax / 8; ++i) some += "nothing\n";
  some += "after\n";
  rules.add(some, "");
  EXPECT_FALSE(rules.ignores("after", false));  // of the file only kIgnoreFileBytesMax are read
  rules.add("nothing", "");
  for (size_t i = 0; i < 2; ++i) rules.add(some, "");
  rules.add("late", "");
  EXPECT_FALSE(rules.ignores("late", false));  // kIgnoreRulesMax are there
}

}  // namespace
}  // namespace tracker::internal
