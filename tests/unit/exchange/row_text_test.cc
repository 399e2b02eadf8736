// SPDX-License-Identifier: MIT
// Goal: single fields are exact and read back by any CSV or JSON reader.
// Method: fields at the edges of their rules.
#include "exchange/row_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace tracker::internal {
namespace {

std::string seconds(int64_t time_us) {
  std::string out;
  append_seconds(time_us, &out);
  return out;
}

TEST(RowTextTest, CsvFieldsAreQuotedOnlyWhereTheyMustBe) {
  EXPECT_EQ(csv_field("train/loss"), "train/loss");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field(" x"), "\" x\"");
  EXPECT_EQ(csv_field("x\t"), "\"x\t\"");
}

TEST(RowTextTest, SecondsKeepEveryMicrosecond) {
  EXPECT_EQ(seconds(1'700'000'000'000'001), "1700000000.000001");
  EXPECT_EQ(seconds(0), "0.000000");
  EXPECT_EQ(seconds(-1), "-0.000001");
  EXPECT_EQ(seconds(INT64_MIN), "-9223372036854.775808");
}

TEST(RowTextTest, JsonNumbersAreJsonAndWhatJsonLacksIsText) {
  EXPECT_EQ(json_number(ValueType::kFloat64, bits_of(0.1)), "0.1");
  EXPECT_EQ(json_number(ValueType::kFloat64, bits_of(-0.0)), "-0.0");
  EXPECT_EQ(json_number(ValueType::kFloat64, 0xfff8000000000001), "\"NaN\"");
  EXPECT_EQ(json_number(ValueType::kFloat32, bits_of(std::numeric_limits<float>::infinity())), "\"Infinity\"");
  EXPECT_EQ(json_number(ValueType::kFloat64, bits_of(-std::numeric_limits<double>::infinity())), "\"-Infinity\"");
  EXPECT_EQ(json_number(ValueType::kInt64, bits_of(INT64_MAX)), "9223372036854775807");
  EXPECT_EQ(json_number(ValueType::kBool, 1), "true");
}

}  // namespace
}  // namespace tracker::internal
