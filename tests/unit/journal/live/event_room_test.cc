// SPDX-License-Identifier: MIT
// In a ring that is full for numbers there is room for texts, and where those find none there is room for config and
// the like. Method: journals without threads, of several sizes and with the end of the lap at many places, are filled
// kind by kind; what each call answered is held against what comes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "journal/ring/ring_room.h"
#include "support/child.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kNumberBytes = kRecordHeadBytes + sizeof(ValuePair);
constexpr uint64_t kEventHeadBytes = kRecordHeadBytes + 8;

JournalOptions options_of(uint64_t bytes, OnFull on_full = OnFull::kDrop, uint64_t bytes_max = 0) {
  JournalOptions options;
  options.first_ring_bytes = bytes;
  options.ring_bytes_max = bytes_max == 0 ? bytes : bytes_max;
  options.budget_bytes = 24u << 20;
  options.on_full = on_full;
  return options;
}

// What was logged, as each call answered.
struct Account {
  uint64_t numbers = 0, dropped = 0, texts_dropped = 0, entries_dropped = 0;
  std::vector<std::string> events;
};

bool log_number(LiveJournal& journal, uint32_t id, Account* account) {
  const bool ok = journal.log(id, 1, static_cast<int64_t>(account->numbers)) == Code::kOk;
  (ok ? account->numbers : account->dropped) += 1;
  return ok;
}

bool log_event(LiveJournal& journal, EventType type, const std::string& payload, Account* account) {
  const bool ok = journal->log_event(type, payload, 1, true) == Code::kOk;
  if (ok) account->events.push_back(payload);
  else ++(type == EventType::kText ? account->texts_dropped : account->entries_dropped);
  return ok;
}

std::vector<std::string> payloads_of(const std::vector<Frame>& frames) {
  std::vector<std::string> out;
  for (const Frame& frame : frames)
    for (const Event& event : frame.events) out.push_back(event.payload);
  return out;
}

void expect_drained(LiveJournal& journal, const Account& account) {
  const std::vector<Frame> frames = journal.drain();
  EXPECT_EQ(cells_of(frames).size(), account.numbers);
  EXPECT_EQ(payloads_of(frames), account.events) << "in order";
  EXPECT_EQ(losses_of(frames, LossReason::kRingFull),
            account.dropped + account.texts_dropped + account.entries_dropped);
  EXPECT_EQ(journal->counts().dropped, account.dropped);
  EXPECT_EQ(journal->counts().texts_dropped, account.texts_dropped);
  EXPECT_EQ(journal->counts().entries_dropped, account.entries_dropped) << "config is no point";
}

class RingSizeTest : public ::testing::TestWithParam<uint64_t> {};

// Promise P1: A ring that is full of numbers has room for a text of 64 KiB, one that is full of texts has room for
// config.
TEST_P(RingSizeTest, EventsFindRoomWhereNumbersFindNone) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(GetParam()));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  Account account;
  while (log_number(journal, id, &account)) {}
  EXPECT_EQ(account.numbers, (GetParam() - ring_reserve(RingUse::kNumbers, GetParam())) / kNumberBytes);
  for (int i = 0; i < 12; ++i)
    ASSERT_TRUE(log_event(journal, EventType::kText, "a text of 32 characters " + std::to_string(i), &account));
  ASSERT_FALSE(log_number(journal, id, &account)) << "what is kept for events is for events alone";
  while (log_event(journal, EventType::kText, "flood", &account)) {}
  EXPECT_TRUE(log_event(journal, EventType::kConfig, "config", &account)) << "a flood of texts leaves room for it";
  while (log_event(journal, EventType::kSummary, std::to_string(account.events.size()), &account)) {}
  ASSERT_FALSE(log_event(journal, EventType::kText, "flood", &account));
  EXPECT_EQ(account.dropped, 2u);
  EXPECT_EQ(account.entries_dropped, 1u);
  EXPECT_EQ(account.texts_dropped, 2u);
  expect_drained(journal, account);
  EXPECT_TRUE(log_number(journal, id, &account)) << "room again";
}

