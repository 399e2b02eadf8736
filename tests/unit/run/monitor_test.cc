// SPDX-License-Identifier: MIT
// Goal: a run records where it ran and how busy that was, beside its metrics and never in their way; a GPU driver that
// hangs holds nothing up. Method: whole runs over the C ABI, and a management library of our own.
#include "run/services/monitor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "query/view/environment.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr size_t kWholeName = TRK_NUL_TERMINATED;

class MonitorTest : public ::testing::Test {
 protected:
  ~MonitorTest() override {
    trk_free(run_);
    ::unsetenv("TRACKER_NVML");
    ::unsetenv("NVML_STUB_MODE");
  }
  void open(double interval, const char* capture = "command") {
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.project = "p";
    options.id = "r";
    options.resume = "allow";
    options.quiet = 1;
    options.capture = capture;
    options.system_interval = interval;
    ASSERT_EQ(trk_init(&options, &run_, nullptr), TRK_OK);
  }
  void finish() {
    const trk_code code = trk_finish(run_, 0, nullptr);
    EXPECT_TRUE(code == TRK_OK || code == TRK_TIMEOUT) << code;
    trk_free(run_);
    run_ = nullptr;
  }
  std::unique_ptr<RunView> view() {
    auto store = Store::open(sandbox_.store());
    if (!store.ok()) return nullptr;
    auto out = RunView::open(store->list_runs().at(0));
    return out.ok() ? std::move(*out) : nullptr;
  }
  // What the run has stored by then; at the end of its patience it fails.
  bool stored(const std::function<bool(const RunView&)>& holds) {
    for (int i = 0; i < 6000; ++i) {
      (void)trk_flush(run_, 1000);
      if (const auto now = view(); now != nullptr && holds(*now)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  bool samples(const std::string& name, uint64_t least) {
    return stored([&](const RunView& now) {
      const auto metric = now.metric(name);
      return metric.ok() && (*metric)->points >= least;
    });
  }
  static bool has_part(const RunView& now, const char* part) {
    return environment_of(now.writers()).find(part) != nullptr;
  }
  Sandbox sandbox_;
  trk_run* run_ = nullptr;
};

TEST_F(MonitorTest, MachineAndCommandAreRecordedWithoutAMetric) {
  open(-1);
  EXPECT_TRUE(stored([](const RunView& now) { return has_part(now, "host") && has_part(now, "command"); }));
  const Value environment = environment_of(view()->writers());
  EXPECT_NE(environment.find_path("host/hostname"), nullptr);
  EXPECT_EQ(environment.find("variables"), nullptr) << "they were not asked for";
  EXPECT_TRUE(view()->metrics().empty());
}

TEST_F(MonitorTest, SamplesAreRowsWithoutAStepThatTheRunsOwnCountsAndStepDoNotSee) {
  open(0.1);
  ASSERT_EQ(trk_log_f64(run_, "loss", kWholeName, 0.5, 41), TRK_OK);
  ASSERT_TRUE(samples("system/proc.rss.bytes", 3));
  ASSERT_EQ(trk_log_f64(run_, "loss", kWholeName, 0.25, TRK_STEP_AUTO), TRK_OK);
  const trk_status status = status_of(run_);
  EXPECT_EQ(status.points_logged, 2u);
  finish();
  const auto now = view();
  EXPECT_EQ((*now->metric("loss"))->last_step, 42);
  EXPECT_FALSE((*now->metric("system/proc.rss.bytes"))->has_steps);
  EXPECT_EQ(now->summary().as_map()->size(), 1u);
  EXPECT_EQ(metrics_of_kind(*now, false).size(), 1u);
  EXPECT_GT(metrics_of_kind(*now, true).size(), 8u);
  EXPECT_EQ(now->losses().dropped, 0u);
}

TEST_F(MonitorTest, AResumeAtAStepShadowsNoSample) {
  open(0.1);
  ASSERT_EQ(trk_log_f64(run_, "loss", kWholeName, 0.5, 100), TRK_OK);
  ASSERT_TRUE(samples("system/proc.rss.bytes", 2));
  finish();
  const uint64_t before = (*view()->metric("system/proc.rss.bytes"))->points;
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "p";
  options.resume_from = "r@10";
  options.quiet = 1;
  ASSERT_EQ(trk_init(&options, &run_, nullptr), TRK_OK);
  finish();
  EXPECT_EQ(view()->history("loss")->size(), 0u);
  EXPECT_EQ(view()->history("system/proc.rss.bytes")->size(), before);
}

TEST_F(MonitorTest, NoneLooksAtNothing) {
  open(-1, "none");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  finish();
  EXPECT_TRUE(environment_of(view()->writers()).as_map()->empty());
}

TEST_F(MonitorTest, GpusAreSampledAndNamed) {
  ::setenv("TRACKER_NVML", NVML_STUB, 1);
  ::setenv("NVML_STUB_MODE", "slow", 1);
  open(0.1);
  ASSERT_TRUE(samples("system/gpu.1.utilization.percent", 2));
  EXPECT_TRUE(stored([](const RunView& now) { return has_part(now, "gpu"); }));
  EXPECT_EQ(environment_of(view()->writers()).find("gpu")->text_or("driver", ""), "555.42");
  EXPECT_EQ((*view()->metric("system/gpu.1.utilization.percent"))->max, 41);
}

// A driver that hangs: everything else is sampled, the run says so, and neither its end nor that of the process waits.
// Reaches the limit kGpuStuckAfter.
// Promise P4: A GPU driver that hangs delays neither `init` nor `finish()` nor the end of the process.
TEST_F(MonitorTest, ADriverThatHangsIsSaidOnceAndHoldsNothingUp) {
  for (const char* mode : {"hang", "hang_later"}) {
    ::setenv("TRACKER_NVML", NVML_STUB, 1);
    ::setenv("NVML_STUB_MODE", mode, 1);
    open(0.1);
    ASSERT_TRUE(samples("system/proc.rss.bytes", 2)) << mode;
    EXPECT_TRUE(stored([](const RunView& now) { return has_part(now, "gpu_problem"); })) << mode;
    EXPECT_NE(environment_of(view()->writers()).find("gpu_problem")->text_or("call", "").find("nvml"),
              std::string::npos);
    finish();
    std::filesystem::remove_all(sandbox_.store());
  }
}

TEST(VariablesTest, SoManyBytesOfVariablesAreTakenAndThoseBehindAreCounted) {
  size_t taken = 0;
  for (char** each = environ; *each != nullptr; ++each) taken += std::strlen(*each);
  const std::string name = "TRACKER_TEST_LARGE", rest(kVariablesBytesMax - taken - name.size() - 1, 'x');
  uint64_t redacted = 0;
  ::setenv(name.c_str(), rest.c_str(), 1);
  EXPECT_EQ(environment_variables(&redacted).int_or("left_out", 0), 0);
  ::setenv(name.c_str(), (rest + "x").c_str(), 1);
  EXPECT_EQ(environment_variables(&redacted).int_or("left_out", 0), 1);
  ::unsetenv(name.c_str());
}

}  // namespace
}  // namespace tracker::internal
