// SPDX-License-Identifier: MIT
// F2, F10. Memory of the training: a process that the kernel kills because its cgroup is out of memory has lost
// nothing, and what a training frees after init() is free, because no process and no thread of ours keeps a page of it.
// Method: a memory cgroup of the test's own; a large block that is touched before init. TRACKER_TEST_MIB sets its size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/child.h"
#include "support/conditions.h"
#include "support/integrity.h"
#include "support/memory_group.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kMib = 1u << 20;
constexpr uint64_t kGroupBytes = 320 * kMib;  // 2 % of it are the rings
constexpr int kKilled = 10;
constexpr uint64_t kGuestBytesMax = 16 * kMib;

struct Ledger {
  std::atomic<uint64_t> accepted;
  std::atomic<uint64_t> before, with_block, after;
};

int log_and_eat(const MemoryGroup& group, uint64_t start, Ledger* ledger) {
  if (!group.enter()) return 1;
  trk_run* run = open_run("r", "block");
  CHILD_CHECK(run != nullptr);
  char* eaten = static_cast<char*>(
      ::mmap(nullptr, 4 * kGroupBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (uint64_t at = 0; at < 4 * kGroupBytes; at += 4096) {
    eaten[at] = 1;
    if (at % (start * 4096) != 0) continue;
    const auto step = static_cast<int64_t>(ledger->accepted.load());
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 5, step) == TRK_OK);
    ledger->accepted.fetch_add(1);
  }
  return 2;  // it was not killed
}

// F2. Each time at another moment: how much is logged meanwhile differs.
TEST(OutOfMemoryTest, AProcessThatTheKernelKillsInItsCgroupLosesNothingAndHasCrashed) {
  for (int kill = 0; kill < test_count(kKilled) && !HasFailure(); ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    const MemoryGroup group(kGroupBytes);
    SKIP_WHERE(!group.usable(), kMemoryCgroup);
    Sandbox sandbox;
    Shared<Ledger> ledger;
    const int status = run_child([&] { return log_and_eat(group, 1 + static_cast<uint64_t>(kill) % 50, &*ledger); });
    ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
    ReadRun run = recover_and_read(sandbox.store());
    EXPECT_THAT(run.problems, ::testing::IsEmpty());
    ASSERT_NE(run.view, nullptr);
    const History rows = rows_of(run, "x");
    EXPECT_GE(rows.size(), ledger->accepted.load());
    EXPECT_LE(rows.size(), ledger->accepted.load() + 1) << "only the call in flight may be there";
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
      ASSERT_EQ(rows.bits[i], i * 5);
    }
    EXPECT_EQ(run.view->state(), RunState::kCrashed) << run_state_name(run.view->state());
    EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
  }
}

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> out;
  auto names = list_dir("/proc");
  CHILD_CHECK(names.ok());
  for (const std::string& name : *names) {
    std::ifstream stat("/proc/" + name + "/stat");
    std::string pid, command, state;
    pid_t parent = 0;
    if (std::atoi(name.c_str()) > 0 && stat >> pid >> command >> state >> parent && parent == ::getpid())
      out.push_back(std::atoi(name.c_str()));
  }
  return out;
}

TEST(BigTrainingTest, WhatIsFreedBehindInitIsFreeForNoProcessOfOursKeepsIt) {
  NEEDS(kNoSanitizer);
  const char* given = std::getenv("TRACKER_TEST_MIB");
  const uint64_t block =
      (given != nullptr && std::atoi(given) > 0 ? static_cast<uint64_t>(std::atoi(given)) : 512) * kMib;
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const int status = run_child([&] {
    ledger->before = resident_bytes();
    void* training = ::mmap(nullptr, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHILD_CHECK(training != MAP_FAILED);
    for (uint64_t at = 0; at < block; at += 4096) static_cast<char*>(training)[at] = 1;
    trk_run* run = open_run("r");
    CHILD_CHECK(run != nullptr && children_of_this_process().empty());
    for (int64_t step = 0; step < 1000; ++step)
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    ledger->with_block = resident_bytes();
    ::munmap(training, block);
    ledger->after = resident_bytes();
    CHILD_CHECK(children_of_this_process().empty());
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK && children_of_this_process().empty());
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  std::printf("resident: %.1f MiB before, %.1f with the block, %.1f MiB after\n",
              static_cast<double>(ledger->before.load()) / kMib, static_cast<double>(ledger->with_block.load()) / kMib,
              static_cast<double>(ledger->after.load()) / kMib);
  EXPECT_GE(ledger->with_block.load(), ledger->before.load() + block);
  EXPECT_LT(ledger->after.load(), ledger->before.load() + kGuestBytesMax);
}

}  // namespace
}  // namespace tracker::internal