INSTANTIATE_TEST_SUITE_P(Bytes, RingSizeTest, ::testing::Values(4096, 64u << 10, kFirstRingBytes, 1u << 20, 8u << 20));

// Fills for numbers a ring whose lap ends `offset` bytes from where it was empty; then the largest text and the
// largest entry that the room kept promises.
void expect_room_in_one_piece(LiveJournal& journal, uint32_t id, uint64_t offset, uint64_t size) {
  SCOPED_TRACE(offset);
  const uint64_t for_texts = ring_reserve(RingUse::kTexts, size);
  const auto payload = [](uint64_t bytes) { return std::string((bytes - kEventHeadBytes) / 8 * 8, 'x'); };
  const uint64_t before = journal->counts().dropped;
  while (journal.log(id, 1, 0) == Code::kOk) {}
  EXPECT_EQ(journal->log_event(EventType::kText, payload(ring_reserve(RingUse::kNumbers, size) - for_texts), 0, true),
            Code::kOk);
  EXPECT_EQ(journal->log_event(EventType::kConfig, payload(for_texts), 0, false), Code::kOk);
  EXPECT_EQ(journal->counts().dropped, before + 1);
  const std::vector<Frame> frames = journal.drain();
  EXPECT_EQ(payloads_of(frames).size(), 2u);
  EXPECT_GE(cells_of(frames).size(), size / 3 / kNumberBytes - 1) << "numbers keep a third at the least";
}

TEST(EventRoomTest, ItIsInOnePieceWhereverTheLapEnds) {
  std::mt19937_64 random(5);
  for (const uint64_t size : {uint64_t{4096}, kFirstRingBytes}) {
    Sandbox sandbox;
    LiveJournal journal(sandbox, options_of(size));
    const uint32_t id = journal->series_id("x", ValueType::kFloat64);
    const HotRing* ring = journal.hot()->rings[0].load();
    std::set<uint64_t> places;
    for (int round = 0; round < 400; ++round) {
      for (int moves = 0; moves < 4; ++moves) {  // the place where the ring is empty
        ASSERT_EQ(journal->log_event(EventType::kText, std::string(random() % (size / 3), 'x'), 0, true), Code::kOk);
        (void)journal.drain();
      }
      const uint64_t position = ring->header->tail.load();
      ASSERT_EQ(ring->header->released.load(), position);
      expect_room_in_one_piece(journal, id, size - position % size, size);
      places.insert(position % size);
    }
    EXPECT_GT(places.size(), 100u);
  }
}

TEST(EventRoomTest, TheFirstRingKeepsRoomForATextOf64KiB) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(kFirstRingBytes));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  Account account;
  for (int lap = 0; lap < 30; ++lap) {
    account = {0, account.dropped, 0, 0, {}};
    while (log_number(journal, id, &account)) {}
    ASSERT_TRUE(log_event(journal, EventType::kText, std::string(kRingPayloadMax, 'x'), &account)) << lap;
    const std::vector<Frame> frames = journal.drain();
    ASSERT_EQ(payloads_of(frames), account.events);
    ASSERT_EQ(cells_of(frames).size(), account.numbers);
  }
  EXPECT_EQ(account.dropped, 30u);
}

// A record that no empty ring can take would be waited for without an end.
TEST(EventRoomTest, AnEmptyRingTakesTheLargestEventWhereverTheLapEndsAndNoLargerOne) {
  constexpr uint64_t kSize = 4096;
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(kSize));
  const std::string largest(ring_event_max(kSize) - kEventHeadBytes, 'x');
  for (uint64_t i = 0; i < 512; ++i) {
    ASSERT_EQ(journal->log_event(EventType::kText, largest, 0, true), Code::kOk) << i;
    (void)journal.drain();
    ASSERT_EQ(journal->log_event(EventType::kConfig, std::string(i, 'x'), 0, false), Code::kOk) << i;
    (void)journal.drain();
  }
  EXPECT_EQ(journal->log_event(EventType::kText, largest + "x", 0, true), Code::kUnsupported);
  EXPECT_EQ(journal->counts().dropped, 0u) << "the caller has it still";
}

