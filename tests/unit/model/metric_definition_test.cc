// SPDX-License-Identifier: MIT
// Goal: a definition of a metric is checked when it is made, survives its stored form, and its patterns match whole
// names. Method: tables of cases.
#include "model/metric_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

TEST(MetricDefinitionTest, ItsStoredFormReadsBackTheSame) {
  const auto made = make_definition("val/*", "epoch", {"best", "last", "best"}, "maximize");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->summary.size(), 2u);
  EXPECT_EQ(MetricDefinition::from_value(made->to_value()), *made);
  EXPECT_EQ(MetricDefinition::from_value(Value(7)), MetricDefinition());
}

TEST(MetricDefinitionTest, AWrongWordIsAnErrorThatSaysWhatWasExpected) {
  const struct {
    const char *name, *step_metric, *kind, *goal, *message;
  } cases[] = {
      {"", "", "min", "", "key"},
      {"a", "", "median", "", "summary=\"median\": expected \"min\", \"max\", \"mean\""},
      {"a", "", "", "", "summary=\"\""},
      {"a", "", "min", "lowest", "goal=\"lowest\": expected \"minimize\" or \"maximize\""},
      {"a", "", "best", "", "needs goal"},
      {"a", "epoch*", "min", "", "expected the name of one metric"},
      {"a", "\xff", "min", "", "step_metric"},
  };
  for (const auto& each : cases) {
    const auto made = make_definition(each.name, each.step_metric, {each.kind}, each.goal);
    EXPECT_EQ(made.status().code(), Code::kInvalid) << each.message;
    EXPECT_THAT(made.status().to_string(), ::testing::HasSubstr(each.message));
  }
}

TEST(MetricDefinitionTest, PatternsMatchWholeNames) {
  const struct {
    const char *pattern, *name;
    bool match;
  } cases[] = {{"loss", "loss", true},      {"loss", "losses", false},  {"*", "", true},
               {"*", "a/b", true},          {"val/*", "val/x", true},   {"val/*", "train/x", false},
               {"*loss", "val/loss", true}, {"*loss", "losses", false}, {"a?c", "abc", true},
               {"a?c", "ac", false},        {"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXc", false},
               {"**", "anything", true},    {"?*", "", false},          {"*a*a*a*", "aa", false}};
  for (const auto& each : cases)
    EXPECT_EQ(matches(each.pattern, each.name), each.match) << each.pattern << " " << each.name;
  EXPECT_FALSE(is_pattern("val/loss"));
  EXPECT_TRUE(is_pattern("val/l?ss"));
}

TEST(MetricDefinitionTest, APatternOfManyStarsEndsSoon) {
  std::string pattern, name(1024, 'a');
  for (int i = 0; i < 500; ++i) pattern += "*a";
  EXPECT_TRUE(matches(pattern, name));
  EXPECT_FALSE(matches(pattern + "b", name));
}

}  // namespace
}  // namespace tracker::internal
