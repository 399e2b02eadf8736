// SPDX-License-Identifier: MIT
// Very many metrics: the names and ids of a journal stay right, and what a frame holds of them is bounded, so that
// memory is, too. Method: a journal without threads is drained by the test.
#include <gtest/gtest.h>

#include <set>

#include "journal/dead/dead_journal.h"
#include "journal/ring/series_names.h"
#include "model/key.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

std::string name_of(uint32_t i) { return "layer/" + std::to_string(i) + "/norm"; }

// A journal with that first ring, in which the series 1 to `count` are defined.
std::unique_ptr<LiveJournal> journal_of(const Sandbox& sandbox, size_t first_ring_bytes, uint32_t count) {
  JournalOptions options;
  options.first_ring_bytes = first_ring_bytes;
  auto out = std::make_unique<LiveJournal>(sandbox, options);
  EXPECT_NE(out->get(), nullptr);
  for (uint32_t i = 1; i <= count; ++i) EXPECT_EQ((*out)->series_id(name_of(i), ValueType::kFloat64), i);
  return out;
}

TEST(ManySeriesTest, EachNameAndTypeKeepsItsId) {
  SeriesNames names;
  constexpr uint32_t kCount = 20'000;
  for (uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_EQ(names.find(name_of(i), ValueType::kFloat64), 0U);
    names.make_room(name_of(i));
    ASSERT_EQ(names.add(name_of(i), ValueType::kFloat64), i);
  }
  const std::string longest(kKeyBytesMax, 'n');
  names.make_room(longest);
  EXPECT_EQ(names.add(longest, ValueType::kBool), kCount + 1);
  EXPECT_EQ(names.def(kCount + 1), (SeriesDef{kCount + 1, ValueType::kBool, longest}));
  names.make_room(name_of(7));
  const uint32_t again = names.add(name_of(7), ValueType::kInt64);
  for (uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_EQ(names.find(name_of(i), ValueType::kFloat64), i);
    ASSERT_EQ(names.def(i), (SeriesDef{i, ValueType::kFloat64, name_of(i)}));
  }
  EXPECT_EQ(names.find(name_of(7), ValueType::kInt64), again);
  EXPECT_EQ(names.of(name_of(7)), (std::vector<uint32_t>{7, again}));
  EXPECT_EQ(names.metric(again), 7U);
  EXPECT_EQ(names.find(name_of(8), ValueType::kInt64), 0U);
  EXPECT_TRUE(names.of("absent").empty());
}

// Regression: names had no bound in bytes, and 262,144 long ones would fill a /dev/shm of 64 MB that others use too.
TEST(ManySeriesTest, DefinitionsTakeNoMoreThanRingsAndSpillFileMay) {
  const Sandbox sandbox;
  JournalOptions options;
  options.budget_bytes = kJournalBytesMin;
  LiveJournal journal(sandbox, options);
  ASSERT_NE(journal.get(), nullptr);
  const std::string filler(kKeyBytesMax - 10, 'n');
  uint32_t last = 1, made = 0;
  for (uint32_t i = 1; last != 0 && i < 10'000; ++i, made += last != 0)
    last = journal->series_id(std::to_string(i) + filler, ValueType::kFloat64);
  EXPECT_EQ(last, 0U);
  EXPECT_LE(made * filler.size(), kJournalBytesMin);
  EXPECT_GE(made * filler.size(), kJournalBytesMin / 10 * 9);
  EXPECT_EQ(journal->series_id("1" + filler, ValueType::kFloat64), 1U) << "known ones stay";
}

TEST(ManySeriesTest, AFrameHoldsABoundedNumberOfSeriesAndDefinesThemFirst) {
  constexpr uint32_t kCount = 3 * kSeriesAFrame + 700;
  constexpr uint32_t kAtOnce = 100;
  const Sandbox sandbox;
  JournalOptions options;
  options.first_ring_bytes = 2 << 20;  // all of it in one drain
  LiveJournal journal(sandbox, options);
  ASSERT_NE(journal.get(), nullptr);
  for (uint32_t i = 1; i <= kCount; ++i) ASSERT_EQ(journal->series_id(name_of(i), ValueType::kFloat64), i);
  for (uint32_t first = 1; first + kAtOnce <= kCount; first += kAtOnce)
    ASSERT_EQ(journal.log_many(first, kAtOnce, 1), Code::kOk);
  std::set<uint32_t> defined, logged;
  const std::vector<Frame> frames = journal.drain();
  for (const Frame& frame : frames) {
    size_t held = frame.defs.size();
    for (const SeriesDef& def : frame.defs) EXPECT_TRUE(defined.insert(def.id).second) << def.id;
    for (const Block& block : frame.blocks)
      for (const uint32_t id : block.series) {
        ASSERT_TRUE(defined.count(id)) << id;
        logged.insert(id);
        ++held;
      }
    EXPECT_LE(held, kSeriesAFrame + kAtOnce);
  }
  EXPECT_EQ(defined.size(), kCount);
  EXPECT_EQ(logged.size(), kCount / kAtOnce * kAtOnce);
}

TEST(ManySeriesTest, AFrameHoldsABoundedNumberOfRows) {
  const Sandbox sandbox;
  JournalOptions options;
  options.first_ring_bytes = 4 << 20;
  LiveJournal journal(sandbox, options);
  ASSERT_NE(journal.get(), nullptr);
  ASSERT_EQ(journal->series_id("x", ValueType::kFloat64), 1u);
  constexpr size_t kCount = kRowsAFrame + 10;
  for (size_t step = 0; step < kCount; ++step) ASSERT_EQ(journal.log(1, step, static_cast<int64_t>(step)), Code::kOk);
  const std::vector<Frame> frames = journal.drain();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].points(), kRowsAFrame);
  EXPECT_EQ(frames[1].points(), kCount - kRowsAFrame);
}

