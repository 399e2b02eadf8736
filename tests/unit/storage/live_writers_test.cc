// SPDX-License-Identifier: MIT
// Goal: a process that resumes a run finds out which others record it. Method: identities and snapshots made by hand,
// as those of a process of this machine and of others.
#include "storage/recovery/live_writers.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace tracker::internal {
namespace {

constexpr const char* kStore = "/nowhere";

WriterIdentity of(int64_t pid, const std::string& host) {
  WriterIdentity out = this_process();
  out.writer = Id128::random();
  out.pid = pid;
  out.host = host;
  out.started_us = realtime_us() - 3600'000'000;
  return out;
}

WriterSnapshot seen(int64_t ago_us, const std::string& host = "elsewhere") {
  WriterSnapshot out;
  out.identity = of(4242, host);
  out.identity.boot_id = "another";
  out.heartbeat_us = realtime_us() - ago_us;
  return out;
}

TEST(LiveWritersTest, AnotherProcessOfThisMachineIsNamedAndNotThisOne) {
  const WriterIdentity self = this_process();
  EXPECT_FALSE(other_writer({of(self.pid, self.host)}, {}, kStore));
  const auto other = other_writer({of(self.pid, self.host), of(self.pid + 1, self.host)}, {}, kStore);
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->seen);
  EXPECT_EQ(other->identity.pid, self.pid + 1);
}

TEST(LiveWritersTest, OneOfAnotherMachineIsNamedWhileItGivesSignsOfLife) {
  const auto other = other_writer({}, {seen(3600'000'000), seen(5'000'000)}, kStore);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->seen);
  EXPECT_EQ(other->text().substr(0, 21), "pid 4242 on elsewhere");
  EXPECT_FALSE(other_writer({}, {seen(61'000'000)}, kStore)) << "silent for a minute";
  WriterSnapshot ended = seen(5'000'000);
  ended.end = WriterEnd{};
  EXPECT_FALSE(other_writer({}, {ended}, kStore)) << "it has said its end";
}

}  // namespace
}  // namespace tracker::internal
