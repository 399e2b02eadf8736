// SPDX-License-Identifier: MIT
// Goal: every text fits its columns.
// Method: single functions on texts at the edges.
#include "cli/output/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/output/table.h"

namespace tracker::internal {
namespace {

TEST(TextTest, WidthsCountColumnsAndCutsFitThem) {
  EXPECT_EQ(display_width("Größe"), 5u);
  EXPECT_EQ(display_width("損失"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
  EXPECT_EQ(cut_to("損失損失", 5), "損失…");
  EXPECT_EQ(cut_to("損失損失", 4), "損…");
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("abcd", 3), "ab…");
  EXPECT_EQ(cut_to("abcd", 0), "");
  EXPECT_EQ(cut_middle("train/layer.7/weight/norm", 12), "train/…/norm");
  EXPECT_EQ(cut_middle("train/loss", 10), "train/loss");
  EXPECT_EQ(cut_middle("損失損失", 5), "損…失");
  EXPECT_EQ(cut_middle("abcdef", 1), "…");
  EXPECT_LE(display_width(cut_middle(std::string(100'000, 'm'), 40)), 40u);
  EXPECT_EQ(pad_to("損", 4), "損  ");
  EXPECT_EQ(pad_to("7", 3, true), "  7");
}

TEST(TextTest, CountsDurationsAndTimesReadAsWords) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(12'345'678), "12,345,678");
  EXPECT_EQ(counted(1, "point"), "1 point");
  EXPECT_EQ(counted(1000, "point"), "1,000 points");
  EXPECT_EQ(duration_text(840'000), "0.8 s");
  EXPECT_EQ(duration_text(45 * 1'000'000), "45 s");
  EXPECT_EQ(duration_text(192 * 1'000'000), "3 min 12 s");
  EXPECT_EQ(duration_text(7500LL * 1'000'000), "2 h 5 min");
  EXPECT_EQ(duration_text(273600LL * 1'000'000), "3 d 4 h");
  EXPECT_EQ(duration_text(-5), "0.0 s");
  EXPECT_EQ(ago_text(0, 5'000'000), "just now");
  EXPECT_EQ(ago_text(0, 300'000'000), "5 min ago");
  EXPECT_EQ(ago_text(300'000'000, 0), "in 5 min");
  EXPECT_EQ(ago_text(INT64_MIN, INT64_MAX), "213503982 d ago");
  EXPECT_EQ(time_text(1'700'000'000'000'000), "2023-11-14 22:13:20 UTC");
  EXPECT_EQ(short_number(0.1), "0.1");
  EXPECT_EQ(short_number(123456789.0), "1.2346e+08");
  EXPECT_EQ(short_number(-NAN), "nan");
  EXPECT_EQ(short_number(ValueType::kInt64, bits_of(int64_t{123456789})), "123456789");
}

TEST(TextTest, ATableGivesUpWidthOfItsLongestColumnFirst) {
  Table table({{"NAME", false, 6}, {"COUNT", true}});
  table.add({"a very long name indeed", "12"});
  table.add({"short", "3,456"});
  Console console;
  EXPECT_EQ(table.render(console),
            "NAME                     COUNT\na very long name indeed     12\nshort                    3,456\n");
  console.width = 20;
  EXPECT_EQ(table.render(console), "NAME           COUNT\na very long …     12\nshort          3,456\n");
  console.width = 3;  // narrower than what may be cut: nothing more is taken away
  EXPECT_EQ(table.render(console), "NAME    COUNT\na ver…     12\nshort   3,456\n");
}

TEST(TextTest, OneLongNameDoesNotFillAPipeWithBlanksAndIsNotCut) {
  const std::string name(1024, 'n');
  Table table({{"NAME", false, 6}, {"COUNT", true}});
  table.add({name, "12"});
  table.add({"short", "3"});
  const std::string text = table.render(Console());
  EXPECT_NE(text.find(name + "     12\n"), std::string::npos) << text;
  EXPECT_LT(text.size(), name.size() + 200);
}

// Bug: proc.disk.read.bytes_per_s and proc.disk.write.bytes_per_s were both proc.disk.…ytes_per_s.
TEST(TextTest, NamesThatDifferInTheirMiddleAreCutWhereTheyDoNot) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(cut_names({"proc.disk.read.bytes_per_s", "proc.disk.write.bytes_per_s", "gpu.0.memory.used.bytes"}, 20),
            (Names{"proc.disk.read.byte…", "proc.disk.write.byt…", "gpu.0.memo…sed.bytes"}));
  EXPECT_EQ(cut_names({"train/layer.1/weight/loss", "train/layer.1/weight/loss"}, 20),
            (Names{"train/laye…ight/loss", "train/laye…ight/loss"}));
  EXPECT_EQ(cut_names({"aaaaaaaaaaaaaaaaaaaaaa1zzzzzz", "aaaaaaaaaaaaaaaaaaaaaa2zzzzzz"}, 12),
            (Names{"aaaa…1zzzzzz", "aaaa…2zzzzzz"}));
  EXPECT_EQ(cut_names({"a-long-name-x-of-this", "a-long-name-y-of-this"}, 4), (Names{"a-…s", "a-…s"}));
}

TEST(TextTest, ASentenceGoesOnBelowItselfAndALongWordStaysWhole) {
  EXPECT_EQ(wrapped("  one two three four", 12), "  one two\n    three\n    four\n");
  EXPECT_EQ(wrapped("  /a/path/that/is/longer than this", 12), "  /a/path/that/is/longer\n    than\n    this\n");
  EXPECT_EQ(wrapped("  one two three four", 0), "  one two three four\n");
}

}  // namespace
}  // namespace tracker::internal