TEST(ManySeriesTest, AFrameHoldsABoundedNumberOfBytesOfValues) {
  constexpr uint32_t kAtOnce = 100;
  const Sandbox sandbox;
  const auto made = journal_of(sandbox, 8 << 20, kAtOnce);
  LiveJournal& journal = *made;
  constexpr size_t kRowBytes = 16 + 8 * kAtOnce, kCalls = 3 * kBytesALiveFrame / 2 / kRowBytes;
  for (size_t call = 0; call < kCalls; ++call) ASSERT_EQ(journal.log_many(1, kAtOnce, 1), Code::kOk);
  const std::vector<Frame> frames = journal.drain();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_LT(frames[0].points() / kAtOnce * kRowBytes, kBytesALiveFrame + kRowBytes);
  EXPECT_EQ(frames[0].points() + frames[1].points(), kCalls * kAtOnce);
}

// All definitions were in the first part: from 64 MiB of names on no database took it, and nothing was recovered.
TEST(ManySeriesTest, WhatADeadProcessLeftIsReadInPartsThatHoldABoundedNumberOfSeries) {
  constexpr uint32_t kCount = 2 * kSeriesAFrame + 300;
  constexpr uint32_t kAtOnce = 100;
  const Sandbox sandbox;
  const auto made = journal_of(sandbox, 2 << 20, kCount);
  LiveJournal& journal = *made;
  for (uint32_t first = 1; first + kAtOnce <= kCount; first += kAtOnce)
    ASSERT_EQ(journal.log_many(first, kAtOnce, 1), Code::kOk);
  auto dead = DeadJournal::look(sandbox.journal_folders().at(0));
  ASSERT_TRUE(dead.ok());
  (*dead)->start({});
  uint32_t defined = 0;
  std::set<uint32_t> logged;
  for (bool more = true; more;) {
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    more = (*dead)->next(&builder, &positions);
    const Frame frame = builder.take();
    EXPECT_EQ(frame.empty(), !more);
    size_t held = frame.defs.size();
    for (const SeriesDef& def : frame.defs)
      EXPECT_EQ(def, (SeriesDef{++defined, ValueType::kFloat64, name_of(def.id)}));
    for (const Block& block : frame.blocks) {
      held += block.series.size();
      logged.insert(block.series.begin(), block.series.end());
    }
    EXPECT_LE(held, kSeriesAFrame + kAtOnce);
    EXPECT_EQ(positions.empty(), frame.blocks.empty()) << "a position moves with the records before it";
    EXPECT_TRUE(frame.blocks.empty() || defined == kCount) << "names come before their points";
  }
  EXPECT_EQ(defined, kCount);
  EXPECT_EQ(logged.size(), kCount / kAtOnce * kAtOnce);
}

}  // namespace
}  // namespace tracker::internal
