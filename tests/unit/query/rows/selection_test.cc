// SPDX-License-Identifier: MIT
// Goal: a selection gives exactly the rows it names, resolved among themselves.
// Method: runs of several attempts and ranks, read with and without ranges and compared row by row.
#include "query/rows/selection.h"

#include <random>

#include "support/child.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

class SelectionTest : public ReadTest {
 protected:
  History read(const Selection& selection) {
    auto histories = open()->read(selection);
    EXPECT_TRUE(histories.ok()) << histories.status().to_string();
    return histories.ok() ? std::move(histories->front()) : History();
  }
  Status failure(const Selection& selection) { return open()->read(selection).status(); }
  static Selection of(const std::string& metric) {
    Selection out;
    out.metrics = {metric};
    return out;
  }
};

TEST_F(SelectionTest, BothEndsOfARangeOfStepsBelongToIt) {
  auto writer = builder_.writer(run_);
  for (int64_t step = 0; step < 10; ++step) writer.log("loss", step, static_cast<double>(step));
  writer.log("loss", std::nullopt, 99).finish();
  Selection selection = of("loss");
  selection.steps = {3, 5};
  EXPECT_EQ(read(selection).steps, (Steps{3, 4, 5}));
  selection.steps = {INT64_MIN, INT64_MAX};
  EXPECT_EQ(read(selection).size(), 10u);  // a row without a step lies in no range of steps
  selection.steps.reset();
  EXPECT_EQ(read(selection).size(), 11u);
}

TEST_F(SelectionTest, ARangeOfTimesShowsTheRunAsItStoodThen) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 1, 10, 1000).log("loss", 2, 20, 2000).log("loss", 1, 11, 3000).finish();
  Selection selection = of("loss");
  selection.times_us = {INT64_MIN, 2000};
  EXPECT_EQ(doubles(read(selection)), (Doubles{10, 20}));
  selection.times_us = {2000, INT64_MAX};
  EXPECT_EQ(doubles(read(selection)), (Doubles{11, 20}));
}

TEST_F(SelectionTest, OnlyAnAttemptThatIsChosenShadowsTheOthers) {
  auto first = builder_.writer(run_);
  for (int64_t step = 0; step < 5; ++step) first.log("loss", step, static_cast<double>(step));
  first.finish();
  builder_.writer(run_, {.attempt = 2, .continues = 1, .resume_step = 1}).log("loss", 2, 12).finish();
  Selection selection = of("loss");
  EXPECT_EQ(doubles(read(selection)), (Doubles{0, 1, 12}));
  selection.attempts = {1};
  EXPECT_EQ(doubles(read(selection)), (Doubles{0, 1, 2, 3, 4}));
  selection.attempts = {2};
  EXPECT_EQ(doubles(read(selection)), (Doubles{12}));
  selection.attempts = {1, 2};
  selection.steps = {1, 4};
  EXPECT_EQ(doubles(read(selection)), (Doubles{1, 12}));
}

// Promise P2: Shadowed rows stay readable.
TEST_F(SelectionTest, RowsOfAnAttemptThatALaterOneRepeatedAreReadable) {
  builder_.writer(run_, {.attempt = 1}).log("loss", 0, 1).log("loss", 1, 2).finish();
  builder_.writer(run_, {.attempt = 2}).log("loss", 1, 3).finish();
  Selection selection = of("loss");
  EXPECT_EQ(doubles(read(selection)), (Doubles{1, 3}));
  selection.attempts = {1};
  EXPECT_EQ(doubles(read(selection)), (Doubles{1, 2}));
  selection.attempts = {1, 2};
  EXPECT_EQ(doubles(read(selection)), (Doubles{1, 3}));
}

