// SPDX-License-Identifier: MIT
// Goal: over the ranks of a job the smallest, mean and largest value of each step are exact and say who holds them,
// and a rank that fell behind is named. Method: stores built rank by rank; random values against plain loops.
#include "query/view/across_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "query/view/rank_status.h"
#include "query/view/run_state.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Ints = std::vector<int64_t>;

class AcrossRanksTest : public testing::Test {
 protected:
  WriterBuilder rank(int64_t number, int64_t attempt = 1, std::optional<int64_t> resume_step = {}) {
    return builder_.writer(run_, {.attempt = attempt, .rank = number, .world_size = 64, .resume_step = resume_step});
  }
  AcrossRanks across(const std::string& metric = "loss") {
    auto view = RunView::open(run_);
    auto out = (*view)->across_ranks(metric);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? std::move(*out) : AcrossRanks();
  }
  std::vector<RankStatus> ranks() { return (*RunView::open(run_))->ranks(); }
  static double number(const AcrossRanks& a, uint64_t bits) { return to_double(a.type, bits); }

  StoreBuilder builder_;
  RunFolder run_ = builder_.run("mnist", "otter");
};

TEST_F(AcrossRanksTest, EachStepHasMinMeanMaxAndTheirRanks) {
  rank(0).log("loss", 0, 3).log("loss", 1, 5).finish();
  rank(7).log("loss", 0, 1).log("loss", 1, 5).finish();
  rank(3).log("loss", 0, 2).log("loss", 2, 9).finish();
  const AcrossRanks a = across();
  EXPECT_EQ(a.steps, (Ints{0, 1, 2}));
  EXPECT_EQ(a.count, (Ints{3, 2, 1}));
  EXPECT_EQ(a.min_rank, (Ints{7, 0, 3})) << "of equal ones the lowest";
  EXPECT_EQ(a.max_rank, (Ints{0, 0, 3}));
  EXPECT_EQ(number(a, a.min_bits[0]), 1);
  EXPECT_EQ(number(a, a.max_bits[0]), 3);
  EXPECT_EQ(a.mean[0], 2);
  EXPECT_EQ(a.ranks, (Ints{0, 3, 7}));
}

TEST_F(AcrossRanksTest, ANaNIsCountedApart) {
  rank(0).log("loss", 0, kNan).log("loss", 1, kNan).finish();
  rank(1).log("loss", 0, -2).log("loss", 1, kNan).finish();
  rank(2).log("loss", 0, std::numeric_limits<double>::infinity()).finish();
  const AcrossRanks a = across();
  EXPECT_EQ(a.nan, (Ints{1, 2}));
  EXPECT_EQ(a.count, (Ints{2, 0}));
  EXPECT_EQ(a.max_rank, (Ints{2, -1}));
  EXPECT_TRUE(std::isinf(a.mean[0]));
  EXPECT_TRUE(std::isnan(a.mean[1]) && std::isnan(number(a, a.min_bits[1])));
}

TEST_F(AcrossRanksTest, WholeNumbersBeyondDoublesAreToldApart) {
  rank(0).log_bits("n", ValueType::kInt64, 0, bits_of(INT64_MAX - 1)).finish();
  rank(1).log_bits("n", ValueType::kInt64, 0, bits_of(INT64_MAX)).finish();
  const AcrossRanks a = across("n");
  EXPECT_EQ(a.max_bits[0], bits_of(INT64_MAX));
  EXPECT_EQ(a.max_rank[0], 1);
  EXPECT_EQ(a.min_bits[0], bits_of(INT64_MAX - 1));
}

TEST_F(AcrossRanksTest, EveryRankCountsWithItsResolvedRow) {
  rank(0).log("loss", 0, 1).log("loss", 0, 2).log("loss", 5, 100).finish();
  rank(1).log("loss", 0, 4).finish();
  rank(1, 2, 3).log("loss", 0, 10).log("loss", 4, 6).finish();
  const AcrossRanks a = across();
  EXPECT_EQ(a.steps, (Ints{0, 4})) << "step 5 is shadowed for every rank";
  EXPECT_EQ(number(a, a.min_bits[0]), 10) << "of the newest attempt that has the step";
  EXPECT_EQ(number(a, a.max_bits[0]), 10);
}

