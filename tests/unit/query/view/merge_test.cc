// SPDX-License-Identifier: MIT
// Goal: what several writers said is merged by time, then writer id; explicit summary values win over last values.
// Method: snapshots made by hand.
#include "query/view/merge.h"

#include <gtest/gtest.h>

#include <ctime>

namespace tracker::internal {
namespace {

WriterSnapshot writer(int64_t attempt, uint8_t id) {
  WriterSnapshot out;
  out.identity.attempt = attempt;
  out.identity.writer.bytes[0] = id;
  return out;
}

SeriesStats series(uint32_t id, const std::string& name, double last, int64_t time_us, uint64_t points = 1) {
  SeriesStats out;
  out.def = {id, ValueType::kFloat64, name};
  out.points = out.finite = points;
  out.min = out.max = last;
  out.last_bits = bits_of(last);
  out.time_first_us = out.time_last_us = time_us;
  return out;
}

TEST(MergeTest, ConfigIsAppliedByTimeThenWriterId) {
  WriterSnapshot first = writer(1, 1), second = writer(2, 2);
  second.attributes = {{EventType::kConfig, "lr", 0.1, 10}, {EventType::kConfig, "optimizer/name", "adam", 20}};
  first.attributes = {{EventType::kConfig, "lr", 0.5, 30}, {EventType::kConfig, "optimizer/name", "sgd", 20}};
  EXPECT_EQ(to_json(merge_config({first, second})), R"({"lr":0.5,"optimizer":{"name":"adam"}})");
}

TEST(MergeTest, SummaryHoldsLastValuesAndExplicitOnesWin) {
  WriterSnapshot one = writer(1, 1);
  one.series = {series(1, "train/loss", 0.25, 5), series(2, "acc", 0.9, 5)};
  one.attributes = {{EventType::kSummary, "acc", 0.98, 1}, {EventType::kSummary, "best", 3, 1}};
  EXPECT_EQ(to_json(merge_summary({one}, merge_metrics({one}))), R"({"acc":0.98,"train/loss":0.25,"best":3})");
}

TEST(MergeTest, ANullTakesBackTheExplicitValueAndTheLastOneShowsAgain) {
  WriterSnapshot one = writer(1, 1), two = writer(2, 2);
  one.series = {series(1, "acc", 0.9, 5)};
  one.attributes = {{EventType::kSummary, "acc", 0.98, 1}, {EventType::kSummary, "gone", 1, 1}};
  two.attributes = {{EventType::kSummary, "acc", nullptr, 2}, {EventType::kSummary, "gone", nullptr, 2}};
  EXPECT_EQ(to_json(merge_summary({one, two}, merge_metrics({one, two}))), R"({"acc":0.9})");
}

// Each key was compared with all: 100,000 took minutes, of a listing and of the training that asked for its summary.
TEST(MergeTest, ASummaryOfVeryManyKeysTakesATimeThatGrowsAsTheyDo) {
  constexpr uint32_t kKeys = 100'000;
  WriterSnapshot one = writer(1, 1);
  for (uint32_t i = 0; i < kKeys; ++i) {
    one.series.push_back(series(i + 1, "layer/" + std::to_string(i), 1.0, 5));
    one.attributes.push_back({EventType::kSummary, "k/" + std::to_string(i), int64_t{i}, 1});
    one.attributes.push_back({EventType::kSummary, "k/" + std::to_string(i), nullptr, 2});
    one.attributes.push_back({EventType::kSummary, "k/" + std::to_string(i), int64_t{2 * i}, 3});
  }
  std::vector<MetricInfo> metrics = merge_metrics({one});
  for (MetricInfo& metric : metrics) metric.definition.summary = {SummaryKind::kMin, SummaryKind::kMax};
  const std::clock_t begun = std::clock();
  const Value summary = merge_summary({one}, metrics);
  EXPECT_LT((std::clock() - begun) / CLOCKS_PER_SEC, 20) << "some 0.2 s of CPU";
  ASSERT_EQ(summary.as_map()->size(), 4 * kKeys);
  EXPECT_EQ(*summary.as_map()->back().second.as_int(), int64_t{2 * (kKeys - 1)});
}

TEST(MergeTest, OfTwoTypesInOneMicrosecondTheRowsTellWhichWasFirstAndLast) {
  WriterSnapshot one = writer(1, 1);
  one.series = {series(1, "acc", 0.7, 100), series(2, "acc", 1.0, 100)};
  EXPECT_TRUE(needs_rows(merge_metrics({one})[0]));
  one.series[1].time_first_us = one.series[1].time_last_us = 101;
  EXPECT_FALSE(needs_rows(merge_metrics({one})[0]));
  one.series[1].time_first_us = 100;
  EXPECT_TRUE(needs_rows(merge_metrics({one})[0]));
}

TEST(MergeTest, TheLastValueIsTheLaterAttemptsEvenWhenItsClockIsBehind) {
  WriterSnapshot one = writer(1, 1), two = writer(2, 2);
  one.series = {series(1, "loss", 1.0, 100)};
  two.series = {series(1, "loss", 2.0, 50)};
  const auto metrics = merge_metrics({one, two});
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].last_bits, bits_of(2.0));
  EXPECT_EQ(metrics[0].points, 2u);
  EXPECT_EQ(metrics[0].min, 1.0);
  EXPECT_EQ(metrics[0].max, 2.0);
  EXPECT_EQ(metrics[0].time_first_us, 50);
  EXPECT_EQ(metrics[0].time_last_us, 100);
}

