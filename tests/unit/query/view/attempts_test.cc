// SPDX-License-Identifier: MIT
// Goal: a run resumed at a step shows one curve without what the resume shadows, and every row on request (F14).
// Method: stores built writer by writer; random trainings with kills against a model that is a std::map; the program
// prints its seed.
#include "query/view/attempts.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/store_builder.h"

namespace tracker::internal {
namespace {

using Steps = std::vector<int64_t>;
using Doubles = std::vector<double>;

class AttemptsTest : public testing::Test {
 protected:
  std::unique_ptr<RunView> open() {
    auto view = RunView::open(run_);
    EXPECT_TRUE(view.ok());
    return std::move(*view);
  }
  History read(const std::string& metric, bool all = false) {
    auto history = open()->history(metric, all);
    EXPECT_TRUE(history.ok()) << history.status().to_string();
    return history.ok() ? std::move(*history) : History();
  }
  static Doubles doubles(const History& history) {
    Doubles out;
    for (const uint64_t bits : history.bits) out.push_back(to_double(history.type, bits));
    return out;
  }
  // Logs metric(step) = attempt * 1000 + step for the steps from `first` to `last`.
  void attempt(int64_t number, int64_t first, int64_t last, std::optional<int64_t> resume_step = {},
               int64_t continues = 0) {
    auto writer = builder_.writer(run_, {.attempt = number,
                                         .started_us = kBuilderStartUs + number * 1000 * kSecondUs,
                                         .continues = continues,
                                         .resume_step = resume_step});
    for (int64_t step = first; step <= last; ++step)
      writer.log("loss", step, static_cast<double>(number * 1000 + step));
    writer.finish();
  }

