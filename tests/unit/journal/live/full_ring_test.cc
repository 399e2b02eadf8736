// SPDX-License-Identifier: MIT
// A full ring grows, then waits, then drops and counts, and every call is in exactly one of the accounts. Method:
// journals without threads, of small sizes, that are drained by hand or by a second thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "journal/live/wait_scope.h"
#include "journal/ring/ring_room.h"
#include "support/child.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

JournalOptions options_of(OnFull on_full, uint64_t bytes_max = 4096) {
  JournalOptions options;
  options.first_ring_bytes = 4096;
  options.ring_bytes_max = bytes_max;
  options.on_full = on_full;
  return options;
}

// Promise P4: `on_full="drop"` never waits, `"block"` never drops.
TEST(FullRingTest, DropCountsEachPointThatFindsNoRoom) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kDrop));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  uint64_t accepted = 0, dropped = 0;
  for (int64_t step = 0; step < 500; ++step) (journal.log(id, 1, step) == Code::kOk ? accepted : dropped) += 1;
  EXPECT_EQ(accepted, (4096u - ring_reserve(RingUse::kNumbers, 4096)) / 40);
  EXPECT_EQ(journal->counts().accepted, accepted);
  EXPECT_EQ(journal->counts().dropped, dropped);
  const std::vector<Frame> frames = journal.drain();
  EXPECT_EQ(cells_of(frames).size(), accepted);
  EXPECT_EQ(losses_of(frames, LossReason::kRingFull), dropped);
  EXPECT_EQ(losses_of(journal.drain(), LossReason::kRingFull), 0u) << "counted once";
  EXPECT_EQ(journal.log(id, 1, 500), Code::kOk) << "room again";
}

// Promise P5: Of a large call the parts that fit are kept and the rest is counted.
TEST(FullRingTest, OfALargeCallThePartsThatFitAreKeptAndTheRestIsCounted) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kDrop));
  uint32_t first = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t id = journal->series_id("m/" + std::to_string(i), ValueType::kInt64);
    if (i == 0) first = id;
  }
  EXPECT_EQ(journal.log_many(first, 1000, 1), Code::kLimit);
  const std::vector<Frame> frames = journal.drain();
  EXPECT_GT(cells_of(frames).size(), 100u);
  EXPECT_EQ(cells_of(frames).size() + losses_of(frames, LossReason::kRingFull), 1000u);
}

// Bug: the first call with very many names lost all that the first ring did not hold, for the drain thread was at their
// definitions. Here no thread drains at all.
TEST(FullRingTest, ACallThatItsRingDoesNotHoldMakesALargerOneThatDoes) {
  constexpr int kMetrics = 3000;
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kWait, 1 << 20));
  uint32_t first = 0;
  for (int i = 0; i < kMetrics; ++i) {
    const uint32_t id = journal->series_id("m/" + std::to_string(i), ValueType::kInt64);
    if (i == 0) first = id;
  }
  const int64_t begin = now_ns();
  EXPECT_EQ(journal.log_many(first, kMetrics, 1), Code::kOk);
  EXPECT_GE(now_ns() - begin, std::chrono::nanoseconds(kRingAwaited).count()) << "the drain thread had its time";
  EXPECT_EQ(cells_of(journal.drain()).size(), size_t{kMetrics});
}

// Reaches the limits wait_call, wait_total.
TEST(FullRingTest, WaitIsBoundedByCallAndInAll) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kWait));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  while (journal.log(id, 1, 0) == Code::kOk) {}
  int64_t longest = 0;
  const int64_t begin = now_ns();
  for (int i = 0; i < 1000; ++i) {
    const int64_t before = now_ns();
    ASSERT_EQ(journal.log(id, 1, 0), Code::kLimit);
    longest = std::max(longest, now_ns() - before);
  }
  EXPECT_LT(longest, 40'000'000 * int64_t{kSlowDown});
  EXPECT_GT(now_ns() - begin, 60'000'000) << "about 90 ms are left of 100";
  EXPECT_LT(now_ns() - begin, 500'000'000 * int64_t{kSlowDown});
  (void)journal.drain();
  while (journal.log(id, 1, 0) == Code::kOk) {}
  const int64_t again = now_ns();
  ASSERT_EQ(journal.log(id, 1, 0), Code::kLimit);
  EXPECT_GT(now_ns() - again, 8'000'000) << "released space gives the budget back";
}

