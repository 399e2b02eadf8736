// SPDX-License-Identifier: MIT
// Goal: a history is complete and exact: every bit, every row, the resolved view as documented.
// Method: stores built frame by frame, read through RunView.
#include <gtest/gtest.h>

#include <random>

#include "query/view/run_view.h"
#include "query/view/visit.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

class HistoryTest : public testing::Test {
 protected:
  std::unique_ptr<RunView> open() {
    auto view = RunView::open(run_);
    EXPECT_TRUE(view.ok());
    return std::move(*view);
  }
  History read(const std::string& metric, bool all = false) {
    auto view = open();
    auto history = view->history(metric, all);
    EXPECT_TRUE(history.ok()) << history.status().to_string();
    return history.ok() ? std::move(*history) : History();
  }
  static std::vector<double> doubles(const History& history) {
    std::vector<double> out;
    for (const uint64_t bits : history.bits) out.push_back(to_double(history.type, bits));
    return out;
  }

  StoreBuilder builder_;
  RunFolder run_ = builder_.run("mnist", "otter");
};

using Steps = std::vector<int64_t>;
using Doubles = std::vector<double>;

TEST_F(HistoryTest, RowsKeepEveryBitStepAndTime) {
  auto writer = builder_.writer(run_);
  const std::vector<uint64_t> bits{0x7ff8000000000001, 0xfff0000000000000, 0x8000000000000000, 1, bits_of(0.1)};
  for (size_t i = 0; i < bits.size(); ++i)
    writer.log_bits("loss", ValueType::kFloat64, INT64_MAX - 10 + static_cast<int64_t>(i), bits[i],
                    1000 + static_cast<int64_t>(i));
  writer.finish();
  const History history = read("loss");
  EXPECT_EQ(history.bits, bits);
  EXPECT_EQ(history.steps, (Steps{INT64_MAX - 10, INT64_MAX - 9, INT64_MAX - 8, INT64_MAX - 7, INT64_MAX - 6}));
  EXPECT_EQ(history.times_us, (Steps{1000, 1001, 1002, 1003, 1004}));
  EXPECT_FALSE(history.mixed());
  EXPECT_TRUE(history.source.empty());
}

TEST_F(HistoryTest, EachTypeReadsBackAsLogged) {
  auto writer = builder_.writer(run_);
  writer.log_bits("f32", ValueType::kFloat32, 0, bits_of(0.1f)).log_bits("f16", ValueType::kFloat16, 0, 0x3c01);
  writer.log_bits("bf16", ValueType::kBFloat16, 0, 0x7fc1).log_bits("i64", ValueType::kInt64, 0, bits_of(INT64_MIN));
  writer.log_bits("flag", ValueType::kBool, 0, 1);
  writer.finish();
  const std::vector<std::tuple<std::string, ValueType, uint64_t>> expected{
      {"f32", ValueType::kFloat32, bits_of(0.1f)},
      {"f16", ValueType::kFloat16, 0x3c01},
      {"bf16", ValueType::kBFloat16, 0x7fc1},
      {"i64", ValueType::kInt64, bits_of(INT64_MIN)},
      {"flag", ValueType::kBool, 1}};
  for (const auto& [name, type, bits] : expected) {
    const History history = read(name);
    EXPECT_EQ(history.type, type) << name;
    EXPECT_EQ(history.bits, std::vector<uint64_t>{bits}) << name;
  }
}

// Promise P2: A step is data: out of order, repeated, negative, missing or rewound, nothing is dropped; readers see the
// last value of a step and can ask for all.
TEST_F(HistoryTest, RepeatedAndRewoundStepsShowTheLastRowAndAllRowsOnRequest) {
  auto writer = builder_.writer(run_);
  for (const auto& [step, value] : std::vector<std::pair<int64_t, double>>{{3, 1}, {1, 2}, {2, 3}, {1, 4}, {-7, 5}})
    writer.log("loss", step, value);
  writer.finish();
  EXPECT_EQ(read("loss").steps, (Steps{-7, 1, 2, 3}));
  EXPECT_EQ(doubles(read("loss")), (Doubles{5, 4, 3, 1}));
  EXPECT_EQ(read("loss", true).steps, (Steps{3, 1, 2, 1, -7}));
}