// Bug: the mean of two ranks after an elastic restart was that of them and of two that were no longer there.
TEST_F(AcrossRanksTest, ARestartInASmallerWorldIsNotMixedWithTheRanksBefore) {
  for (const int64_t number : {0, 1, 2, 3})
    rank(number).log("loss", 0, static_cast<double>(number)).log("loss", 9, static_cast<double>(number)).finish();
  for (const int64_t number : {0, 1}) rank(number, 2).log("loss", 0, 100 + static_cast<double>(number)).finish();
  const AcrossRanks a = across();
  EXPECT_EQ(a.steps, (Ints{0, 9}));
  EXPECT_EQ(a.count, (Ints{2, 4}));
  EXPECT_EQ(a.mean, (std::vector<double>{100.5, 1.5}));
  EXPECT_EQ(a.max_rank, (Ints{1, 3}));
  EXPECT_EQ(number(a, a.min_bits[0]), 100);
}

TEST_F(AcrossRanksTest, RandomValuesAgreeWithPlainLoops) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::map<int64_t, std::map<int64_t, double>> model;  // step, rank, value
  for (const int64_t number : {5, 0, 63, 8}) {
    auto writer = rank(number);
    for (int i = 0; i < 300; ++i) {
      const auto step = static_cast<int64_t>(random() % 100);
      model[step][number] = static_cast<double>(random() % 1000) / 8;
      writer.log("loss", step, model[step][number]);
    }
    writer.finish();
  }
  const AcrossRanks a = across();
  ASSERT_EQ(a.steps.size(), model.size());
  size_t i = 0;
  for (const auto& [step, values] : model) {
    double sum = 0;
    auto low = values.begin(), high = values.begin();
    for (auto at = values.begin(); at != values.end(); ++at) {
      sum += at->second;
      if (at->second < low->second) low = at;
      if (at->second > high->second) high = at;
    }
    EXPECT_EQ(a.steps[i], step);
    EXPECT_EQ(number(a, a.min_bits[i]), low->second);
    EXPECT_EQ(number(a, a.max_bits[i]), high->second);
    EXPECT_EQ(a.min_rank[i], low->first);
    EXPECT_EQ(a.max_rank[i], high->first);
    EXPECT_EQ(a.mean[i], sum / static_cast<double>(values.size()));
    ++i;
  }
}

TEST_F(AcrossRanksTest, TheRankThatFellBehindIsNamed) {
  for (const int64_t number : {0, 12, 37}) {
    auto writer = rank(number);
    for (int64_t step = 800; step <= (number == 37 ? 812 : 912); ++step) writer.log("loss", step, 1);
    if (number != 37) writer.end(RunState::kFinished);
    writer.heartbeat(kBuilderStartUs + 500 * kSecondUs).finish();
  }
  const auto all = ranks();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].rank, 37);
  EXPECT_EQ(all[2].last_step, 812);
  EXPECT_EQ(all[2].points, 13u);
  EXPECT_EQ(all[2].last_logged_us, kBuilderStartUs + 13 * kSecondUs);
  EXPECT_EQ(all[0].state, "finished");
  EXPECT_EQ(behind_text(all), "rank 37 last logged step 812, 100 behind rank 0");
}

TEST_F(AcrossRanksTest, RanksThatStandAtTheSameStepAreNotBehind) {
  rank(0).log("loss", 5, 1).finish();
  EXPECT_EQ(behind_text(ranks()), "");
  rank(1).log("loss", 5, 1).finish();
  EXPECT_EQ(behind_text(ranks()), "");
  builder_.writer(run_, {.rank = 2, .world_size = 64, .observed = true}).finish();
  EXPECT_EQ(behind_text(ranks()), "") << "an observed rank logs no step";
  EXPECT_TRUE(ranks()[2].observed);
  EXPECT_FALSE(ranks()[2].last_step);
}

TEST_F(AcrossRanksTest, AFinishedRunSaysWhichRankDied) {
  rank(0).log("loss", 5, 1).end(RunState::kFinished).finish();
  rank(3).log("loss", 5, 1).note(Value::Map{{"kind", "recovered"}, {"points", 1}}).finish();
  auto view = RunView::open(run_);
  EXPECT_EQ((*view)->state(), RunState::kFinished);
  EXPECT_EQ((*view)->state_detail(), "rank 3 crashed");
}

}  // namespace
}  // namespace tracker::internal