// Promise P4: A full ring waits within a bucket of 2 s while the store makes progress, else 10 ms a call and 100 ms in
// all; then the newest is dropped and counted by series.
TEST(FullRingTest, ABurstWaitsOutOfOneBucketWhileTheStoreMakesProgress) {
  Sandbox sandbox;
  JournalOptions options = options_of(OnFull::kWait);
  options.wait_burst_call = std::chrono::milliseconds(30);
  options.wait_burst = std::chrono::milliseconds(100);
  LiveJournal journal(sandbox, options);
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  const auto wait_of_a_call = [&] {
    journal->note_progress();
    const int64_t before = now_ns();
    EXPECT_EQ(journal.log(id, 1, 0), Code::kLimit);
    return now_ns() - before;
  };
  journal->note_progress();
  while (journal.log(id, 1, 0) == Code::kOk) {}
  EXPECT_GE(wait_of_a_call(), 30'000'000) << "the call that found it full has taken as much";
  for (int i = 0; i < 5; ++i) wait_of_a_call();  // the bucket, and the 100 ms after it
  for (int i = 0; i < 20; ++i) wait_of_a_call();
  EXPECT_LT(wait_of_a_call(), 10'000'000 * int64_t{kSlowDown}) << "all of it is spent";
}

TEST(FullRingTest, AStuckStoreIsWaitedForTenMillisecondsACall) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kWait));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  journal->note_progress();
  std::this_thread::sleep_for(kProgressAge + std::chrono::milliseconds(100));
  const int64_t before = now_ns();
  while (journal.log(id, 1, 0) == Code::kOk) {}
  EXPECT_LT(now_ns() - before, 60'000'000 * int64_t{kSlowDown}) << "one call has waited 10 ms, not 250";
}

TEST(FullRingTest, BlockLosesNothingUnderManyThreads) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kBlock));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> drained{0};
  std::thread drain([&] {
    while (!stop) {
      drained += cells_of(journal.drain()).size();
      journal->prepare_rings();
      journal->wait(std::chrono::milliseconds(1));
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const uint32_t id = journal->series_id("t/" + std::to_string(t), ValueType::kInt64);
      for (int64_t step = 0; step < 5000; ++step) ASSERT_EQ(journal.log(id, 0, step), Code::kOk);
    });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  drain.join();
  drained += cells_of(journal.drain()).size();
  EXPECT_EQ(drained.load(), 20'000u);
  EXPECT_EQ(journal->counts().accepted, 20'000u);
  EXPECT_EQ(journal->counts().dropped, 0u);
}

// What a scope of the thread answers at the third question, each time.
struct ThirdAnswer {
  bool last;
  int asked = 0;
  std::function<void()> meanwhile = {};
  static bool answer(void* context) {
    auto* self = static_cast<ThirdAnswer*>(context);
    if (self->meanwhile) self->meanwhile();
    return ++self->asked < 3 || self->last;
  }
};

TEST(FullRingTest, ABlockedCallEndsWhenItsScopeSaysSoAndOnlyItsOwnPointsAreCounted) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kBlock));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  uint64_t accepted = 0;
  ThirdAnswer third{false};
  const int64_t begin = now_ns();
  {
    const WaitScope scope(ThirdAnswer::answer, &third);
    while (journal.log(id, 1, 0) == Code::kOk) ++accepted;
    EXPECT_GE(now_ns() - begin, 3 * std::chrono::nanoseconds(kWaitAskInterval).count() - 1'000'000);
    EXPECT_EQ(third.asked, 3);
    EXPECT_EQ(journal.log_many(id, 3, 1), Code::kLimit) << "under the same scope nothing waits any more";
    while (journal->log_event(EventType::kText, "a text", 1, true) == Code::kOk) {}
  }
  EXPECT_EQ(third.asked, 3);
  EXPECT_EQ(journal->counts().dropped, 4u);
  EXPECT_EQ(journal->counts().texts_dropped, 1u);
  EXPECT_EQ(cells_of(journal.drain()).size(), accepted);
  EXPECT_EQ(journal.log(id, 1, 2), Code::kOk);
}

TEST(FullRingTest, ACallThatWaitsLogsInItsScopesAnswerAndGoesOnOnceThereIsRoom) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kBlock));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  {
    const WaitScope none;
    while (journal.log(id, 1, 0) == Code::kOk) {}
  }
  ThirdAnswer third{true};
  size_t drained = 0;
  third.meanwhile = [&] {
    const WaitScope inner;
    EXPECT_EQ(journal.log(id, 2, 1), Code::kLimit);
    if (third.asked == 2) drained = cells_of(journal.drain()).size();
  };
  const WaitScope scope(ThirdAnswer::answer, &third);
  EXPECT_EQ(journal.log(id, 3, 2), Code::kOk);
  EXPECT_EQ(third.asked, 3);
  EXPECT_EQ(journal->counts().accepted, drained + 1);
  EXPECT_EQ(journal->counts().dropped, 4u) << "that which filled it, and one at each question";
}

