// SPDX-License-Identifier: MIT
// What of its surroundings a run records is asked for by arguments, which beat variables, which beat defaults; what is
// asked for wrongly is an error at once. Method: all of them.
#include "run/services/capture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "support/sandbox.h"

namespace tracker::internal {
namespace {

class CaptureTest : public ::testing::Test {
 protected:
  CaptureTest() { ::unsetenv("TRACKER_CAPTURE"), ::unsetenv("TRACKER_SYSTEM_INTERVAL"); }
  ~CaptureTest() override { ::unsetenv("TRACKER_CAPTURE"), ::unsetenv("TRACKER_SYSTEM_INTERVAL"); }
  static std::string plan(const std::string& capture = "", double interval = std::nan("")) {
    InitOptions options;
    options.capture = capture;
    options.system_interval = interval;
    const auto plan = capture_plan(options);
    if (!plan.ok()) return plan.status().message();
    std::string out = plan->environment ? "on" : "off";
    if (plan->command) out += " command";
    if (plan->variables) out += " variables";
    if (plan->diff) out += " diff";
    return out + " " + std::to_string(plan->system_interval.count());
  }
  Sandbox sandbox_;
};

TEST_F(CaptureTest, TheEnvironmentAndASampleEach15SecondsAreTheDefault) {
  ::unsetenv("TRACKER_CAPTURE");
  EXPECT_EQ(plan(), "on 15000");
  EXPECT_EQ(plan("command, diff"), "on command diff 15000");
  EXPECT_EQ(plan("environment"), "on variables 15000");
  EXPECT_EQ(plan("", kSystemIntervalMin), "on 100");
  EXPECT_EQ(plan("", kSystemIntervalMax), "on 3600000");
  EXPECT_EQ(plan("", 0), "on 0");
}

TEST_F(CaptureTest, NoneTurnsAllOffButWhatAnArgumentAsksFor) {
  EXPECT_EQ(plan("none"), "off 0");
  EXPECT_EQ(plan("none", 1), "off 1000");
  ::setenv("TRACKER_CAPTURE", "none", 1);
  EXPECT_EQ(plan(), "off 0");
  EXPECT_EQ(plan("command"), "on command 15000");
  ::setenv("TRACKER_CAPTURE", "command,environment", 1);
  ::setenv("TRACKER_SYSTEM_INTERVAL", "2.5", 1);
  EXPECT_EQ(plan(), "on command variables 2500");
  EXPECT_EQ(plan("none"), "off 0");
}

TEST_F(CaptureTest, WhatIsAskedWronglySaysWhatWasExpected) {
  ::unsetenv("TRACKER_CAPTURE");
  EXPECT_EQ(plan("everything"), "capture=\"everything\": expected none, or some of command, environment, diff, source");
  EXPECT_EQ(plan("none,diff"), "capture=\"none,diff\": \"none\" excludes all others");
  EXPECT_EQ(plan("none,source"), "capture=\"none,source\": \"none\" excludes all others");
  for (const double wrong : {0.01, 3601.0, -1.0, HUGE_VAL})
    EXPECT_NE(plan("", wrong).find("expected 0 for none, or 0.1 to 3600 seconds"), std::string::npos) << wrong;
  ::setenv("TRACKER_SYSTEM_INTERVAL", "often", 1);
  EXPECT_EQ(plan(), "TRACKER_SYSTEM_INTERVAL=\"often\": expected a number of seconds");
}

}  // namespace
}  // namespace tracker::internal
