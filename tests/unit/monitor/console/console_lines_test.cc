// SPDX-License-Identifier: MIT
#include "monitor/console/console_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tracker::internal {
namespace {

using ::testing::ElementsAre;

// What a reader of the pieces sees: of each line the last piece.
struct Shown {
  std::map<uint64_t, ConsolePiece> lines;
  std::vector<ConsolePiece> pieces;
  bool room = true;

  ConsoleLines::Emit take() {
    return [this](const ConsolePiece& piece) {
      if (!room) return false;
      pieces.push_back(piece);
      size_t at = 0;
      for (uint64_t line = piece.line;; ++line) {
        const size_t end = std::min(piece.text.find('\n', at), piece.text.size());
        ConsolePiece one = piece;
        one.line = line;
        one.text = piece.text.substr(at, end - at);
        lines[line] = one;
        if (end == piece.text.size()) return true;
        at = end + 1;
      }
    };
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const auto& [line, piece] : lines) out.push_back(piece.text);
    return out;
  }
};

constexpr int64_t kSecond = kConsoleRefreshNs;

TEST(ConsoleLinesTest, LinesOfOneWriteAreOnePiece) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("a\nb\n\nc\n", 0);
  EXPECT_THAT(shown.texts(), ElementsAre("a", "b", "", "c"));
  EXPECT_EQ(shown.pieces.size(), 1u);
}

TEST(ConsoleLinesTest, AProgressBarIsOneLineWithItsUpdatesCounted) {
  Shown shown;
  ConsoleLines lines(shown.take());
  for (int i = 0; i <= 100; ++i) lines.write("\r" + std::to_string(i) + "%", i * kSecond / 1000);
  lines.write("\nnext\n", kSecond / 2);
  EXPECT_THAT(shown.texts(), ElementsAre("100%", "next"));
  EXPECT_EQ(shown.lines[0].updates, 100u);
  EXPECT_LE(shown.pieces.size(), 4u) << "at most one a second while it changes";
}

TEST(ConsoleLinesTest, WindowsLineEndsAreLineEnds) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("a\r\nb\r", 0);
  lines.write("\nc\n", 0);
  EXPECT_THAT(shown.texts(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(shown.lines[0].updates, 0u);
}

TEST(ConsoleLinesTest, NestedBarsAreOneLineEach) {
  Shown shown;
  ConsoleLines lines(shown.take());
  for (int epoch = 0; epoch < 3; ++epoch) {
    lines.write("\repoch " + std::to_string(epoch), 0);
    for (int step = 0; step < 4; ++step) lines.write("\n\rstep " + std::to_string(step) + "\x1b[A", 0);
  }
  lines.write("\n\n", 0);
  lines.finish();
  EXPECT_THAT(shown.texts(), ElementsAre("epoch 2", "step 3"));
}

// Bug: what came after a newline, or a move, onto a line with text was put after that text. The bytes are tqdm's:
// an outer bar, an inner one with leave=False, and a line of the program after them.
TEST(ConsoleLinesTest, WhatComesByANewlineOntoALineIsWrittenOverIt) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("\router:   0%|             | 0/1\n\rinner loop:   0%|          | 0/1\x1b[A", 0);
  lines.write("\n\rinner loop: 100%|##########| 1/1\x1b[A", 0);
  lines.write("\n\r                                 \x1b[A\router: 100%|#############| 1/1", 0);
  lines.write("\router: 100%|#############| 1/1\nWARNING:root:warned\nlast\n", 0);
  lines.finish();
  EXPECT_THAT(shown.texts(), ElementsAre("outer: 100%|#############| 1/1", "WARNING:root:warned", "last"));
}