  StoreBuilder builder_;
  RunFolder run_ = builder_.run("mnist", "otter");
};

// Promise P2: Without a step nothing is hidden, and a later attempt wins.
TEST_F(AttemptsTest, WithoutAStepNothingIsHiddenAndTheLaterAttemptWins) {
  attempt(1, 0, 5);
  attempt(2, 3, 3, {}, 1);
  EXPECT_EQ(read("loss").steps, (Steps{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(doubles(read("loss")), (Doubles{1000, 1001, 1002, 2003, 1004, 1005}));
}

// Promise P2: With step S, rows of earlier attempts with a step > S are shadowed, those without a step never.
TEST_F(AttemptsTest, AStepShadowsWhatEarlierAttemptsLoggedBehindIt) {
  attempt(1, 0, 5);
  attempt(2, 3, 3, 2, 1);
  EXPECT_EQ(doubles(read("loss")), (Doubles{1000, 1001, 1002, 2003}));
  EXPECT_EQ(read("loss", true).size(), 7u) << "all rows stay readable";
}

TEST_F(AttemptsTest, TheStepItselfBelongsToThePast) {
  attempt(1, 0, 3);
  attempt(2, 3, 3, 3, 1);
  EXPECT_EQ(doubles(read("loss")), (Doubles{1000, 1001, 1002, 2003})) << "the resumed attempt logged it again";
}

TEST_F(AttemptsTest, ALaterResumeFromAnEarlierStepShadowsTheBranchBetween) {
  attempt(1, 0, 10);
  attempt(2, 7, 9, 6, 1);
  attempt(3, 4, 5, 3, 1);
  EXPECT_EQ(doubles(read("loss")), (Doubles{1000, 1001, 1002, 1003, 3004, 3005}));
  const auto attempts = open()->attempts();
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].shown_up_to, 3);
  EXPECT_EQ(attempts[1].shown_up_to, 3);
  EXPECT_EQ(attempts[2].shown_up_to, std::nullopt);
  EXPECT_EQ(attempts[1].resume_step, 6);
  EXPECT_EQ(attempts[2].points, 2u);
}

TEST_F(AttemptsTest, ARunRestartedBeforeItsFirstStepShowsOnlyTheNewAttempt) {
  attempt(1, 0, 3);
  attempt(2, 0, 1, -1, 1);
  EXPECT_EQ(doubles(read("loss")), (Doubles{2000, 2001}));
}

TEST_F(AttemptsTest, RowsWithoutAStepAreNeverShadowed) {
  builder_.writer(run_).log("gpu", std::nullopt, 1).log("gpu", std::nullopt, 2).finish();
  builder_.writer(run_, {.attempt = 2, .resume_step = -5}).log("gpu", std::nullopt, 3).finish();
  EXPECT_EQ(doubles(read("gpu")), (Doubles{1, 2, 3}));
}

TEST_F(AttemptsTest, TextsAreShadowedLikeNumbersButForThoseWithoutAStep) {
  builder_.writer(run_).text("t", 1, "a").text("t", 9, "b").text("t", std::nullopt, "console").finish();
  builder_.writer(run_, {.attempt = 2, .resume_step = 5}).text("t", 6, "c").finish();
  const auto texts = open()->texts("t");
  ASSERT_TRUE(texts.ok());
  std::string seen;
  for (const TextRow& row : *texts) seen += row.text + " ";
  EXPECT_EQ(seen, "a c console ");
  EXPECT_EQ(open()->texts("t", true)->size(), 4u);
}

TEST_F(AttemptsTest, TheSummaryShowsTheLastValueThatIsNotShadowed) {
  auto first = builder_.writer(run_);
  for (int64_t step = 0; step <= 10; ++step) first.log("acc", step, static_cast<double>(step));
  first.log("late", 8, 1.0).log("early", 2, 4.0).finish();
  builder_.writer(run_, {.attempt = 2, .continues = 1, .resume_step = 5}).log("loss", 6, 0.5).finish();
  EXPECT_EQ(to_json(open()->summary()), R"({"acc":5.0,"early":4.0,"loss":0.5})") << "late is shadowed as a whole";
  const auto metrics = open()->metrics();
  ASSERT_EQ(metrics[0].name, "acc");
  EXPECT_EQ(metrics[0].last_step, 5);
}

TEST_F(AttemptsTest, TheFirstRowOfAStepCountsWhereTheRunSaysSo) {
  auto one = builder_.writer(run_);
  one.set(EventType::kAttribute, std::string(kDuplicatePolicyKey), "first");
  one.log("x", 1, 1).log("x", 0, 2).log("x", 1, 3).log("x", std::nullopt, 4).log("x", std::nullopt, 5).commit();
  one.log("x", 0, 6).finish();
  EXPECT_EQ(doubles(read("x")), (Doubles{2, 1, 4, 5}));
  EXPECT_EQ(doubles(read("x", true)), (Doubles{1, 2, 3, 4, 5, 6}));
  builder_.writer(run_, {.attempt = 2}).log("x", 1, 7).log("x", 1, 8).finish();
  EXPECT_EQ(doubles(read("x")), (Doubles{2, 7, 4, 5})) << "a later attempt wins all the same";
}

TEST_F(AttemptsTest, OfTheRanksOfAnAttemptTheLowestIsShown) {
  for (const int64_t rank : {2, 0, 1})
    builder_.writer(run_, {.rank = rank, .world_size = 3, .started_us = kBuilderStartUs + rank})
        .log("loss", 0, static_cast<double>(rank))
        .log("only/" + std::to_string(rank), 0, 1)
        .finish();
  EXPECT_EQ(doubles(read("loss")), Doubles{0});
  EXPECT_EQ(to_json(*open()->summary().find("loss")), "0.0");
  builder_.writer(run_, {.attempt = 2, .rank = 2, .world_size = 3}).log("loss", 0, 22).finish();
  EXPECT_EQ(doubles(read("loss")), Doubles{22});
}

TEST(AttemptTreeTest, AnAttemptContinuesTheOneThatHoldsItsStep) {
  std::vector<AttemptInfo> attempts(3);
  for (int64_t i = 0; i < 3; ++i) attempts[static_cast<size_t>(i)].attempt = i + 1;
  EXPECT_EQ(attempt_to_continue({}, {}), 0);
  EXPECT_EQ(attempt_to_continue(attempts, {}), 3);
  EXPECT_EQ(attempt_to_continue(attempts, 600), 3) << "no resume step: its rows may be anywhere";
  attempts[1].continues = 1, attempts[1].resume_step = 600;
  attempts[2].continues = 2, attempts[2].resume_step = 800;
  EXPECT_EQ(attempt_to_continue(attempts, 900), 3);
  EXPECT_EQ(attempt_to_continue(attempts, 800), 2);
  EXPECT_EQ(attempt_to_continue(attempts, 600), 1);
  attempts[1].continues = 3;  // a file may say anything: no endless loop
  EXPECT_NE(attempt_to_continue(attempts, 1), 0);
}

TEST_F(AttemptsTest, RandomResumesShowWhatTheModelShows) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::map<int64_t, double> shown;
  size_t rows = 0;
  for (int64_t number = 1; number <= 12; ++number) {
    std::optional<int64_t> from;
    int64_t step = shown.empty() ? 0 : shown.rbegin()->first + 1;
    if (number > 1 && random() % 4 != 0) {
      from = static_cast<int64_t>(random() % 300);
      shown.erase(shown.upper_bound(*from), shown.end());
      step = *from + 1;
    }
    auto writer = builder_.writer(run_, {.attempt = number, .resume_step = from});
    const auto count = random() % 200;
    for (uint64_t i = 0; i < count; ++i, ++rows) {
      if (random() % 10 == 0) step -= static_cast<int64_t>(random() % 20);  // some steps come twice, some are rewound
      const double value = static_cast<double>(random() % 100'000);
      writer.log("loss", step, value);
      shown[step++] = value;
    }
    writer.log("other", 0, 0).finish();
  }
  Steps steps;
  Doubles values;
  for (const auto& [step, value] : shown) steps.push_back(step), values.push_back(value);
  const History history = read("loss");
  EXPECT_EQ(history.steps, steps);
  EXPECT_EQ(doubles(history), values);
  EXPECT_EQ(read("loss", true).size(), rows);
}

}  // namespace
}  // namespace tracker::internal
