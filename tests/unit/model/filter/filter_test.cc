// SPDX-License-Identifier: MIT
// Goal: filters, orders and columns are read as docs/filter.md says; what is wrong is said with its place.
// Method: texts and the columns of their mistakes; docs/filter.md's own examples are in filter_doc_test.cc.
#include "model/filter/filter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "model/filter/filter_lexer.h"

namespace tracker::internal {
namespace {

struct OneValue : FilterRow {
  explicit OneValue(std::optional<Value> v) : value(std::move(v)) {}
  std::optional<Value> field(const FilterField&) const override { return value; }
  std::optional<Value> value;
};

bool matches(const std::string& filter, std::optional<Value> value) {
  const auto parsed = Filter::parse(filter, 0);
  EXPECT_TRUE(parsed.ok()) << filter << ": " << parsed.status().to_string();
  return parsed.ok() && parsed->matches(OneValue(std::move(value)));
}

// The column of the mistake, its message and what was expected.
struct Mistake {
  size_t column = 0;
  std::string text;
};
Mistake mistake_in(const std::string& filter) {
  FilterError error;
  const auto parsed = Filter::parse(filter, 0, &error);
  EXPECT_FALSE(parsed.ok()) << filter;
  return {error.column, parsed.status().to_string()};
}

// Bug: config.conifg.lr was offered, and the names of all fields followed.
TEST(FilterTest, AFieldThatIsSpeltNearlySoIsOfferedAndTheListOfAllIsNot) {
  EXPECT_EQ(mistake_in("conifg.lr < 1").text, "filter, column 1: \"conifg.lr\" is no field; did you mean config.lr?");
  EXPECT_EQ(mistake_in("stat = failed").text,
            "filter, column 1: \"stat\" is no field; did you mean state, config.stat, summary.stat or metrics.stat?");
}

TEST(FilterTest, MistakesAreNamedWithTheirColumn) {
  const struct {
    const char* filter;
    size_t column;
    const char* says;
  } kMistakes[] = {
      {"config.lr < ", 13, "the end where a value is needed"},
      {"config.lr < and state = failed", 13, "\"and\" where a value"},
      {"stat = failed", 1, "\"stat\" is no field"},
      {"state = done", 9, "\"done\" is no state"},
      {"(state = failed", 16, "\")\""},
      {"state = failed)", 15, "\"and\", \"or\" or the end"},
      {"state = failed lost > 0", 16, "\"and\", \"or\" or the end"},
      {"created > 7", 11, "created is a time"},
      {"created > 2026-02-30", 11, "created is a time"},
      {"duration < tomorrow", 12, "duration is a duration"},
      {"lost = many", 8, "lost is a number"},
      {"archived = 1", 12, "true or false"},
      {"archived < true", 10, "= != in"},
      {"metrics.loss = low", 16, "metrics.loss is a number"},
      {"metrics.loss ~ \"x\"", 14, "is no text"},
      {"name = \"open", 8, "the quote has no end"},
      {"name = null", 8, "missing(name)"},
      {"name ~ \"(\"", 8, "no regular expression"},
      {"config = 3", 1, "config without a key"},
      {"config.\"a\"b = 3", 1, "after a quoted key"},
      {"config.a:b = 3", 1, "need quotes"},
      {"config.x > null", 12, "null has no order"},
      {"config.x in []", 14, "where a value is needed"},
      {"config.x in [1 2]", 16, "\",\" or \"]\""},
      {"config.x in 1", 13, "\"in\" without a list"},
      {"exists(name)", 1, "missing(FIELD)"},
      {"missing(name", 13, "\")\""},
      {"not", 4, "a test such as"},
      {"and", 1, "a test such as"},
      {"name = x or", 12, "a test such as"},
      {"name $ 3", 6, "has no meaning here"},
      {"größe = 3", 1, "is no field"},
      {"config.", 1, "a key is missing"},
      {"state = failed and metrics.", 20, "a key is missing"},
      {"config.lr", 10, "the end after a field"},
      {"(summary.acc) or x", 13, "after a field"},
      {"name = größe x", 14, "\"and\", \"or\" or the end"},  // columns are characters, not bytes
      {"config.\"a b\" resnet", 14, "= != <"},
  };
  for (const auto& each : kMistakes) {
    const Mistake mistake = mistake_in(each.filter);
    EXPECT_EQ(mistake.column, each.column) << each.filter << "\n" << mistake.text;
    EXPECT_NE(mistake.text.find(each.says), std::string::npos) << each.filter << "\n" << mistake.text;
  }
}

TEST(FilterTest, BoundsAreErrorsAndTheirEdgesAreNot) {
  const auto code = [](const std::string& filter) { return Filter::parse(filter, 0).status().code(); };
  const std::string deep(kFilterDepthMax, '('), shut(kFilterDepthMax, ')');
  EXPECT_EQ(code(deep + "x" + shut), Code::kOk);
  EXPECT_EQ(code("(" + deep + "x" + shut + ")"), Code::kLimit);
  EXPECT_EQ(code("not " + deep + "x" + shut), Code::kLimit);
  const auto list = [](size_t values) {
    std::string text = "config.x in [0";
    for (size_t i = 1; i < values; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_EQ(code(list(kFilterListMax)), Code::kOk);
  EXPECT_EQ(code(list(kFilterListMax + 1)), Code::kLimit);
  const auto words = [](size_t count) {
    std::string text = "x";
    for (size_t i = 1; i < count; ++i) text += " or x";
    return text;
  };
  EXPECT_EQ(code(words(kFilterTestsMax)), Code::kOk);
  EXPECT_EQ(code(words(kFilterTestsMax + 1)), Code::kLimit);
  EXPECT_EQ(code(std::string(kFilterBytesMax, 'x')), Code::kOk);
  EXPECT_EQ(code(std::string(kFilterBytesMax + 1, 'x')), Code::kLimit);
  EXPECT_EQ(code("name ~ \"" + std::string(kRegexBytesMax, 'x') + "\""), Code::kOk);
  EXPECT_EQ(code("name ~ \"" + std::string(kRegexBytesMax + 1, 'x') + "\""), Code::kInvalid);
  EXPECT_EQ(code("name ~ \"(((x{100}){100}){100})\""), Code::kInvalid);  // a program larger than its memory
  EXPECT_EQ(code(std::string("name = \"\xff\"")), Code::kInvalid);
}

TEST(FilterTest, AnEmptyTextMatchesEveryRun) {
  EXPECT_TRUE(matches("", std::nullopt));
  EXPECT_TRUE(matches(" \t\n", std::nullopt));
}

TEST(FilterTest, ARegularExpressionThatWouldBacktrackForEverDoesNot) {
  EXPECT_FALSE(matches("notes ~ \"(a*)*(a|aa)+$\"", Value(std::string(200'000, 'a') + "b")));
}

TEST(FilterTest, NumbersAreComparedWithoutRounding) {
  const int64_t large = (int64_t{1} << 53) + 1;
  EXPECT_TRUE(matches("config.x > 9007199254740992.0", Value(large)));
  EXPECT_FALSE(matches("config.x = 9007199254740992.0", Value(large)));
  EXPECT_TRUE(matches("config.x < 9223372036854775808", Value(std::numeric_limits<int64_t>::max())));
  EXPECT_TRUE(matches("config.x = inf", Value(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(matches("config.x > -inf", Value(std::numeric_limits<int64_t>::min())));
  EXPECT_TRUE(matches("config.x = -0.0", Value(0.0)));
  EXPECT_TRUE(matches("config.x < 1e400", Value(1e308)));
}

// Bug: the letters "now" were compared: 2030 was before it.
TEST(FilterTest, NowIsInNoOrderWithAText) {
  for (const char* op : {"<", "<=", ">", ">="})
    for (const char* when : {"now", "now-1d", "now+2h"})
      EXPECT_FALSE(matches(std::string("config.x ") + op + " " + when, Value("2030-01-01"))) << op << when;
  EXPECT_TRUE(matches("config.x > 2029-12-31", Value("2030-01-01")));
  EXPECT_TRUE(matches("config.x = now", Value("now")));
}

TEST(FilterTest, NanAndMissingValuesMatchNoComparison) {
  for (const char* op : {"=", "!=", "<", "<=", ">", ">="}) {
    EXPECT_FALSE(matches(std::string("config.x ") + op + " 1", Value(std::nan("")))) << op;
    EXPECT_FALSE(matches(std::string("config.x ") + op + " 1", std::nullopt)) << op;
  }
  EXPECT_FALSE(matches("config.x in [1, 2]", Value(std::nan(""))));
  EXPECT_TRUE(matches("isnan(config.x)", Value(std::nan(""))));
  EXPECT_FALSE(matches("isnan(config.x)", std::nullopt));
  EXPECT_FALSE(matches("missing(config.x)", Value(std::nan(""))));
  EXPECT_TRUE(matches("missing(config.x)", std::nullopt));
}

TEST(FilterTest, ListsMatchByAnElement) {
  const Value list = Value::List{1, "two", true};
  EXPECT_TRUE(matches("config.x = 1", list));
  EXPECT_TRUE(matches("config.x = two", list));
  EXPECT_TRUE(matches("config.x contains 1", list));
  EXPECT_FALSE(matches("config.x contains tw", list));
  EXPECT_FALSE(matches("config.x != 1", list));
  EXPECT_TRUE(matches("config.x != 3", list));
  EXPECT_TRUE(matches("config.x != 3", Value::list()));
  EXPECT_FALSE(matches("config.x = null", list));
}

TEST(FilterTest, WordsStandForTheValuesTheyLookLike) {
  using Kind = FilterLiteral::Kind;
  const auto kind = [](const char* word) { return literal_of_word(word, 0).kind; };
  for (const char* word : {"1", "-1", "+7", "9223372036854775807"}) EXPECT_EQ(kind(word), Kind::kInt) << word;
  for (const char* word : {"1.", ".5", "1e-3", "inf", "-inf", "9223372036854775808"})
    EXPECT_EQ(kind(word), Kind::kDouble) << word;
  for (const char* word : {"90m", "1h30m", "1.5d", "0s", "20ms"}) EXPECT_EQ(kind(word), Kind::kDuration) << word;
  for (const char* word : {"now", "now-7d", "now+1h30m", "2026-09-01", "2026-09-01T12:30", "2026-09-01T12:30:05.25Z"})
    EXPECT_EQ(kind(word), Kind::kTime) << word;
  for (const char* word : {"nan", "0x10", "1e", "1-2", "1.2.3", "7y", "m", "now7d", "now-", "2026-13-01", "2026-9-1",
                           "2026-09-01T25:00", "2026-09-01x", "-", ".", "1000000000w"})
    EXPECT_EQ(kind(word), Kind::kText) << word;
  EXPECT_EQ(literal_of_word("1h30m", 0).integer, 5'400'000'000);
  EXPECT_EQ(literal_of_word("now-1d", 5).integer, 5 - 86'400'000'000);
  EXPECT_EQ(literal_of_word("2026-09-01", 0).end_us - literal_of_word("2026-09-01", 0).integer, 86'400'000'000);
}

TEST(FilterTest, AFieldIsWrittenAsItIsRead) {
  for (const char* text :
       {"name", "config.lr", "config.a.b", "metrics.val/acc.max", "metrics.loss", "metrics.\"gpu.max\"",
        "metrics.\"a b\".nan", "config.\"a \\\"quoted\\\" key\"", "summary.größe"}) {
    const auto columns = parse_columns(text);
    ASSERT_TRUE(columns.ok()) << text << ": " << columns.status().to_string();
    EXPECT_EQ(columns->front().text(), text);
  }
}

TEST(FilterTest, OrdersAndColumnsHaveErrorsWithColumnsToo) {
  const auto sort = parse_sort("-metrics.val/acc.max, created");
  ASSERT_TRUE(sort.ok());
  ASSERT_EQ(sort->size(), 2u);
  EXPECT_TRUE((*sort)[0].descending);
  EXPECT_FALSE((*sort)[1].descending);
  FilterError error;
  EXPECT_FALSE(parse_sort("created, -mtime", &error).ok());
  EXPECT_EQ(error.column, 11u);
  EXPECT_FALSE(parse_sort("created name", &error).ok());
  EXPECT_EQ(error.column, 9u);
  EXPECT_FALSE(parse_columns("", &error).ok());
  std::string columns = "id";
  for (size_t i = 1; i < kColumnFieldsMax; ++i) columns += ",id";
  EXPECT_EQ(parse_columns(columns).status().code(), Code::kOk);
  EXPECT_EQ(parse_columns(columns + ",id").status().code(), Code::kLimit);
  EXPECT_EQ(parse_sort("id,id,id,id,id,id,id,id").status().code(), Code::kOk);
  EXPECT_EQ(parse_sort("id,id,id,id,id,id,id,id,id").status().code(), Code::kLimit);
}

TEST(FilterTest, SortingPutsMissingValuesAndNanLastBothWays) {
  const Value nan(std::nan(""));
  for (const bool descending : {false, true}) {
    EXPECT_GT(compare_for_sort(std::nullopt, Value(1), descending), 0);
    EXPECT_GT(compare_for_sort(nan, Value("text"), descending), 0);
    EXPECT_LT(compare_for_sort(Value(5), Value("text"), descending), 0);
    EXPECT_EQ(compare_for_sort(nan, std::nullopt, descending), 0);
  }
  EXPECT_LT(compare_for_sort(Value(1), Value(1.5), false), 0);
  EXPECT_GT(compare_for_sort(Value(1), Value(1.5), true), 0);
}

}  // namespace
}  // namespace tracker::internal
