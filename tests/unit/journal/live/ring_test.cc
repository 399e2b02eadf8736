// SPDX-License-Identifier: MIT
// Records come out of rings as they went in, through laps, pads, splits and growth, and nothing else verifies. Method:
// a journal without threads is logged into, drained and released by hand; the test changes bytes of a ring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "journal/ring/hot_path.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

JournalOptions small_ring(OnFull on_full = OnFull::kDrop) {
  JournalOptions options;
  options.first_ring_bytes = 4096;
  options.ring_bytes_max = 4096;
  options.on_full = on_full;
  return options;
}

TEST(RingTest, RecordsOfAnyShapeSurviveManyLaps) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, small_ring());
  const uint32_t first = journal->series_id("a/0", ValueType::kFloat64);
  for (int i = 1; i < 40; ++i) ASSERT_EQ(journal->series_id("a/" + std::to_string(i), ValueType::kFloat64), first + i);
  std::mt19937_64 random(3);
  for (int64_t step = -2000; step < 4000; ++step) {
    const size_t count = 1 + random() % 40;
    ASSERT_EQ(journal.log_many(first, count, step), Code::kOk) << step;
    const std::vector<Cell> cells = cells_of(journal.drain());
    ASSERT_EQ(cells.size(), count);
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(cells[i], (Cell{first + static_cast<uint32_t>(i), step, static_cast<uint64_t>(step) * 1000 + i}));
  }
  EXPECT_EQ(journal->counts().dropped, 0u);
}

class SplitTest : public ::testing::TestWithParam<size_t> {};

TEST_P(SplitTest, ACallLargerThanAQuarterOfTheRingIsSplitUnderOneStepAndTime) {
  Sandbox sandbox;
  JournalOptions options;
  options.budget_bytes = 64u << 20;
  options.first_ring_bytes = 8u << 20;
  LiveJournal journal(sandbox, options);
  const size_t count = GetParam();
  uint32_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t id = journal->series_id("metric/" + std::to_string(i), ValueType::kInt64);
    if (i == 0) first = id;
  }
  ASSERT_EQ(journal.log_many(first, count, 5), Code::kOk);
  std::set<int64_t> times;
  const std::vector<Frame> frames = journal.drain();
  for (const Frame& frame : frames)
    for (const Block& block : frame.blocks) times.insert(block.times_us.begin(), block.times_us.end());
  EXPECT_EQ(times.size(), 1u);
  const std::vector<Cell> cells = cells_of(frames);
  ASSERT_EQ(cells.size(), count);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(cells[i], (Cell{first + static_cast<uint32_t>(i), 5, 5000 + i}));
}