TEST(MergeTest, ASeriesOfWhichEveryPointWasDroppedIsStillAMetric) {
  WriterSnapshot one = writer(1, 1);
  one.series = {series(1, "loss", 0, 0, 0)};
  one.series[0].dropped = 9;
  const auto metrics = merge_metrics({one});
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].points, 0u);
  EXPECT_EQ(metrics[0].dropped, 9u);
  EXPECT_EQ(to_json(merge_summary({one}, metrics)), "{}");
}

TEST(MergeTest, LossesAddUpOverWritersByReason) {
  WriterSnapshot one = writer(1, 1), two = writer(1, 2);
  one.points = 10;
  one.dropped = 3;
  one.losses = {{1, LossReason::kRingFull, 2}, {2, LossReason::kDisk, 1}};
  two.points = 5;
  two.dropped = 4;
  two.losses = {{1, LossReason::kRingFull, 4}, {0, LossReason::kRejected, 6}};
  two.texts_dropped = 8;
  two.entries_dropped = 2;
  two.losses.insert(two.losses.end(),
                    {{kTextLosses, LossReason::kRingFull, 8}, {kEntryLosses, LossReason::kMaxDisk, 2}});
  two.recovered = Value(Value::Map{{"points", 5}});
  const LossAccount account = merge_losses({one, two});
  EXPECT_EQ(account.logged, 22u);
  EXPECT_EQ(account.stored, 15u);
  EXPECT_EQ(account.dropped, 7u);
  EXPECT_EQ(account.recovered, 5u);
  EXPECT_EQ(account.rejected_values, 6u);
  EXPECT_EQ(account.by_reason,
            (std::vector<std::pair<std::string, uint64_t>>{{"ring full", 6}, {"store not writable", 1}}));
  EXPECT_EQ(account.texts.dropped, 8u);
  EXPECT_EQ(account.entries.dropped, 2u);
  EXPECT_EQ(account.entries.by_reason,
            (std::vector<std::pair<std::string, uint64_t>>{{loss_reason_text(LossReason::kMaxDisk), 2}}));
}

TEST(MergeTest, EveryMetricHasAnAccountAndTheyAddUpToTheRuns) {
  WriterSnapshot one = writer(1, 1), two = writer(1, 2);
  one.series = {series(1, "loss", 1, 5, 10), series(2, "acc", 1, 5, 4)};
  one.points = 14;
  one.losses = {{1, LossReason::kRingFull, 2}, {0, LossReason::kKeyLimit, 7}, {1, LossReason::kRejected, 9}};
  one.dropped = 9;
  two.series = {series(7, "loss", 1, 5, 1)};
  two.points = 1;
  two.losses = {{7, LossReason::kDisk, 3}};
  two.dropped = 3;
  const auto accounts = merge_losses_by_metric({one, two});
  ASSERT_EQ(accounts.size(), 3u);
  EXPECT_EQ(accounts[0].metric, "") << "of no metric in particular";
  EXPECT_EQ(accounts[0].dropped, 7u);
  EXPECT_EQ(accounts[1].metric, "acc");
  EXPECT_EQ(accounts[1].logged(), 4u);
  EXPECT_EQ(accounts[2].stored, 11u);
  EXPECT_EQ(accounts[2].by_reason,
            (std::vector<std::pair<std::string, uint64_t>>{{"ring full", 2}, {"store not writable", 3}}));
  uint64_t logged = 0;
  for (const MetricAccount& account : accounts) logged += account.logged();
  EXPECT_EQ(logged, merge_losses({one, two}).logged);
}

}  // namespace
}  // namespace tracker::internal
