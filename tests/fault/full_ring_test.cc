// SPDX-License-Identifier: MIT
// Texts, config and summary survive a kill like numbers, also when their ring is full; what finds no room is counted
// at once, so that nothing is accepted and then lost. Method: the drain thread is held by a hook in a child process,
// so that a ring stays as it is; the child logs, notes what each call answered, and kills itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "run/run.h"
#include "support/child.h"
#include "support/quiet_run.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int kThreads = 4;
constexpr int kFlood = 60'000;  // texts a thread; rings grow to 24 MiB in all, which take about a half

struct Ledger {
  std::atomic<uint64_t> numbers, dropped;
  std::atomic<uint64_t> texts[kThreads];
  std::atomic<int64_t> longest_ns, all_ns;
};

std::atomic<bool> g_held{false};
void hold_for_ever() {
  g_held = true;
  for (;;) ::pause();
}

std::shared_ptr<Run> init_undrained(const char* on_full) {
  std::shared_ptr<Run> run = begin_run(on_full);
  CHILD_CHECK(run->flush(std::chrono::seconds(20)));
  run->set_pause_for_testing(hold_for_ever, nullptr);
  while (!g_held) ::usleep(1000);
  return run;
}

void fill_with_numbers(Run* run, Ledger* ledger) {
  const uint32_t id = run->series_id("x", ValueType::kInt64);
  uint64_t refused = 0;
  for (int64_t step = 0; refused < 1000; ++step) {
    const ValuePair pair{static_cast<uint64_t>(step), id, 0};
    const Code code = log_pairs(run->hot(), &pair, 1, step);
    CHILD_CHECK(code == Code::kOk || code == Code::kLimit);
    if (code == Code::kOk) ++ledger->numbers;
    else ++ledger->dropped, ++refused;
  }
}

std::string text_of(int i) { return "text " + std::to_string(i) + std::string(1000, '.'); }

// Bug: they waited in memory. Of 20 texts that were logged right after the ring was full a kill lost 16.
TEST(FullRingKillTest, TextsConfigAndSummaryOfARingThatIsFullForNumbersAreAllRecovered) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const int status = run_child([&] {
    const auto run = init_undrained("drop");
    fill_with_numbers(run.get(), &*ledger);
    for (int i = 0; i < 20; ++i) {
      const std::string n = std::to_string(i);
      CHILD_CHECK(run->log_text("note", text_of(i), i, true) == Code::kOk);
      CHILD_CHECK(run->set_config("config/" + n, i) == Code::kOk && run->set_summary("summary/" + n, i) == Code::kOk);
    }
    CHILD_CHECK(run->set_attribute("notes", "of a full ring") == Code::kOk);
    CHILD_CHECK(run->define_metric("x", "", {"min"}, "").ok());
    CHILD_CHECK(run->status().points_dropped == ledger->dropped);
    return ::raise(SIGKILL);
  });
  EXPECT_EQ(exit_code_of(status), -1 - SIGKILL);
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_EQ(rows_of(run, "x").size(), ledger->numbers.load());
  EXPECT_EQ(run.view->losses().dropped, 1000u);
  const auto texts = run.view->texts("note", true);
  ASSERT_TRUE(texts.ok());
  ASSERT_EQ(texts->size(), 20u);
  const Value config = run.view->config(), summary = run.view->summary();
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(texts->at(static_cast<size_t>(i)).text, text_of(i));
    ASSERT_NE(config.find("config"), nullptr);
    EXPECT_EQ(config.find("config")->int_or(n, -1), i);
    EXPECT_EQ(summary.int_or("summary/" + n, -1), i);
  }
  EXPECT_EQ(summary.int_or("x", -1), 0) << "define_metric: the least one";
  ASSERT_NE(run.view->attribute("notes").as_text(), nullptr);
  EXPECT_EQ(*run.view->attribute("notes").as_text(), "of a full ring");
}

// `together`: each thread has a ring of its own, which it takes with its first text and keeps until all are done.
void flood(Run* run, int thread, Ledger* ledger, std::barrier<>* together) {
  const std::string key = "t/" + std::to_string(thread), text(100, 'x');
  for (int i = 0; i < kFlood; ++i) {
    const int64_t before = now_ns();
    const Code code = run->log_text(key, text, i, true);
    ledger->longest_ns = std::max(ledger->longest_ns.load(), now_ns() - before);
    CHILD_CHECK(code == Code::kOk || code == Code::kLimit);
    (code == Code::kOk ? ledger->texts[thread] : ledger->dropped).fetch_add(1);
    if (i == 0) together->arrive_and_wait();
  }
  CHILD_CHECK(run->set_config(key, thread) == Code::kOk);
  together->arrive_and_wait();
}

class FloodTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FloodTest, OfTextsBeyondTheRingEachIsCountedOrRecoveredAndNoCallHangs) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const std::string said = sandbox.folder() + "/said";
  const int status = run_child([&] {
    const auto run = init_undrained(GetParam());
    redirect_stderr(said);
    const int64_t begin = now_ns();
    std::barrier<> together(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(flood, run.get(), t, &*ledger, &together);
    for (std::thread& thread : threads) thread.join();
    ledger->all_ns = now_ns() - begin;
    CHILD_CHECK(run->status().texts_dropped == ledger->dropped);
    CHILD_CHECK(run->status().points_dropped == 0);
    return ::raise(SIGKILL);
  });
  EXPECT_EQ(exit_code_of(status), -1 - SIGKILL);
  EXPECT_LT(ledger->longest_ns.load(), 500'000'000 * int64_t{kSlowDown})
      << "10 ms a call, and what a busy machine adds";
  EXPECT_THAT(lines_of(said), ::testing::ElementsAre(::testing::HasSubstr("dropped and counted")));
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_GT(ledger->dropped.load(), 1000u);
  EXPECT_EQ(run.view->losses().dropped, 0u);
  EXPECT_EQ(run.view->losses().texts.dropped, ledger->dropped.load());
  EXPECT_THAT(run.view->losses().texts.by_reason,
              ::testing::ElementsAre(::testing::Pair("ring full", ledger->dropped.load())));
  const Value config = run.view->config();
  for (int t = 0; t < kThreads; ++t) {
    const auto texts = run.view->texts("t/" + std::to_string(t), true);
    ASSERT_TRUE(texts.ok());
    EXPECT_GT(texts->size(), 1000u);
    EXPECT_EQ(texts->size(), ledger->texts[t].load());
    ASSERT_NE(config.find("t"), nullptr);
    EXPECT_EQ(config.find("t")->int_or(std::to_string(t), -1), t) << "a flood of texts leaves room for config";
  }
}

INSTANTIATE_TEST_SUITE_P(OnFull, FloodTest, ::testing::Values("drop", "wait"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tracker::internal
