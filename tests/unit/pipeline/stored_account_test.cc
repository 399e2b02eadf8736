// SPDX-License-Identifier: MIT
// The account of a writer's stored frames when a part of its files is gone, is stored again, or was stored by another
// process. Method: accounts of a few frames.
#include <gtest/gtest.h>

#include "pipeline/stored_account.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kLoss = 1, kOther = 2, kSystem = 3;

FrameCounts frame(std::vector<SeriesPoints> points, uint64_t texts = 0, uint64_t dropped = 0) {
  return {std::move(points), texts, dropped, 10};
}

WriterSnapshot snapshot_with(const std::vector<SeriesPoints>& points) {
  WriterSnapshot out;
  for (const SeriesPoints& each : points) {
    SeriesStats series;
    series.def.id = each.series;
    series.points = each.points;
    out.series.push_back(series);
    out.points += each.points;
  }
  return out;
}

class StoredAccountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    account_.sample_series = {kSystem};
    add(frame({{kLoss, 10}, {kOther, 5}, {kSystem, 2}}, 3, 1));
    add(frame({{kLoss, 10}}, 1));
  }
  void add(const FrameCounts& counts) {
    account_.make_room(counts.points);
    account_.add(counts);
  }
  PointCounts counts(uint32_t series) const {
    SeriesCounts out;
    account_.add_to(&out);
    return out.of(series);
  }
  StoredAccount account_;
};

TEST_F(StoredAccountTest, StoredFramesAddUpBySeriesAndSamplesOfTheSystemAreNoPointsOfTheProgram) {
  EXPECT_EQ(counts(kLoss).stored, 20u);
  EXPECT_EQ(counts(kOther).stored, 5u);
  EXPECT_EQ(counts(kSystem).stored, 2u);
  EXPECT_EQ(account_.points, 27u);
  EXPECT_EQ(account_.points_of_program(), 25u);
  EXPECT_EQ(account_.texts, 4u);
  EXPECT_EQ(account_.dropped, 1u);
  EXPECT_EQ(account_.bytes, 20u);
}

TEST_F(StoredAccountTest, WhatAPartDoesNotHoldAnyMoreIsDroppedAndTheSumOfASeriesStays) {
  const Logged gone = account_.remove_gone(snapshot_with({{kLoss, 12}}), frame({{kOther, 1}}, 1));
  EXPECT_EQ(gone.points, 8u + 4u) << "samples of the system are not the program's";
  EXPECT_EQ(gone.texts, 3u);
  for (const auto& [series, stored, dropped] : {std::tuple(kLoss, 12u, 8u), {kOther, 1u, 4u}, {kSystem, 0u, 2u}}) {
    EXPECT_EQ(counts(series).stored, stored);
    EXPECT_EQ(counts(series).dropped, dropped);
  }
  EXPECT_EQ(account_.points_of_program() + account_.points_removed, 25u);
  EXPECT_EQ(account_.texts + account_.texts_removed, 4u);
}

TEST_F(StoredAccountTest, AFrameOfARunThatIsGivenUpIsDropped) {
  Logged gone;
  account_.remove(frame({{kLoss, 7}, {kSystem, 1}}, 2), &gone);
  EXPECT_EQ(gone.points, 7u);
  EXPECT_EQ(gone.texts, 2u);
  EXPECT_EQ(counts(kLoss).dropped, 7u);
  EXPECT_EQ(counts(kSystem).dropped, 1u);
  EXPECT_EQ(account_.points_removed, 7u);
}

TEST_F(StoredAccountTest, WhatAnotherProcessHasStoredReplacesTheAccount) {
  WriterSnapshot there = snapshot_with({{kLoss, 30}});
  there.dropped = 4;
  there.frame_bytes = 99;
  account_.take_over(there);
  EXPECT_EQ(counts(kLoss).stored, 30u);
  EXPECT_EQ(counts(kOther).stored, 0u);
  EXPECT_EQ(account_.points, 30u);
  EXPECT_EQ(account_.dropped, 4u);
  EXPECT_EQ(account_.bytes, 99u);
}

TEST_F(StoredAccountTest, TheNextPartStatesWhatThePartsBeforeItHoldWithoutTheFramesThatItStoresAgain) {
  (void)account_.remove_gone(snapshot_with({{kLoss, 20}, {kOther, 4}, {kSystem, 2}}), frame({}, 4));
  const PartsBefore before = account_.before_part(17, frame({{kLoss, 10}, {kSystem, 2}}, 1, 1));
  EXPECT_EQ(before.seq, 17u);
  EXPECT_EQ(before.points, 25u - 10u);
  EXPECT_EQ(before.log_points, 27u - 12u);
  EXPECT_EQ(before.texts, 3u);
  EXPECT_EQ(before.dropped, 0u);
}

}  // namespace
}  // namespace tracker::internal