TEST_F(SelectionTest, RanksAreReadOneByOneOrTogether) {
  builder_.writer(run_, {.rank = 0, .world_size = 2}).log("loss", 0, 1).finish();
  builder_.writer(run_, {.rank = 1, .world_size = 2}).log("loss", 0, 5).log("loss", 1, 6).finish();
  Selection selection = of("loss");
  selection.ranks = {0};
  EXPECT_EQ(doubles(read(selection)), (Doubles{1}));
  selection.ranks = {1};
  const History history = read(selection);
  EXPECT_EQ(doubles(history), (Doubles{5, 6}));
  EXPECT_EQ(history.row_source(0).rank, 1);
}

TEST_F(SelectionTest, WhatIsNotThereIsNamedWithWhatIs) {
  builder_.writer(run_, {.attempt = 1}).log("loss", 0, 1).finish();
  builder_.writer(run_, {.attempt = 2}).log("loss", 0, 1).finish();
  Selection selection = of("loss");
  selection.attempts = {3};
  EXPECT_EQ(failure(selection).message(), "the run has no attempt 3; it has 1, 2");
  EXPECT_EQ(failure(selection).code(), Code::kNotFound);
  selection.attempts.reset();
  selection.ranks = {1};
  EXPECT_EQ(failure(selection).message(), "the run has no rank 1; it has 0");
  selection.ranks = std::vector<int64_t>{};
  EXPECT_EQ(failure(selection).code(), Code::kInvalid);
  selection.ranks.reset();
  selection.steps = {5, 4};
  EXPECT_EQ(failure(selection).message(), "steps: 5 is greater than 4");
  EXPECT_EQ(failure(of("los")).code(), Code::kNotFound);
}

// Rows of several metrics logged together and apart, with and without steps, filtered while they are read.
TEST_F(SelectionTest, RangesGiveTheRowsThatAFilterOverAllRowsGives) {
  std::mt19937_64 random(test_seed("SelectionTest"));
  auto writer = builder_.writer(run_);
  for (int row = 0; row < 3000; ++row) {
    const auto step = static_cast<int64_t>(random() % 500);
    const std::optional<int64_t> own = random() % 10 == 0 ? std::nullopt : std::optional(step);
    const int64_t time = 1'000'000 + row * 10 - static_cast<int64_t>(random() % 50);
    writer.log("a", own, row, time);
    if (random() % 3 == 0) writer.log_bits("a", ValueType::kInt64, own, static_cast<uint64_t>(row), time);
    if (random() % 100 == 0) writer.commit();
  }
  writer.finish();
  Selection all = of("a");
  all.all = true;
  const History rows = read(all);
  for (int round = 0; round < 30; ++round) {
    Selection some = all;
    const auto lo = static_cast<int64_t>(random() % 500), first = 1'000'000 + static_cast<int64_t>(random() % 30'000);
    if (round % 3 != 0) some.steps = {lo, lo + static_cast<int64_t>(random() % 200)};
    if (round % 3 != 1) some.times_us = {first, first + static_cast<int64_t>(random() % 10'000)};
    std::vector<uint64_t> wanted;
    Steps steps;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (some.steps && (!rows.row_has_step(i) || !some.steps->contains(rows.steps[i]))) continue;
      if (some.times_us && !some.times_us->contains(rows.times_us[i])) continue;
      wanted.push_back(rows.row_bits(i));
      steps.push_back(rows.steps[i]);
    }
    const History got = read(some);
    EXPECT_EQ(got.own_bits, wanted);
    EXPECT_EQ(got.steps, steps);
  }
}

TEST_F(SelectionTest, ARowWhoseClockWasSetBackStaysWhereItWasLogged) {
  auto writer = builder_.writer(run_);
  writer.log("x", 0, 1, 100).log("x", 0, 2, 500).log("x", 0, 3, 200);  // one block; its clock goes back
  writer.log_bits("x", ValueType::kInt64, 0, 4, 300).finish();
  Selection selection = of("x");
  selection.all = true;
  EXPECT_EQ(doubles(read(selection)), (Doubles{1, 2, 3, 4}));
}

}  // namespace
}  // namespace tracker::internal