TEST_F(HistoryTest, ALaterAttemptWinsWhereItRepeatsSteps) {
  auto second =
      builder_.writer(run_, {.attempt = 2, .started_us = kBuilderStartUs - kSecondUs});  // its clock is earlier
  second.log("loss", 2, 20).log("loss", 3, 30).finish();
  auto first = builder_.writer(run_, {.attempt = 1});
  first.log("loss", 0, 0).log("loss", 1, 1).log("loss", 2, 2).finish();
  const History history = read("loss");
  EXPECT_EQ(history.steps, (Steps{0, 1, 2, 3}));
  EXPECT_EQ(doubles(history), (Doubles{0, 1, 20, 30}));
  EXPECT_EQ(history.row_source(1).attempt, 1);
  EXPECT_EQ(history.row_source(2).attempt, 2);
  EXPECT_EQ(history.row_source(2).writer, second.identity().writer);
  EXPECT_EQ(doubles(read("loss", true)), (Doubles{0, 1, 2, 20, 30}));
}

TEST_F(HistoryTest, AWriterWithoutTheMetricIsNoSourceOfIt) {
  builder_.writer(run_, {.attempt = 1}).log("other", 0, 1).finish();
  builder_.writer(run_, {.attempt = 2}).log("loss", 0, 1).finish();
  const History history = read("loss");
  EXPECT_TRUE(history.source.empty());
  EXPECT_EQ(history.row_source(0).attempt, 2);
}

TEST_F(HistoryTest, RowsWithoutAStepFollowTheSteppedOnes) {
  auto writer = builder_.writer(run_);
  writer.log("loss", std::nullopt, 1)
      .log("loss", 9, 2)
      .commit()
      .log("loss", std::nullopt, 3)
      .log("loss", 4, 4)
      .finish();
  const History history = read("loss");
  EXPECT_EQ(doubles(history), (Doubles{4, 2, 1, 3}));
  EXPECT_EQ(history.has_step, (std::vector<uint8_t>{1, 1, 0, 0}));
  EXPECT_EQ(doubles(read("loss", true)), (Doubles{1, 2, 3, 4}));
}

TEST_F(HistoryTest, IntsAndBoolsMeetAsIntsAndAnythingElseAsDoubles) {
  auto writer = builder_.writer(run_);
  writer.log_bits("n", ValueType::kBool, 0, 1)
      .commit()
      .log_bits("n", ValueType::kInt64, 1, bits_of(INT64_MAX))
      .commit();
  writer.log_bits("x", ValueType::kInt64, 0, bits_of(INT64_MAX))
      .commit()
      .log_bits("x", ValueType::kFloat32, 1, bits_of(0.1f))
      .finish();
  const History ints = read("n");
  EXPECT_EQ(ints.type, ValueType::kInt64);
  EXPECT_EQ(ints.bits, (std::vector<uint64_t>{1, bits_of(INT64_MAX)}));
  EXPECT_EQ(ints.row_type(0), ValueType::kBool);
  const History mixed = read("x");
  EXPECT_EQ(mixed.type, ValueType::kFloat64);
  EXPECT_EQ(doubles(mixed), (Doubles{9223372036854775808.0, 0.1f}));
  EXPECT_EQ(mixed.row_bits(0), bits_of(INT64_MAX));  // the export writes the number that was logged
  EXPECT_EQ(mixed.row_type(1), ValueType::kFloat32);
}