// Where no ring is left for a thread, several share one: a thread that waits there keeps it from no other.
TEST(FullRingTest, WhoWaitsInTheRingThatThreadsShareHoldsNoneOfThemUp) {
  Sandbox sandbox;
  JournalOptions options = options_of(OnFull::kBlock);
  options.rings_max = 2;
  LiveJournal journal(sandbox, options);
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  ASSERT_EQ(journal.log(id, 0, 0), Code::kOk);  // the first ring is this thread's
  std::atomic<bool> waits{false};
  std::thread waiting([&] {
    {
      const WaitScope none;
      while (journal.log(id, 1, 0) == Code::kOk) {}
    }
    const WaitScope scope([](void* flag) { return *static_cast<std::atomic<bool>*>(flag) = true; }, &waits);
    EXPECT_EQ(journal.log(id, 2, 1), Code::kOk);
  });
  while (!waits) ::usleep(1000);
  std::thread other([&] {
    const WaitScope none;
    EXPECT_EQ(journal.log(id, 3, 2), Code::kLimit);
  });
  other.join();
  (void)journal.drain();
  waiting.join();
}

// Reaches the limit kRingBytesMax.
TEST(FullRingTest, ARingPastHalfFillGrowsUpToItsLimit) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kDrop, 32'768));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  uint64_t accepted = 0;
  for (int64_t step = 0; step < 3000; ++step) {
    accepted += journal.log(id, static_cast<uint64_t>(step), step) == Code::kOk;
    if (step % 15 == 0) journal->prepare_rings();
  }
  // 4 + 8 + 16 + 32 KiB less what is unused when a larger ring is taken.
  EXPECT_GT(accepted, 800u);
  EXPECT_LT(accepted, 61'440u / 40 + 1);
  EXPECT_EQ(cells_of(journal.drain(false)).size(), accepted);
  journal.commit_all();
  (void)journal.drain();
  EXPECT_LT(journal->counts().bytes, 32'768u + 2 * 4096) << "rings that were left are given back";
  EXPECT_EQ(journal->counts().accepted, accepted) << "their counts are kept";
  EXPECT_EQ(journal->take_retired().size(), 3u);
}

TEST(FullRingTest, RingsAndTheirGrowthStayWithinTheBudget) {
  Sandbox sandbox;
  JournalOptions options = options_of(OnFull::kDrop, 1 << 20);
  options.budget_bytes = 100'000;
  LiveJournal journal(sandbox, options);
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  for (int64_t step = 0; step < 100'000; ++step) {
    (void)journal.log(id, 0, step);
    if (step % 64 == 0) journal->prepare_rings();
  }
  EXPECT_LE(journal->counts().bytes, 100'000u + 4096);
  EXPECT_EQ(journal->counts().accepted + journal->counts().dropped, 100'000u);
}

// The rest of a call that waits for space when the run ends was in no account.
TEST(FullRingTest, OfACallThatTheEndCutsTheRestIsCounted) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kBlock));
  uint32_t first = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t id = journal->series_id("m/" + std::to_string(i), ValueType::kInt64);
    if (i == 0) first = id;
  }
  std::atomic<Code> code{Code::kOk};
  std::thread caller([&] { code = journal.log_many(first, 1000, 1); });
  while (journal->counts().accepted == 0) ::usleep(100);
  sleep_ms(20);
  EXPECT_TRUE(journal.close());
  caller.join();
  EXPECT_EQ(code.load(), Code::kClosed);
  const uint64_t kept = cells_of(journal.drain()).size();
  EXPECT_GT(kept, 100u);
  EXPECT_EQ(kept + journal.hot()->late.load(), 1000u);
}

TEST(FullRingTest, AfterCloseEveryCallIsRefused) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, options_of(OnFull::kBlock));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  ASSERT_EQ(journal.log(id, 1, 1), Code::kOk);
  EXPECT_TRUE(journal.close());
  EXPECT_EQ(journal.log(id, 1, 2), Code::kClosed);
  EXPECT_EQ(journal.log_many(id, 2000, 3), Code::kClosed);
  EXPECT_EQ(cells_of(journal.drain()).size(), 1u) << "what was accepted before is there";
}

}  // namespace
}  // namespace tracker::internal