TEST(EventRoomTest, WaitForTextsIsBoundedByCallAndInAllAndThenTheyAreCounted) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(4096, OnFull::kWait));
  Account account;
  while (log_event(journal, EventType::kText, "text", &account)) {}
  const int64_t begin = now_ns();
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(log_event(journal, EventType::kText, "text", &account));
  EXPECT_GT(now_ns() - begin, 60'000'000) << "about 90 ms are left of 100";
  EXPECT_LT(now_ns() - begin, 500'000'000 * int64_t{kSlowDown});
  EXPECT_EQ(account.texts_dropped, 1001u);
  expect_drained(journal, account);
}

TEST(EventRoomTest, BlockLosesNoNumberAndNoEventOfManyThreads) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(4096, OnFull::kBlock));
  std::atomic<bool> stop{false};
  std::vector<Frame> frames;
  const auto take = [&] {
    for (Frame& frame : journal.drain()) frames.push_back(std::move(frame));
  };
  std::thread drain([&] {
    while (!stop) {
      take();
      journal->prepare_rings();
      journal->wait(std::chrono::milliseconds(1));
    }
  });
  constexpr int kThreads = 4, kSteps = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const uint32_t id = journal->series_id("t/" + std::to_string(t), ValueType::kInt64);
      for (int64_t step = 0; step < kSteps; ++step) {
        ASSERT_EQ(journal.log(id, 0, step), Code::kOk);
        const EventType type = step % 3 == 0 ? EventType::kConfig : EventType::kText;
        ASSERT_EQ(journal->log_event(type, std::to_string(t) + " " + std::to_string(step), step, true), Code::kOk);
      }
    });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  drain.join();
  take();
  EXPECT_EQ(cells_of(frames).size(), static_cast<size_t>(kThreads) * kSteps);
  std::map<std::string, int64_t> next;
  for (const std::string& payload : payloads_of(frames))
    ASSERT_EQ(payload.substr(2), std::to_string(next[payload.substr(0, 1)]++));
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(next[std::to_string(t)], kSteps);
  EXPECT_EQ(journal->counts().dropped, 0u);
}

// Where the lap ends after the room for numbers they have less than half of the ring: it grows all the same.
TEST(EventRoomTest, ARingThatIsFullForNumbersGrowsWhereverTheLapEnds) {
  for (uint64_t offset = 0; offset < kFirstRingBytes; offset += 16 << 10) {
    Sandbox sandbox;
    LiveJournal journal(sandbox, options_of(kFirstRingBytes, OnFull::kDrop, 2 * kFirstRingBytes));
    const uint32_t id = journal->series_id("x", ValueType::kFloat64);
    for (uint64_t at = 0; at < offset; at += 8 << 10) {
      ASSERT_EQ(journal->log_event(EventType::kText, std::string((8 << 10) - kEventHeadBytes, 'x'), 0, true),
                Code::kOk);
      (void)journal.drain();
    }
    while (journal.log(id, 1, 0) == Code::kOk) {}
    journal->prepare_rings();
    EXPECT_EQ(journal.log(id, 1, 0), Code::kOk) << offset;
  }
}

// Of a text that waits for room when the run ends there was no count.
TEST(EventRoomTest, ATextThatTheEndCutsIsCounted) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(4096, OnFull::kBlock));
  std::atomic<uint64_t> kept{0};
  std::atomic<Code> code{Code::kOk};
  std::thread caller([&] {
    while ((code = journal->log_event(EventType::kText, "text", 0, true)) == Code::kOk) ++kept;
  });
  while (kept.load() < 50) ::usleep(100);
  sleep_ms(20);
  EXPECT_TRUE(journal.close());
  caller.join();
  EXPECT_EQ(code.load(), Code::kClosed);
  EXPECT_EQ(payloads_of(journal.drain()).size(), kept.load());
  EXPECT_EQ(journal.hot()->late_texts.load(), 1u);
}

}  // namespace
}  // namespace tracker::internal