TEST_F(HistoryTest, BlocksOfOneFrameAreMergedInTheOrderOfTheCalls) {
  auto writer = builder_.writer(run_);
  writer.log_bits("x", ValueType::kFloat64, 5, bits_of(1.0), 100)
      .log_bits("x", ValueType::kInt64, 5, bits_of(int64_t{2}), 100);  // within one microsecond
  writer.log_bits("x", ValueType::kFloat64, 6, bits_of(3.0), 100).finish();
  EXPECT_EQ(doubles(read("x", true)), (Doubles{1, 2, 3}));
  EXPECT_EQ(doubles(read("x")), (Doubles{2, 3}));
}

TEST_F(HistoryTest, AClockThatWasSetBackDoesNotReorderAWritersFrames) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 1, 1, 5000).commit().log("loss", 1, 2, 10).finish();
  EXPECT_EQ(doubles(read("loss")), (Doubles{2}));
}

TEST_F(HistoryTest, SeveralMetricsComeInTheOrderAskedAlsoWhenAskedTwice) {
  builder_.writer(run_).log("a", 0, 1).log("b", 0, 2).finish();
  auto view = open();
  const auto histories = view->histories({"b", "a", "b"});
  ASSERT_TRUE(histories.ok());
  EXPECT_EQ(doubles((*histories)[0]), (Doubles{2}));
  EXPECT_EQ(doubles((*histories)[1]), (Doubles{1}));
  EXPECT_EQ(doubles((*histories)[2]), (Doubles{2}));
}

TEST_F(HistoryTest, AnUnknownMetricIsAnErrorThatNamesCloseOnes) {
  builder_.writer(run_).log("train/loss", 0, 1).finish();
  const auto history = open()->history("train/los");
  EXPECT_EQ(history.status().code(), Code::kNotFound);
  EXPECT_EQ(history.status().message(), "run mnist/otter has no metric \"train/los\"; did you mean train/loss?");
}

TEST_F(HistoryTest, TextsAreResolvedLikeRows) {
  auto writer = builder_.writer(run_);
  writer.text("sample", 1, "old")
      .text("sample", 0, "first")
      .text("sample", 1, "new")
      .text("log", std::nullopt, "x")
      .finish();
  auto view = open();
  const auto texts = view->texts("sample");
  ASSERT_TRUE(texts.ok());
  ASSERT_EQ(texts->size(), 2u);
  EXPECT_EQ((*texts)[0].text, "first");
  EXPECT_EQ((*texts)[1].text, "new");
  EXPECT_EQ(view->texts("sample", true)->size(), 3u);
  EXPECT_EQ(view->texts_by_metric()->size(), 2u);
  EXPECT_EQ(view->text_metrics(), (std::vector<std::string>{"log", "sample"}));
}

TEST_F(HistoryTest, ADamagedFrameIsNamedAndTheOthersAreRead) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1).commit().log("loss", 1, 2).commit();
  const std::string damaged = writer.last_frame();
  writer.log("loss", 2, 3).finish();
  damage_bytes(writer.path(), damaged);
  auto view = open();
  const auto history = view->history("loss");
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->steps, (Steps{0, 2}));
  ASSERT_EQ(view->problems().size(), 1u);
  EXPECT_NE(view->problems()[0].find(writer.path() + ": frame 2"), std::string::npos) << view->problems()[0];
  EXPECT_EQ(view->problem_code(), Code::kCorrupt);
}

TEST_F(HistoryTest, VisitingReadsEveryMetricOnceWhateverTheBound) {
  auto writer = builder_.writer(run_);
  for (int metric = 0; metric < 5; ++metric)
    for (int step = 0; step < 10; ++step) writer.log("m" + std::to_string(metric), step, metric * 100 + step);
  writer.finish();
  auto view = open();
  const std::vector<std::string> names{"m0", "m1", "m2", "m3", "m4"};
  for (const uint64_t bound : {0, 1, 10, 25, 1000}) {
    std::vector<std::string> seen;
    const Status status =
        visit_histories(view.get(), names, false, bound, [&](const std::string& name, const History& history) {
          seen.push_back(name);
          EXPECT_EQ(history.size(), 10u);
          return Status();
        });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(seen, names) << bound;
  }
}

}  // namespace
}  // namespace tracker::internal
