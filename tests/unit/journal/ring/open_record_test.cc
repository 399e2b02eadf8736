// SPDX-License-Identifier: MIT
// Goal: what is written value by value into the ring comes out like any call, whole or not at all. Method: a journal
// without threads, drained by hand; a reader checks every CRC.
#include "journal/ring/open_record.h"

#include <gtest/gtest.h>

#include "support/conditions.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

constexpr size_t kValues = 100;

// A journal with a hundred metrics in whose ring this thread has logged, so that the fast path is open to it.
class OpenRecordTest : public ::testing::Test {
 protected:
  OpenRecordTest() : journal_(sandbox_, {}) {
    if (!kHasCrc32c) return;
    first_ = series(0);
    for (size_t i = 1; i < kValues; ++i) EXPECT_EQ(series(i), first_ + i);
    EXPECT_EQ(journal_.log_many(first_, 1, 1), Code::kOk);
    // The call that ends the first 2 KiB is timed, on the slow path.
    for (int i = 0; i < 2; ++i) EXPECT_EQ(journal_.log_many(first_, kValues, 2), Code::kOk);
    (void)journal_.drain();
  }
  void SetUp() override { NEEDS(kCrc32cInstruction); }
  uint32_t series(size_t i) { return journal_->series_id("metric/" + std::to_string(i), ValueType::kInt64); }
  // Values 0 to count-1 of the metrics from the first one on.
  void fill(OpenRecord* record, size_t count) const {
    for (size_t i = 0; i < count; ++i) record->add(i, first_ + static_cast<uint32_t>(i));
  }
  void expect_values(size_t count, int64_t step) {
    const std::vector<Cell> cells = cells_of(journal_.drain());
    ASSERT_EQ(cells.size(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(cells[i], (Cell{first_ + static_cast<uint32_t>(i), step, i}));
  }

  Sandbox sandbox_;
  LiveJournal journal_;
  uint32_t first_ = 0;
};

TEST_F(OpenRecordTest, ValuesAreReadBackUnderTheirStepAndCounted) {
  const uint64_t before = journal_->counts().accepted;
  OpenRecord record;
  ASSERT_TRUE(record.begin(journal_.hot(), kValues, 7));
  fill(&record, kValues);
  record.publish();
  EXPECT_EQ(journal_->counts().accepted - before, kValues);
  EXPECT_EQ(hot_next_step(journal_.hot()), 8);
  expect_values(kValues, 7);
}

TEST_F(OpenRecordTest, FewerValuesThanThereIsRoomForAreARecord) {
  OpenRecord record;
  ASSERT_TRUE(record.begin(journal_.hot(), kValues, 7));
  fill(&record, kValues - 3);
  record.publish();
  expect_values(kValues - 3, 7);
}

TEST_F(OpenRecordTest, WhatIsLeftIsNotThereAndItsPlaceIsUsedAgain) {
  OpenRecord record;
  ASSERT_TRUE(record.begin(journal_.hot(), kValues, 7));
  fill(&record, 10);
  record.leave();
  ASSERT_TRUE(record.begin(journal_.hot(), kValues, 8));
  record.publish();  // without a value it is none
  EXPECT_TRUE(journal_.drain().empty());
  EXPECT_EQ(hot_next_step(journal_.hot()), 3);
  ASSERT_EQ(journal_.log_many(first_, 2, 9), Code::kOk);
  EXPECT_EQ(cells_of(journal_.drain()).size(), 2u);
}

TEST_F(OpenRecordTest, WithoutRoomAndAfterTheEndNothingIsBegun) {
  OpenRecord record;
  EXPECT_FALSE(record.begin(journal_.hot(), kFastPairsMax + 1, 7));
  EXPECT_FALSE(record.begin(journal_.hot(), 0, 7));
  int records = 0;
  for (; records < 1000 && record.begin(journal_.hot(), kValues, 7); ++records) {  // 1.6 MB into a ring of 256 KiB
    fill(&record, kValues);
    record.publish();
  }
  EXPECT_LT(records, 1000);
  EXPECT_TRUE(journal_.close());  // waits for a thread within a record, and there is none
  EXPECT_FALSE(record.begin(journal_.hot(), 1, 7));
}

}  // namespace
}  // namespace tracker::internal
