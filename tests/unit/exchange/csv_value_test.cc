// SPDX-License-Identifier: MIT
// Goal: values in CSVs of other programs are read with their meaning: calendar times, numbers beyond a float64, blanks
// after a comma; what cannot be read is counted. Method: fields, and files of a few lines.
#include "exchange/csv_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/import_test.h"

namespace tracker::internal {
namespace {

double number_in(std::string_view text) {
  const auto out = csv_number(text);
  return out ? to_double(out->type, out->bits) : 12345;
}

// Bug: the values that pandas writes became texts.
TEST(CsvValueTest, TrueAndFalseOfJsonAndOfPythonAreBools) {
  for (const char* text : {"true", "True", "false", "False"}) {
    const auto out = csv_number(text);
    ASSERT_TRUE(out) << text;
    EXPECT_EQ(out->type, ValueType::kBool);
    EXPECT_EQ(out->bits, text[0] == 't' || text[0] == 'T' ? 1u : 0u);
  }
  EXPECT_FALSE(csv_number("TRUE"));
}

TEST(CsvValueTest, ATimeOfTheCalendarIsUtcUnlessItSaysAZone) {
  constexpr int64_t kNoon = 1'704'110'400'000'000;  // 2024-01-01, 12:00 UTC
  constexpr int64_t kHour = 3'600'000'000;
  EXPECT_EQ(csv_time("2024-01-01T12:00:00"), kNoon);
  EXPECT_EQ(csv_time("2024-01-01 12:00"), kNoon);
  EXPECT_EQ(csv_time("2024-01-01T12:00:00Z"), kNoon);
  EXPECT_EQ(csv_time("2024-01-01T12:00:00+00:00"), kNoon);
  EXPECT_EQ(csv_time("2024-01-01T14:00:00+02:00"), kNoon);
  EXPECT_EQ(csv_time("2024-01-01T10:30:00.25-0130"), kNoon + 250'000);
  EXPECT_EQ(csv_time("2024-01-01T13:00:00+01"), kNoon);
  EXPECT_EQ(csv_time("2024-01-01T12:00:00.123456789Z"), kNoon + 123'456);
  EXPECT_EQ(csv_time("2024-01-01"), kNoon - 12 * kHour);
  EXPECT_EQ(csv_time("1704110400.000001"), kNoon + 1);
  for (const char* none : {"", "yesterday", "2024-13-01", "2024-01-01T25:00:00", "2024-01-01T12:00:00+99:00",
                           "2024-01-01T12:00:00+1", "2024-01-01T12:00:00Z+01:00", "now-7d", "01/02/2024", "inf"})
    EXPECT_FALSE(csv_time(none).has_value()) << none;
}

TEST(CsvValueTest, ANumberBeyondAFloat64IsInfiniteOrZero) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string zeros(400, '0');
  for (const std::string& text :
       std::vector<std::string>{"1e400", "0.001E+500", "1" + zeros, "1" + zeros + ".5", "1e99999999999999999999"})
    EXPECT_EQ(number_in(text), kInfinity) << text;
  EXPECT_EQ(number_in("-1e400"), -kInfinity);
  for (const std::string& text :
       std::vector<std::string>{"1e-400", "100e-500", "0." + zeros + "1", "1e-99999999999999999999"})
    EXPECT_EQ(number_in(text), 0.0) << text;
  EXPECT_TRUE(std::signbit(number_in("-1e-400")));
  EXPECT_EQ(number_in("1e-320"), 1e-320);
  EXPECT_EQ(number_in("1e400x"), 12345);
  EXPECT_EQ(number_in(""), 12345);
}

// Bug: " loss" was another metric than "loss", and its values were texts.
TEST_F(ImportTest, BlanksAroundFieldsAreNoPartOfThemUnlessTheyAreQuoted) {
  write("run.csv", "step, loss ,\tnote\n0, 1.0, a word \n 1 , 0.5 , \" kept \" \n");
  ASSERT_TRUE(import("csv").ok());
  auto run = view();
  EXPECT_EQ(run->history("loss")->size(), 2u);
  EXPECT_EQ(run->history("loss")->steps[1], 1);
  ASSERT_EQ(run->texts("note")->size(), 2u);
  EXPECT_EQ(run->texts("note")->at(0).text, "a word");
  EXPECT_EQ(run->texts("note")->at(1).text, " kept ");
}

// Bug: each row had the time at which the file was written, without a message.
TEST_F(ImportTest, ATimeThatCannotBeReadIsCounted) {
  write("run.csv", "step,time,loss\n0,2024-01-01T00:00:00,1\n1,soon,2\n2,,3\n");
  ASSERT_TRUE(import("csv").ok());
  EXPECT_EQ(view()->history("loss")->times_us[0], 1'704'067'200'000'000);
  EXPECT_EQ(report_.left_out.at("times that cannot be read"), 1u);
}

// Bug: it was that of the first line, which need not be the smallest in a file sorted by metric, as `tracker export`
// writes.
TEST_F(ImportTest, ARunStartsWithItsLeastTimeWhereverThatIs) {
  write("a.csv", "step,time,loss\n1,2024-01-01T00:00:05,2\n0,2024-01-01T00:00:00,1\n2,,3\n");
  ASSERT_TRUE(import("csv").ok());
  EXPECT_EQ(report_.runs[0].run.created_us, 1'704'067'200'000'000);
}

TEST_F(ImportTest, ANameThatHoldsASecretIsNoneOfARun) {
  const std::string secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
  write(secret + ".csv", "step,loss\n0,1\n");
  ASSERT_TRUE(import("csv").ok());
  EXPECT_EQ(report_.runs[0].run.id, "run");
  EXPECT_EQ(report_.left_out.at("secrets in names of runs"), 1u);
}

// Bug: it was the time at which the file was written, long after the last row.
TEST_F(ImportTest, ARunBeginsWithItsFirstRowAndNeverEndsBeforeThat) {
  constexpr int64_t kFirstUs = 1'704'067'200'000'000;
  write("a.csv", "step,time,loss\n\n0,2024-01-01T00:00:00,1\n1,2024-01-01T00:00:05,2\n");
  write("b.csv", "step,time,loss\n0,0,1\n");
  write("c.csv", "step,time,loss\n0,soon,\n1,2024-01-01T00:00:05,2\n");
  write("d.csv", "step,loss\n0,1\n");
  ASSERT_TRUE(import("csv").ok());
  EXPECT_EQ(report_.runs[0].run.created_us, kFirstUs);
  EXPECT_EQ(view(0)->ended_us(), kFirstUs + 5'000'000);
  EXPECT_EQ(report_.runs[1].run.created_us, 1);  // 0 means that no time is known
  for (size_t i = 0; i < 4; ++i) EXPECT_GE(view(i)->ended_us(), report_.runs[i].run.created_us) << i;
  ASSERT_TRUE(import("csv").ok());
  for (const ImportedRun& run : report_.runs) EXPECT_FALSE(run.changed);
}

// Bug: the whole file was its line of names, and the run was empty.
TEST_F(ImportTest, ACarriageReturnEndsALine) {
  for (const std::string& end : std::vector<std::string>{"\r", "\r\n", "\n", "\r\r\n"})
    write(std::to_string(end.size()) + end.substr(0, end == "\n" ? 0 : 1) + ".csv",
          "step,loss,note" + end + "0,1.5,\"two\rlines\"" + end + "1,2.5," + end);
  ASSERT_TRUE(import("csv").ok());
  ASSERT_EQ(report_.runs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report_.runs[i].points, 2u) << i;
    EXPECT_EQ(view(i)->texts("note")->at(0).text, "two\rlines") << i;
  }
}

// Bug: a secret without a known form was stored, whatever its column's name.
TEST_F(ImportTest, ATextUnderTheNameOfASecretIsRedacted) {
  write("run.csv", "step,api_key,note\n0,plainly,plainly\n");
  ASSERT_TRUE(import("csv").ok());
  EXPECT_EQ(view()->texts("api_key")->at(0).text, "[redacted]");
  EXPECT_EQ(view()->texts("note")->at(0).text, "plainly");
  EXPECT_EQ(report_.left_out.at("secrets in texts"), 1u);
}

}  // namespace
}  // namespace tracker::internal