// Also tqdm's: a line that tqdm.write puts between two bars, which are drawn again below it and end in the other order.
TEST(ConsoleLinesTest, ALineBetweenNestedBarsPushesThemDown) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("\rleft:  50%|#######       | 1/2\n\rleft too:  50%|#####     | 1/2\x1b[A", 0);
  lines.write("\r                              \r\n\r                              \r\x1b[Aa line between\n", 0);
  lines.write("\rleft: 100%|##############| 2/2\n\rleft too: 100%|##########| 2/2\x1b[A", 0);
  lines.write("\rleft too: 100%|##########| 2/2\n\rleft: 100%|##############| 2/2\n", 0);
  lines.finish();
  EXPECT_THAT(shown.texts(),
              ElementsAre("a line between", "left too: 100%|##########| 2/2", "left: 100%|##############| 2/2"));
}

// The bytes are those of rich.progress: two tasks, a line printed between.
TEST(ConsoleLinesTest, BarsThatEraseUpwardsAreOneLineEach) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("\x1b[?25l\r\x1b[2Kone        0/2\r\x1b[2Kone        0/2\ntwo        0/2", 0);
  lines.write("\r\x1b[2K\x1b[1A\x1b[2Kone \u2501\u2501\u2501   1/2\ntwo \u2501\u2501\u2501   1/2", 0);
  lines.write("\r\x1b[2K\x1b[1A\x1b[2Kbetween\none 2/2\ntwo 2/2", 0);
  lines.write("\r\x1b[2K\x1b[1A\x1b[2Kone 2/2\ntwo 2/2\n\x1b[?25hafter\n", 0);
  lines.finish();
  EXPECT_THAT(shown.texts(), ElementsAre("between", "one 2/2", "two 2/2", "\x1b[?25hafter"));
}

TEST(ConsoleLinesTest, AShorterTextLeavesTheRestOfALongerOneAsATerminalDoes) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("A\nBBBBBBBB\x1b[A\rC\nD\nabcdef\rxy\x1b[K\nabcdef\rxy\n", 0);
  EXPECT_THAT(shown.texts(), ElementsAre("C", "DBBBBBBB", "xy", "xycdef"));
}

TEST(ConsoleLinesTest, CharactersTakeTheColumnsThatATerminalGivesThem) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("\u6f22\u5b57!\rabc\nabcdef\r\u6f22\u5b57\n", 0);                   // two columns each
  lines.write("caf\u00e9 1\rCAFE\ne\u0301tude\rE\n", 0);                          // one; one with an accent of its own
  lines.write("\x1b[32m50%\x1b[0m|##|\r\x1b[32m99%\x1b[0m|##|\nkeys\b\b.\n", 0);  // sequences take none
  EXPECT_THAT(shown.texts(),
              ElementsAre("abc !", "\u6f22\u5b57ef", "CAFE 1", "Etude", "\x1b[32m99%\x1b[0m|##|", "ke.s"));
}

TEST(ConsoleLinesTest, AMovedCursorWritesWhereATerminalDoes) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("one\nthree\x1b[A!\x1b[3D?\x1b[B.\n", 0);
  lines.write("abcdef\x1b[2G_\x1b[2C_\nabc\x1b[1D\x1b[1K\n", 0);
  lines.write("up\nlow\nlower\x1b[2A\r\x1b[Jnew\n", 0);
  lines.finish();
  EXPECT_THAT(shown.texts(), ElementsAre("one? !", "thre.", "a_cd_f", "   ", "new", "", ""));
}

// A few bytes ask for 10,000 blanks: they count, or a minute of output had no bound.
TEST(ConsoleLinesTest, BlanksThatAMoveAsksForAreOfTheMinutesBytes) {
  Shown shown;
  ConsoleLines lines(shown.take());
  for (int i = 0; i < 2000; ++i) lines.write("\x1b[10000Cx\n", 0);
  lines.finish();
  size_t bytes = 0;
  for (const ConsolePiece& piece : shown.pieces) bytes += piece.text.size();
  EXPECT_LE(bytes, kConsoleBytesAMinute + kConsoleLineBytes);
  EXPECT_GT(lines.cut_bytes(), 0u);
}

