// SPDX-License-Identifier: MIT
// Goal: what is too large for a ring is stored in the order logged, between what passes through the rings. Method: one
// drain that finds many frames of both, held back until all is logged; values of sizes by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "journal/ring/ring_format.h"
#include "pipeline/writer.h"
#include "query/view/console.h"
#include "query/view/run_view.h"
#include "run/run.h"
#include "run/services/console.h"
#include "support/random_frame.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

std::atomic<bool> g_hold_drain{false}, g_drain_held{false};
void hold_drain_while_asked() {
  while (g_hold_drain.load()) g_drain_held = true, std::this_thread::yield();
}

class LargeOrderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    InitOptions options;
    options.project = "p";
    options.id = "r";
    options.quiet = true;
    options.on_full = "block";
    auto run = tracker::internal::Run::init(options);
    ASSERT_TRUE(run.ok()) << run.status().to_string();
    run_ = *run;
    run_->set_pause_for_testing(hold_drain_while_asked, nullptr);
  }
  void TearDown() override { g_hold_drain = false; }
  void hold_drain() {
    g_drain_held = false;
    g_hold_drain = true;
    while (!g_drain_held.load()) std::this_thread::yield();
  }
  std::unique_ptr<RunView> finish() {
    g_hold_drain = false;
    EXPECT_TRUE(run_->flush(std::chrono::seconds(60)));
    EXPECT_TRUE(run_->finish(RunState::kFinished).ok());
    auto store = Store::open(sandbox_.store());
    EXPECT_TRUE(store.ok());
    auto view = RunView::open(store->list_runs().at(0));
    EXPECT_TRUE(view.ok());
    return std::move(*view);
  }
  // Begins with `number`, so that it differs from all others.
  static std::string text(int number, size_t bytes) {
    std::string out = std::to_string(number) + " ";
    out.resize(std::max(bytes, out.size()), 'x');
    return out;
  }
  Sandbox sandbox_;
  std::shared_ptr<tracker::internal::Run> run_;  // ::testing::Test has a Run too
};

// Regression: those above 64 KiB were stored after all that the same drain had found in the rings, so that an older
// one was shown in the place of the newest.
// Promise P1: Larger texts are stored in the order logged; of config and summary the last value counts.
TEST_F(LargeOrderTest, TextsOfThreadsThatOneDrainFindsInManyFramesAreInOneOrder) {
  constexpr int kThreads = 24, kTexts = 120;
  hold_drain();
  std::atomic<int> next{0};
  std::vector<std::thread> threads;  // all alive to the end: each has a first ring of its own, for about four of these
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i; (i = next.load()) < kTexts; std::this_thread::yield()) {
        if (i % kThreads != t) continue;
        EXPECT_EQ(run_->log_text("t", text(i, i % 7 % 3 == 0 ? 70'000 : 60'000), 0, true), Code::kOk);
        next = i + 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto view = finish();
  EXPECT_GE(view->writers().at(0).frames, 3u) << "one frame has them all: nothing is tested";
  const auto rows = view->texts("t", true);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), size_t{kTexts});
  for (size_t i = 0; i < rows->size(); ++i) {
    EXPECT_EQ(std::stoul((*rows)[i].text), i);
    EXPECT_GE((*rows)[i].time_us, (*rows)[i - (i > 0)].time_us);
  }
  EXPECT_EQ(std::stoi(view->texts("t")->at(0).text), kTexts - 1);
}

TEST_F(LargeOrderTest, OfConfigAndSummaryTheLastOneSaidCountsWhateverTheSizes) {
  auto random = seeded_random();
  for (int round = 0; round < 20; ++round) {
    const std::string key = "k" + std::to_string(round);
    if (round % 2 == 0) hold_drain();
    int last = 0;
    for (int i = 0; i < 8; ++i) {
      const std::string value = text(last = i, random() % 2 == 0 ? 70'000 : 10);
      EXPECT_EQ(run_->set_config(key, value), Code::kOk);
      EXPECT_EQ(run_->set_summary(key, value), Code::kOk);
    }
    g_hold_drain = false;
  }
  const auto view = finish();
  for (int round = 0; round < 20; ++round) {
    const std::string key = "k" + std::to_string(round);
    EXPECT_EQ(std::stoi(view->config().text_or(key, "-1")), 7);
    EXPECT_EQ(std::stoi(view->summary().text_or(key, "-1")), 7);
  }
}

// What a burst of output has no room for in a ring waits here, and leaves room for texts.
TEST_F(LargeOrderTest, OutputTakesNoMoreOfTheRoomThanItMayAndIsStoredInItsPlace) {
  hold_drain();
  const std::string line = std::string(999, 'x') + "\n";
  size_t lines = 0;
  for (; run_->status().console_cut_bytes == 0 && lines < 20'000; ++lines)
    run_->write_console(ConsoleStream::kStdout, line);
  EXPECT_GT(lines * line.size(), kConsoleWaitingBytesMax / 2);
  EXPECT_LT(lines * line.size(), kConsoleWaitingBytesMax + kFirstRingBytes);
  EXPECT_EQ(run_->log_text("t", text(0, kLargeBytesMax - kConsoleWaitingBytesMax - 4096), 0, true), Code::kOk);
  const auto view = finish();
  const auto output = read_console(view.get());
  ASSERT_TRUE(output.ok());
  ASSERT_EQ(output->lines.size(), lines);
  for (size_t i = 0; i < lines; ++i) EXPECT_EQ(output->lines[i].number, i);
  EXPECT_TRUE(output->lines.back().no_room);
  EXPECT_EQ(output->lines.back().cut_bytes, line.size());
}

}  // namespace
}  // namespace tracker::internal
