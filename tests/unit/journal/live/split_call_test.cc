// SPDX-License-Identifier: MIT
// A call larger than a quarter of its ring is split into records that share step and tick, which is their call number.
// Method: the records of the first ring are read as they lie there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/live_journal.h"

namespace tracker::internal {
namespace {

struct Record {
  uint32_t count;
  bool continues;
  int64_t step;
  uint64_t tick;
  uint64_t bytes;
};

uint64_t word_at(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

// Of a ring that has not come to the end of its first lap.
std::vector<Record> records_of(LiveJournal& journal) {
  std::vector<Record> out;
  const HotRing* ring = journal.hot()->rings[0].load();
  const uint64_t tail = ring->header->tail.load();
  for (uint64_t at = 0; at < tail; at += out.back().bytes) {
    const auto head = static_cast<uint32_t>(word_at(ring->data + at) >> 32);
    EXPECT_EQ(head_kind(head), RecordKind::kValues);
    const uint32_t count = head_count(head);
    out.push_back({count, (head & kHeadContinues) != 0, static_cast<int64_t>(word_at(ring->data + at + 8)),
                   word_at(ring->data + at + 16), kRecordHeadBytes + count * sizeof(ValuePair)});
  }
  return out;
}

TEST(SplitCallTest, NoRecordIsLargerThanAQuarterAndAllPartsShareOneCallNumber) {
  Sandbox sandbox;
  JournalOptions options;
  options.on_full = OnFull::kDrop;
  LiveJournal journal(sandbox, options);
  constexpr uint32_t kKeys = 10'000;
  for (uint32_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(journal->series_id("m/" + std::to_string(i), ValueType::kInt64), i + 1);
  ASSERT_EQ(journal.log_many(1, kKeys, 5), Code::kOk);
  const std::vector<Record> parts = records_of(journal);
  ASSERT_EQ(parts.size(), 3u);
  uint32_t keys = 0;
  for (const Record& part : parts) {
    EXPECT_LE(part.bytes, kFirstRingBytes / 4);
    EXPECT_EQ(part.step, 5);
    EXPECT_EQ(part.tick, parts[0].tick);
    keys += part.count;
    EXPECT_EQ(part.continues, keys < kKeys) << "all but the last say that more follow";
  }
  EXPECT_EQ(keys, kKeys);
  const std::vector<Cell> cells = cells_of(journal.drain());
  ASSERT_EQ(cells.size(), kKeys);
  for (uint32_t i = 0; i < kKeys; ++i) ASSERT_EQ(cells[i], (Cell{i + 1, 5, 5000 + i}));
}

TEST(SplitCallTest, ACallOfUpToAQuarterIsOneRecord) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  constexpr uint32_t kFits = (kFirstRingBytes / 4 - kRecordHeadBytes) / sizeof(ValuePair);
  for (uint32_t i = 0; i <= kFits; ++i)
    ASSERT_EQ(journal->series_id("m/" + std::to_string(i), ValueType::kInt64), i + 1);
  ASSERT_EQ(journal.log_many(1, kFits, 1), Code::kOk);
  ASSERT_EQ(journal.log_many(1, kFits + 1, 2), Code::kOk);
  std::vector<uint32_t> counts;
  for (const Record& record : records_of(journal)) counts.push_back(record.count);
  EXPECT_THAT(counts, ::testing::ElementsAre(kFits, kFits, 1u));
}

// Each column of a frame takes far more than its values: a call of 65,535 keys in one record took 8 MiB to drain.
TEST(SplitCallTest, NoRecordHasMoreKeysThanAPartHoweverLargeTheRing) {
  Sandbox sandbox;
  JournalOptions options;
  options.first_ring_bytes = 4 << 20;
  LiveJournal journal(sandbox, options);
  constexpr uint32_t kKeys = 2 * kPairsAPart + 5;
  for (uint32_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(journal->series_id("m/" + std::to_string(i), ValueType::kInt64), i + 1);
  ASSERT_EQ(journal.log_many(1, kKeys, 1), Code::kOk);
  std::vector<uint32_t> counts;
  for (const Record& record : records_of(journal)) counts.push_back(record.count);
  EXPECT_THAT(counts, ::testing::ElementsAre(kPairsAPart, kPairsAPart, 5u));
}

}  // namespace
}  // namespace tracker::internal