TEST(ConsoleLinesTest, ALineThatIsWrittenOverStaysWithinItsBytes) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write(std::string(kConsoleLineBytes, 'x'), 0);
  for (int i = 0; i < 100; ++i) lines.write("\r\u2501\u2501\u2501\u0301\u0301\x1b[32m\x1b[1m", 0);
  lines.finish();
  ASSERT_EQ(shown.lines.size(), 1u);
  EXPECT_LE(shown.lines[0].text.size(), kConsoleLineBytes);
  EXPECT_EQ(shown.lines[0].updates, 100u);
}

TEST(ConsoleLinesTest, AnErasedLineIsBegunAgain) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("working\x1b[2K\rdone\nlong text\r\x1b[Kshort\n", 0);
  EXPECT_THAT(shown.texts(), ElementsAre("done", "short"));
}

TEST(ConsoleLinesTest, ColoursAreKeptWhereverAWriteDividesThem) {
  const std::string text = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07 caf\xc3\xa9\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Shown shown;
    ConsoleLines lines(shown.take());
    lines.write(text.substr(0, cut), 0);
    lines.write(text.substr(cut), 0);
    EXPECT_THAT(shown.texts(), ElementsAre(text.substr(0, text.size() - 1))) << cut;
  }
}

TEST(ConsoleLinesTest, AnOpenLineIsHandedOnAtOnceAndThenOnceASecond) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("loading", 0);
  ASSERT_EQ(shown.pieces.size(), 1u);
  EXPECT_TRUE(shown.pieces[0].open);
  lines.write(".", kSecond / 2);
  EXPECT_EQ(shown.pieces.size(), 1u);
  lines.write(".", kSecond * 3 / 2);
  EXPECT_EQ(shown.pieces.size(), 2u);
  lines.finish();
  EXPECT_THAT(shown.texts(), ElementsAre("loading.."));
}

TEST(ConsoleLinesTest, ALongLineGoesOnAsTheNextOne) {
  Shown shown;
  ConsoleLines lines(shown.take());
  const std::string text(2 * kConsoleLineBytes + 10, 'x');
  lines.write(text + "\nend\n", 0);
  std::string all;
  for (const auto& [line, piece] : shown.lines) all += piece.text + (piece.joined ? "" : "\n");
  EXPECT_EQ(all, text + "\nend\n");
}

TEST(ConsoleLinesTest, WhatIsMoreThanAMinuteMayHoldIsCutAndTold) {
  Shown shown;
  ConsoleLines lines(shown.take());
  const std::string line(999, 'x');
  for (uint64_t bytes = 0; bytes < kConsoleBytesAMinute + 5000; bytes += 1000) lines.write(line + "\n", kSecond);
  EXPECT_EQ(lines.cut_bytes(), 5000u);
  lines.write("after\n", 62 * kSecond);
  ASSERT_EQ(shown.texts().back(), "after");
  EXPECT_EQ(std::prev(shown.lines.end(), 2)->second.cut_bytes, 5000u);
}

TEST(ConsoleLinesTest, ACursorGoesBackOverSoManyLinesAndNoFurther) {
  Shown shown;
  ConsoleLines lines(shown.take());
  for (size_t i = 0; i < kConsoleRows + 10; ++i) lines.write(std::to_string(i) + "\n", 0);
  lines.write("\x1b[1000A\rfirst", 0);
  lines.finish();
  EXPECT_EQ(shown.lines[10].text, "10");
  EXPECT_EQ(shown.lines[11].text, "first") << "the last rows and the one of the cursor";
}

TEST(ConsoleLinesTest, AnEscapeSequenceWithoutEndIsText) {
  Shown shown;
  ConsoleLines lines(shown.take());
  const std::string endless = "\x1b[" + std::string(kConsoleEscapeBytes, '1') + "\n";
  lines.write(endless, 0);
  EXPECT_THAT(shown.texts(), ElementsAre(endless.substr(0, endless.size() - 1)));
}