INSTANTIATE_TEST_SUITE_P(Keys, SplitTest, ::testing::Values(1, 1000, 1024, 1025, 100'000));

// Promise P1: Config, summary, tags and texts up to 64 KiB are covered like numbers.
TEST(RingTest, EventsOfEverySizeUpTo64KiBPassThroughTheFirstRing) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  for (size_t size : {0, 1, 7, 8, 9, 15, 16, 1000, 4095, 32'768, 65'535, 65'536, 65'536 + 1100}) {
    const std::string payload(size, static_cast<char>('a' + size % 26));
    ASSERT_EQ(journal->log_event(EventType::kText, payload, 7, true), Code::kOk) << size;
    const std::vector<Frame> frames = journal.drain();
    ASSERT_EQ(frames.size(), 1u);
    ASSERT_EQ(frames[0].events.size(), 1u);
    EXPECT_EQ(frames[0].events[0].payload, payload);
    EXPECT_EQ(frames[0].events[0].step, 7);
  }
  EXPECT_EQ(journal->log_event(EventType::kText, std::string(200'000, 'x'), 1, true), Code::kUnsupported);
  EXPECT_TRUE(journal.drain().empty());
}

RingSpan span_of(const std::vector<uint64_t>& data, uint64_t nonce, uint64_t from, uint64_t to) {
  RingSpan span;
  span.data = reinterpret_cast<const char*>(data.data());
  span.data_bytes = data.size() * 8;
  span.nonce = nonce;
  span.from = from;
  span.to = to;
  return span;
}

// A ring of 4 KiB in plain memory with records written by the hot path's own function.
struct PlainRing {
  static constexpr uint64_t kNonce = 0x1234567890abcd00;
  std::vector<uint64_t> data = std::vector<uint64_t>(512);
  RingHeader header{};
  HotRing hot{};
  PlainRing() {
    hot.seed = ring_seed(kNonce);
    hot.data = reinterpret_cast<char*>(data.data());
    hot.mask = data.size() * 8 - 1;
    hot.header = &header;
  }
  void publish(uint64_t bits, int64_t step) {
    const ValuePair pair{bits, 1, 0};
    publish_pairs(&hot, &pair, 1, step, true, 1000 + static_cast<uint64_t>(step));
  }
  // Values that a reader finds between two positions, and whether it met damage.
  std::pair<size_t, bool> read(uint64_t nonce, uint64_t from, uint64_t to) const {
    std::vector<RingSpan> spans{span_of(data, nonce, from, to)};
    FrameBuilder builder;
    read_rings(&spans, TimeLine({{1, 1, 1}}, 1.0), 1000, 1 << 20, &builder);
    return {builder.points(), spans[0].damaged};
  }
};

TEST(RingTest, AnyChangedByteIsNoticed) {
  PlainRing ring;
  for (int64_t step = 0; step < 3; ++step) ring.publish(static_cast<uint64_t>(step) + 7, step);
  const uint64_t end = ring.hot.position;
  ASSERT_EQ(ring.read(PlainRing::kNonce, 0, end), (std::pair<size_t, bool>{3, false}));
  for (uint64_t byte = 0; byte < end; ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      ring.hot.data[byte] = static_cast<char>(ring.hot.data[byte] ^ 1 << bit);
      ASSERT_EQ(ring.read(PlainRing::kNonce, 0, end), (std::pair<size_t, bool>{byte / 40, true})) << byte << "." << bit;
      ring.hot.data[byte] = static_cast<char>(ring.hot.data[byte] ^ 1 << bit);
    }
}

// Promise P1: The CRC covers the ring's nonce and the position: an old lap, another ring or a changed bit never
// verifies.
TEST(RingTest, ARecordOfAnOldLapOrAnotherRingNeverVerifies) {
  PlainRing ring;
  ring.publish(1, 1);
  EXPECT_EQ(ring.read(PlainRing::kNonce, 4096, 4096 + 40), (std::pair<size_t, bool>{0, true}));
  EXPECT_EQ(ring.read(PlainRing::kNonce + 256, 0, 40), (std::pair<size_t, bool>{0, true}));
  EXPECT_EQ(ring.read(PlainRing::kNonce, 0, 40), (std::pair<size_t, bool>{1, false}));
}

TEST(RingTest, RandomBytesAreNeverRecords) {
  PlainRing ring;
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    for (uint64_t& word : ring.data) word = random();
    const uint64_t from = random() % 512 * 8;
    const auto [points, damaged] = ring.read(PlainRing::kNonce, from, from + 8 + random() % 512 * 8);
    ASSERT_EQ(points, 0u);
    ASSERT_TRUE(damaged);
  }
}

TEST(RingTest, DamageInALiveRingIsCountedAndLoggingGoesOn) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, small_ring());
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  for (int64_t step = 0; step < 10; ++step) ASSERT_EQ(journal.log(id, 1, step), Code::kOk);
  char* data = journal.hot()->rings[0].load()->data;
  data[4 * 40 + 30] = static_cast<char>(data[4 * 40 + 30] ^ 1);
  const std::vector<Frame> frames = journal.drain();
  EXPECT_EQ(cells_of(frames).size(), 4u);
  EXPECT_EQ(losses_of(frames, LossReason::kDamaged), 6u);
  EXPECT_EQ(journal->counts().damaged, 6u);
  ASSERT_EQ(journal.log(id, 1, 10), Code::kOk);
  EXPECT_EQ(cells_of(journal.drain()).size(), 1u);
}

}  // namespace
}  // namespace tracker::internal
