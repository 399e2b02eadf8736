// SPDX-License-Identifier: MIT
// Goal: the C ABI says of each metric where its points are: logged = stored + dropped + pending, all of one moment.
// Method: metrics of several types, texts between them, full rings, more losing metrics than a ring counts apart, an
// end.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "capi/capi_run.h"
#include "journal/ring/ring_format.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr size_t kNul = TRK_NUL_TERMINATED;

std::atomic<bool> g_hold{false};
void hold_while_asked() {
  while (g_hold.load()) ::usleep(1000);
}

trk_series_status series_of(trk_run* run, const char* name) {
  trk_series_status status = TRK_SERIES_STATUS_INIT;
  EXPECT_EQ(trk_get_series_status(run, name, kNul, &status), TRK_OK);
  EXPECT_EQ(status.points_logged, status.points_stored + status.points_dropped + status.points_pending);
  return status;
}

class AccountTest : public ::testing::Test {
 protected:
  void open(const char* on_full) { ASSERT_NE(run_ = open_run("r", on_full), nullptr); }
  void TearDown() override { trk_free(run_); }
  Sandbox sandbox_;
  trk_run* run_ = nullptr;
};

TEST_F(AccountTest, PointsOfAllTypesOfAMetricAreCountedTogetherAndTextsAreNot) {
  open("block");
  const trk_value text = trk_text("between the numbers");
  for (int64_t step = 0; step < 100; ++step) {
    trk_log_f64(run_, "a", kNul, 0.5, step);
    trk_log_i64(run_, "a", kNul, 7, step);
    const trk_point points[] = {{"b", kNul, trk_f64(1)}, {"note", kNul, text}, {"a", kNul, trk_bool(1)}};
    trk_log(run_, points, 3, step);
  }
  EXPECT_EQ(series_of(run_, "a").points_logged, 300u);
  EXPECT_EQ(series_of(run_, "b").points_logged, 100u);
  ASSERT_EQ(trk_flush(run_, 10'000), TRK_OK);
  EXPECT_EQ(series_of(run_, "a").points_stored, 300u);
  EXPECT_EQ(series_of(run_, "b").points_pending, 0u);
}

TEST_F(AccountTest, WhatIsAskedWronglyIsRefused) {
  open("block");
  trk_series_status status = TRK_SERIES_STATUS_INIT;
  EXPECT_EQ(trk_get_series_status(nullptr, "a", kNul, &status), TRK_INVALID);
  EXPECT_EQ(trk_get_series_status(run_, "a", kNul, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_get_series_status(run_, "", kNul, &status), TRK_INVALID);
  EXPECT_EQ(trk_get_series_status(run_, "a", kNul, &status), TRK_NOT_FOUND);
  EXPECT_EQ(trk_get_series_status(run_, nullptr, 0, &status), TRK_OK);
  EXPECT_EQ(status.points_logged, 0u);
  status.size = sizeof(size_t) + 8;  // of a caller that knows one field
  status.points_stored = 77;
  trk_log_f64(run_, "a", kNul, 1, 0);
  EXPECT_EQ(trk_get_series_status(run_, "a", kNul, &status), TRK_OK);
  EXPECT_EQ(status.points_logged, 1u);
  EXPECT_EQ(status.points_stored, 77u) << "written beyond what the caller has";
}

TEST_F(AccountTest, ItHoldsAtEveryMomentWhileThreadsLogAndDrop) {
  open("drop");
  constexpr int kThreads = 3;
  std::atomic<uint64_t> done[kThreads] = {};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const std::string name = "m" + std::to_string(t);
      trk_metric* metric = trk_metric_open(run_, name.data(), name.size(), nullptr);
      for (int64_t step = 0; !stop.load(std::memory_order_relaxed); ++step) {
        trk_metric_log_f64(metric, 0.5, step);
        done[t].fetch_add(1);
      }
    });
  for (const auto& count : done)
    while (count.load() == 0) std::this_thread::yield();
  for (int look = 0; look < (kSlowDown == 1 ? 300 : 30); ++look)
    for (int t = 0; t < kThreads; ++t) {
      const std::string name = "m" + std::to_string(t);
      const uint64_t before = done[t].load();
      const uint64_t logged = series_of(run_, name.c_str()).points_logged;
      ASSERT_GE(logged, before);
      ASSERT_LE(logged, done[t].load() + 1);
    }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(trk_flush(run_, 60'000), TRK_OK);
  (void)trk_finish(run_, 0, nullptr);  // where so many points are not all compacted within its bound, they are stored
  uint64_t stored = 0, dropped = 0;
  for (int t = 0; t < kThreads; ++t) {
    const trk_series_status end = series_of(run_, ("m" + std::to_string(t)).c_str());
    EXPECT_EQ(end.points_logged, done[t].load());
    EXPECT_EQ(end.points_pending, 0u);
    stored += end.points_stored;
    dropped += end.points_dropped;
  }
  EXPECT_EQ(status_of(run_).points_stored, stored);
  EXPECT_EQ(status_of(run_).points_dropped, dropped);
}

// What of all metrics together, and of each, two readers read at once while threads log, drop and are drained.
TEST_F(AccountTest, InEveryReadingOfStatusWhatIsLoggedIsStoredDroppedOrPending) {
  open("drop");
  constexpr int kThreads = 2, kReaders = 2;
  std::atomic<uint64_t> done[kThreads] = {};
  std::atomic<bool> stop{false};
  const auto logged_by_all = [&done] { return done[0].load() + done[1].load(); };
  std::vector<std::thread> threads, readers;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const std::string name = "m" + std::to_string(t);
      for (int64_t step = 0; !stop.load(std::memory_order_relaxed); ++step) {
        trk_log_f64(run_, name.data(), name.size(), 0.5, step);
        done[t].fetch_add(1);
      }
    });
  while (done[0].load() == 0 || done[1].load() == 0) std::this_thread::yield();
  for (int r = 0; r < kReaders; ++r)
    readers.emplace_back([&] {
      uint64_t last_stored = 0;
      for (int reading = 0; reading < (kSlowDown == 1 ? 500 : 50) && !HasFailure(); ++reading) {
        uint64_t before = logged_by_all();
        const trk_status status = status_of(run_);
        EXPECT_EQ(status.points_logged, status.points_stored + status.points_dropped + status.points_pending);
        EXPECT_GE(status.points_logged, before);
        EXPECT_LE(status.points_logged, logged_by_all() + kThreads);
        EXPECT_GE(status.points_stored, last_stored);
        last_stored = status.points_stored;
        const int t = reading % kThreads;
        before = done[t].load();
        const trk_series_status series = series_of(run_, t == 0 ? "m0" : "m1");
        EXPECT_GE(series.points_logged, before);
        EXPECT_LE(series.points_logged, done[t].load() + 1);
      }
    });
  for (std::thread& reader : readers) reader.join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(trk_flush(run_, 60'000), TRK_OK);
  const trk_status end = status_of(run_);
  EXPECT_EQ(end.points_logged, logged_by_all());
  EXPECT_EQ(end.points_pending, 0u);
  EXPECT_EQ(series_of(run_, "m0").points_stored + series_of(run_, "m1").points_stored, end.points_stored);
}

TEST_F(AccountTest, OfMoreLosingMetricsThanARingCountsApartTheRestIsOfNone) {
  open("drop");
  ASSERT_EQ(kLossSlots - kLossSlotsShared, 69u);
  constexpr size_t kMetrics = kLossSlots + 10;
  std::vector<std::string> names;
  std::vector<trk_point> points;
  for (size_t i = 0; i < kMetrics; ++i) names.push_back("m" + std::to_string(i));
  for (const std::string& name : names) points.push_back({name.data(), name.size(), trk_f64(0.5)});
  run_of_handle(run_).set_pause_for_testing(hold_while_asked, nullptr);  // where calls are slow, no ring gets full
  g_hold = true;
  uint64_t calls = 0;
  while (calls < 10'000'000 && series_of(run_, nullptr).points_dropped == 0) {
    for (int i = 0; i < 1'000; ++i) trk_log(run_, points.data(), points.size(), static_cast<int64_t>(calls++));
  }
  g_hold = false;
  EXPECT_GT(series_of(run_, nullptr).points_dropped, 0u);
  uint64_t logged = series_of(run_, nullptr).points_logged;
  for (const std::string& name : names) logged += series_of(run_, name.c_str()).points_logged;
  EXPECT_EQ(logged, calls * kMetrics);
  EXPECT_EQ(status_of(run_).points_logged, logged);
}

TEST_F(AccountTest, WhatIsLoggedAfterTheEndIsOfNoMetric) {
  open("block");
  trk_log_f64(run_, "a", kNul, 1, 0);
  ASSERT_EQ(trk_finish(run_, 0, nullptr), TRK_OK);
  trk_log_f64(run_, "a", kNul, 1, 1);
  EXPECT_EQ(series_of(run_, "a").points_logged, 1u);
  EXPECT_EQ(series_of(run_, nullptr).points_dropped, 1u);
}

TEST_F(AccountTest, TheCostIsSaid) {
  open("block");
  for (int64_t step = 0; step < 100'000; ++step) trk_log_f64(run_, "a", kNul, 1, step);
  ASSERT_EQ(trk_flush(run_, 10'000), TRK_OK);
  const trk_status status = status_of(run_);
  EXPECT_GT(status.cost_call_ns, 100'000u);  // more than 1 ns a call
  EXPECT_LT(status.cost_call_ns, 60'000'000'000u);
  EXPECT_GT(status.cost_thread_cpu_ns, 0u);
  EXPECT_GE(status.cost_memory_bytes_max, status.cost_memory_bytes);
  EXPECT_GE(status.cost_memory_bytes, 256u * 1024);
}

}  // namespace
}  // namespace tracker::internal