TEST(ConsoleLinesTest, ManyLinesAreSeveralPieces) {
  Shown shown;
  ConsoleLines lines(shown.take());
  const std::string line(kConsolePieceBytes / 4, 'x');
  for (int i = 0; i < 10; ++i) lines.write(line + "\n" + line + "\n", 0);
  EXPECT_EQ(shown.lines.size(), 20u);
  for (const ConsolePiece& piece : shown.pieces) EXPECT_LE(piece.text.size(), kConsolePieceBytes);
}

// Bug: the mark was where the minute or the run ended, and said that a minute had been too full.
TEST(ConsoleLinesTest, WhatFindsNoRoomIsToldInItsPlaceAndForItsReason) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write("a\n", 0);
  shown.room = false;
  lines.write("12345\n", 0);
  lines.write("6789\nlost\n", 0);
  shown.room = true;
  lines.write("b\n", kSecond / 2);
  lines.finish();
  ASSERT_THAT(shown.texts(), ElementsAre("a", "", "b"));
  const ConsolePiece& mark = shown.lines[1];
  EXPECT_EQ(mark.cut_bytes, 16u);
  EXPECT_TRUE(mark.no_room);
  EXPECT_EQ(shown.lines.rbegin()->first, 4u) << "the lines after keep their numbers";
  EXPECT_EQ(lines.cut_bytes(), 16u);
}

TEST(ConsoleLinesTest, WhatAMinuteMayNotHoldHasAnotherReason) {
  Shown shown;
  ConsoleLines lines(shown.take());
  lines.write(std::string(kConsoleBytesAMinute + 10, 'x'), 0);
  lines.finish();
  const ConsolePiece& mark = shown.lines.rbegin()->second;
  EXPECT_EQ(mark.cut_bytes, 10u);
  EXPECT_FALSE(mark.no_room);
}

TEST(ConsoleLinesTest, AnOpenLineThatFindsNoRoomIsOfferedAgain) {
  Shown shown;
  ConsoleLines lines(shown.take());
  shown.room = false;
  lines.write("loading", 0);
  shown.room = true;
  lines.write("\r", 2 * kSecond);
  EXPECT_THAT(shown.texts(), ElementsAre("loading"));
  lines.finish();
  EXPECT_THAT(shown.texts(), ElementsAre("loading"));
  EXPECT_EQ(lines.cut_bytes(), 0u);
}

TEST(ConsoleLinesTest, WhatFindsNoRoomUpToTheEndIsCounted) {
  Shown shown;
  ConsoleLines lines(shown.take());
  shown.room = false;
  lines.write("done\nopen", 0);
  lines.finish();
  EXPECT_TRUE(shown.pieces.empty());
  EXPECT_EQ(lines.cut_bytes(), 10u);
}

// Method: random bytes of the alphabet that means something, in random pieces; what they are cut into may not matter.
TEST(ConsoleLinesTest, HowTheTextIsDividedIntoWritesChangesNothing) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    static const char* const kParts[] = {
        "\n",     "\r",     "a",  "bc",     "\x1b[A", "\x1b[2A", "\x1b[2K", "\x1b[K",  "\x1b[31m", "\x1b",    "[",
        "\x1b[B", "\x1b[F", "\b", "\u6f22", "\u00e9", "e\u0301", "\x1b[3C", "\x1b[2D", "\x1b[4G",  "\x1b[1K", "\x1b[J"};
    for (int i = 0; i < 60; ++i) text += kParts[random() % std::size(kParts)];
    Shown whole, divided;
    ConsoleLines at_once(whole.take()), in_parts(divided.take());
    at_once.write(text, 0);
    at_once.finish();
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + random() % 5;
      in_parts.write(text.substr(at, size), 0);
      at += size;
    }
    in_parts.finish();
    ASSERT_EQ(whole.texts(), divided.texts()) << ::testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace tracker::internal
