// SPDX-License-Identifier: MIT
// Goal: what define_metric() said decides the summary: own names beat patterns, the last pattern counts, explicit
// values beat both. Method: stores built by hand.
#include <gtest/gtest.h>

#include "query/view/run_view.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

class DefinitionsTest : public testing::Test {
 protected:
  static Value definition(std::initializer_list<const char*> kinds, const std::string& goal = "") {
    Value out = Value::map();
    Value::List list(kinds.begin(), kinds.end());
    out.set("summary", list);
    if (!goal.empty()) out.set("goal", goal);
    return out;
  }
  std::string summary() { return to_json((*RunView::open(run_))->summary()); }
  MetricInfo metric(const std::string& name) {
    for (const MetricInfo& each : (*RunView::open(run_))->metrics())
      if (each.name == name) return each;
    return {};
  }

  StoreBuilder builder_;
  RunFolder run_ = builder_.run("p", "r");
};

TEST_F(DefinitionsTest, OneKindStandsUnderTheMetricsName) {
  auto writer = builder_.writer(run_);
  for (const double v : {3.0, 1.0, 2.0, 2.0}) writer.log("a", 0, v).log("b", 0, v).log("c", 0, v).log("d", 0, v);
  writer.set(EventType::kMetric, "a", definition({"min"})).set(EventType::kMetric, "b", definition({"max"}));
  writer.set(EventType::kMetric, "c", definition({"mean"})).set(EventType::kMetric, "d", definition({"last"}));
  writer.finish();
  EXPECT_EQ(summary(), R"({"a":1.0,"b":3.0,"c":2.0,"d":2.0})");
}

TEST_F(DefinitionsTest, OfSeveralKindsTheFirstStandsUnderTheNameAndEachBehindADot) {
  builder_.writer(run_)
      .log("loss", 0, 3)
      .log("loss", 1, 1)
      .log("loss", 2, 2)
      .set(EventType::kMetric, "loss", definition({"min", "last", "best"}, "minimize"))
      .finish();
  EXPECT_EQ(summary(), R"({"loss":1.0,"loss.min":1.0,"loss.last":2.0,"loss.best":1.0})");
  EXPECT_EQ(metric("loss").definition.goal, Goal::kMinimize);
}

TEST_F(DefinitionsTest, BestFollowsTheGoal) {
  builder_.writer(run_)
      .log("acc", 0, 0.5)
      .log("acc", 1, 0.9)
      .log("acc", 2, 0.7)
      .set(EventType::kMetric, "acc", definition({"best"}, "maximize"))
      .finish();
  EXPECT_EQ(summary(), R"({"acc":0.9})");
}

TEST_F(DefinitionsTest, OwnNamesBeatPatternsAndTheLastPatternCounts) {
  auto writer = builder_.writer(run_);
  for (const char* name : {"val/loss", "val/acc", "train/loss"}) writer.log(name, 0, 1).log(name, 1, 5).log(name, 2, 3);
  writer.set(EventType::kMetric, "val/loss", definition({"min"})).set(EventType::kMetric, "*", definition({"mean"}));
  writer.set(EventType::kMetric, "val/*", definition({"max"})).finish();
  EXPECT_EQ(summary(), R"({"train/loss":3.0,"val/acc":5.0,"val/loss":1.0})");
}

TEST_F(DefinitionsTest, OneMetricsNameMayBeginWithAnothers) {
  builder_.writer(run_)
      .log("a", 0, 1)
      .log("a", 1, 2)
      .log("a/b", 0, 1)
      .log("a/b", 1, 2)
      .set(EventType::kMetric, "a/b", definition({"min"}))
      .set(EventType::kMetric, "a", definition({"min"}))
      .finish();
  EXPECT_EQ(summary(), R"({"a":1.0,"a/b":1.0})");
}

TEST_F(DefinitionsTest, ANewDefinitionReplacesTheWholeOldOneInALaterAttemptToo) {
  builder_.writer(run_)
      .log("a", 0, 1)
      .log("a", 1, 2)
      .set(EventType::kMetric, "a", definition({"min"}, "minimize"))
      .finish();
  builder_.writer(run_, {.attempt = 2, .started_us = kBuilderStartUs + 100 * kSecondUs})
      .set(EventType::kMetric, "a", definition({"max"}))
      .finish();
  EXPECT_EQ(summary(), R"({"a":2.0})");
  EXPECT_EQ(metric("a").definition.goal, Goal::kNone);
}

TEST_F(DefinitionsTest, ExplicitValuesAndMetricsOfThatNameWin) {
  builder_.writer(run_)
      .log("a", 0, 1)
      .log("a", 1, 2)
      .log("a.min", 0, 77)
      .log("b", 0, 5)
      .set(EventType::kMetric, "*", definition({"last", "min"}))
      .set(EventType::kSummary, "b", 6)
      .finish();
  EXPECT_EQ(summary(),
            R"({"a":2.0,"a.min":77.0,"b":6,"a.last":2.0,"a.min.last":77.0,"a.min.min":77.0,"b.last":5.0,"b.min":5.0})");
}

TEST_F(DefinitionsTest, WithoutAFiniteValueThereIsNoMinAndNoMean) {
  builder_.writer(run_)
      .log("a", 0, std::numeric_limits<double>::quiet_NaN())
      .set(EventType::kMetric, "a", definition({"min", "mean", "last"}))
      .finish();
  EXPECT_EQ(summary(), R"({"a.last":"NaN"})");
}

TEST_F(DefinitionsTest, IntsStayInts) {
  builder_.writer(run_)
      .log_bits("n", ValueType::kInt64, 0, bits_of(int64_t{7}))
      .log_bits("n", ValueType::kInt64, 1, bits_of(int64_t{8}))
      .set(EventType::kMetric, "n", definition({"min"}))
      .finish();
  EXPECT_EQ(summary(), R"({"n":7})");
}

TEST_F(DefinitionsTest, ShadowedRowsTakeNoPartInMinMaxAndMean) {
  auto first = builder_.writer(run_);
  for (int64_t step = 0; step < 10; ++step) first.log("a", step, static_cast<double>(-step)).log("b", step, 1);
  first.set(EventType::kMetric, "a", definition({"min", "mean"})).finish();
  builder_.writer(run_, {.attempt = 2, .resume_step = 2}).log("a", 3, 5).log("b", 3, 9).finish();
  EXPECT_EQ(summary(), R"({"a":-2.0,"b":9.0,"a.min":-2.0,"a.mean":0.5})");
}

TEST_F(DefinitionsTest, WhatANewerVersionSaysIsLeftOut) {
  builder_.writer(run_)
      .log("a", 0, 1)
      .set(EventType::kMetric, "a", definition({"median", "min"}))
      .set(EventType::kMetric, "b", "no map")
      .finish();
  EXPECT_EQ(summary(), R"({"a":1.0})");
}

}  // namespace
}  // namespace tracker::internal
