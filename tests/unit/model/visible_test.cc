// SPDX-License-Identifier: MIT
// Goal: foreign text is harmless on a terminal, and ordinary text stays as it is.
// Method: single texts at the edges of what UTF-8 and terminals know.
#include "model/visible.h"

#include <gtest/gtest.h>

#include "model/value.h"

namespace tracker::internal {
namespace {

TEST(VisibleTest, ControlCharactersBecomePictures) {
  EXPECT_EQ(visible("a\x1b[31mb\n\r\t\x7f"), "a␛[31mb␊␍␉␡");
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a␀b");
}

TEST(VisibleTest, CharactersThatTurnOrHideTextBecomeNumbers) {
  EXPECT_EQ(visible("abc\u202edcba"), "abc\\u202edcba");
  EXPECT_EQ(visible("a\u200bb\u2066c\ufeff"), "a\\u200bb\\u2066c\\ufeff");
  EXPECT_EQ(visible("\u0085\u009b"), "\\u0085\\u009b");
}

TEST(VisibleTest, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(visible("a\xff"), "a\ufffd");
  EXPECT_EQ(visible("\xc0\x9b"), "\ufffd\ufffd");            // overlong ESC
  EXPECT_EQ(visible("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");  // a surrogate
  EXPECT_EQ(visible("\xe2\x82"), "\ufffd\ufffd");            // cut
}

TEST(VisibleTest, InJsonCharactersThatTurnOrHideTextAreEscapedAndReadBackAsTheyWere) {
  const std::string text = "a\u009b31m\u202e\x7f \U000e0041 Größe 🦦\n";
  const std::string document = visible_json(to_json(Value(text), 2) + "\n");
  EXPECT_EQ(document, "\"a\\u009b31m\\u202e\\u007f \\udb40\\udc41 Größe 🦦\\n\"\n");
  EXPECT_EQ(*from_json(document)->as_text(), text);
}

TEST(VisibleTest, OrdinaryTextOfAnyScriptStaysAsItIs) { EXPECT_EQ(visible("Größe 損失 🦦"), "Größe 損失 🦦"); }

TEST(VisibleTest, ALineOfAMessageStaysOneWhereItBeginsWithTwoBlanks) {
  EXPECT_EQ(visible_lines("two runs:\n  a/b\n  c/d"), "two runs:\n  a/b\n  c/d");
  EXPECT_EQ(visible_lines("no run \"x\ntracker: removed\""), "no run \"x␊tracker: removed\"");
}

}  // namespace
}  // namespace tracker::internal
