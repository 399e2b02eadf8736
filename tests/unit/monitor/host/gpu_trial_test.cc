// SPDX-License-Identifier: MIT
// Goal: what a trial of a driver's library says decides whether it is loaded, and no child is left. Method: shells in
// place of the program that tries it.
#include "monitor/host/gpu_trial.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace tracker::internal {
namespace {

const GpuSampler::Watch kNobody = [](const char*) {};

GpuTrialResult trial_by(const std::string& shell, const std::function<bool()>& stopped = [] { return false; }) {
  GpuOptions options{"/no/such/library.so", std::nullopt};
  if (!shell.empty()) options.trial = {"/bin/sh", "-c", shell};
  const GpuTrialResult out = try_gpu_library(options, kNobody, stopped);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  return out;
}

TEST(GpuTrialTest, ATrialThatComesToItsEndPassesAndOneThatDoesNotCrashedInItsLastCall) {
  EXPECT_EQ(trial_by("echo dlopen; echo end").verdict, GpuTrial::kPassed);
  EXPECT_EQ(trial_by("echo end; kill -SEGV $$").verdict, GpuTrial::kPassed);
  for (const char* shell : {"echo dlopen; echo nvmlInit_v2; kill -SEGV $$", "echo nvmlInit_v2; kill -ABRT $$",
                            "echo nvmlInit_v2; exit 3", "echo nvmlInit_v2; printf en"}) {
    const GpuTrialResult out = trial_by(shell);
    EXPECT_EQ(out.verdict, GpuTrial::kCrashed) << shell;
    EXPECT_STREQ(out.call, "nvmlInit_v2") << shell;
  }
}

TEST(GpuTrialTest, WhereNoTrialCanBeMadeThereIsNone) {
  EXPECT_EQ(trial_by("").verdict, GpuTrial::kNotMade);
  EXPECT_EQ(trial_by("exit 1").verdict, GpuTrial::kNotMade);
  EXPECT_EQ(try_gpu_library({"/x.so", std::nullopt, {"/no/such/program"}, {}}, kNobody, [] { return false; }).verdict,
            GpuTrial::kNotMade);
  const GpuOptions loaded{"libc.so.6", std::nullopt, {"/bin/sh", "-c", "echo dlopen"}, {}};
  EXPECT_EQ(try_gpu_library(loaded, kNobody, [] { return false; }).verdict, GpuTrial::kNotMade);
}

// What was forked by another thread meanwhile has the pipe too.
TEST(GpuTrialTest, ThePipeThatSomebodyElseHoldsOpenHoldsNothingUp) {
  const std::string pid = ::testing::TempDir() + "gpu_trial_test." + std::to_string(::getpid());
  EXPECT_EQ(trial_by("sleep 600 & echo $! > " + pid + "; echo nvmlInit_v2; kill -SEGV $$").verdict, GpuTrial::kCrashed);
  EXPECT_EQ(std::system(("kill $(cat " + pid + "); rm " + pid).c_str()), 0);
}

// A driver that is not kept loaded takes seconds for each of eight GPUs.
static_assert(kGpuTrialMax == std::chrono::seconds(60));

TEST(GpuTrialTest, OneThatHangsIsEndedWhenItShallStop) {
  int asked = 0;
  EXPECT_EQ(trial_by("echo nvmlInit_v2; exec sleep 600", [&] { return ++asked > 2; }).verdict, GpuTrial::kStopped);
}

}  // namespace
}  // namespace tracker::internal
