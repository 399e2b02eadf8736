// SPDX-License-Identifier: MIT
// A run that the kernel has killed for lack of memory loses nothing and shows the cause of its death; one that died
// otherwise shows no such cause. Method: a cgroup's files of our own making; and a real cgroup with a limit, if this
// machine allows one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "support/child.h"
#include "support/conditions.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr const char* kHint = "out of memory?";
constexpr int64_t kPoints = 1000;

void log_points() {
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  for (int64_t step = 0; step < kPoints; ++step)
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
}

void expect_crash(const Sandbox& sandbox, const ::testing::Matcher<const std::string&>& detail) {
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_EQ(rows_of(run, "x").size(), static_cast<size_t>(kPoints));
  EXPECT_EQ(run.view->state(), RunState::kCrashed);
  EXPECT_THAT(run.view->state_detail(), detail);
}

class OutOfMemoryTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_dirs(root_ + "/memory").ok());
    say(3);
    set_cgroup_root_for_testing(root_);
  }
  void TearDown() override { set_cgroup_root_for_testing(""); }
  void say(int kills) const {
    std::ofstream(root_ + GetParam()) << "low 0\noom 17\noom_group_kill 99\noom_kill " << kills << "\n";
  }
  void die() const {
    EXPECT_EQ(exit_code_of(run_child([] {
                log_points();
                ::raise(SIGKILL);
                return 0;
              })),
              -1 - SIGKILL);
  }

  Sandbox sandbox_;
  const std::string root_ = sandbox_.folder() + "/cgroup";
};

TEST_P(OutOfMemoryTest, ACgroupThatHasCountedAKillSinceIsTheHint) {
  die();
  say(4);
  expect_crash(sandbox_, ::testing::StartsWith(kHint));
}

TEST_P(OutOfMemoryTest, WithoutAKillSinceThenNothingIsHinted) {
  die();
  expect_crash(sandbox_, std::string());
}

TEST_P(OutOfMemoryTest, ACgroupThatIsGoneHintsNothing) {
  die();
  remove_file(root_ + GetParam());
  expect_crash(sandbox_, std::string());
}

std::string file_name(const ::testing::TestParamInfo<const char*>& test) {
  const char* names[] = {"Local", "V2", "V1"};
  return names[test.index];
}

INSTANTIATE_TEST_SUITE_P(Files, OutOfMemoryTest,
                         ::testing::Values("/memory.events.local", "/memory.events", "/memory/memory.oom_control"),
                         file_name);

// The folder of a new cgroup with a limit on memory below this process's own; empty where none may be made.
std::string make_memory_cgroup(uint64_t bytes) {
  const auto own = cgroup_oom_kills();
  if (!own) return "";
  const std::string group = join_path(parent_path(own->file), "tracker-test-" + std::to_string(::getpid()));
  if (::mkdir(group.c_str(), 0755) != 0) return "";
  for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
    std::ofstream file(group + name);
    if (file << bytes << std::flush) return group;
  }
  ::rmdir(group.c_str());
  return "";
}

void eat_memory() {
  for (;;) {
    constexpr size_t kBytes = 1 << 20;
    void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHILD_CHECK(at != MAP_FAILED);
    std::memset(at, 1, kBytes);
  }
}

TEST(RealOutOfMemoryTest, ARunThatTheKernelKillsLosesNothingAndSaysWhy) {
  NEEDS(kNoSanitizer);
  const std::string group = make_memory_cgroup(256u << 20);
  SKIP_WHERE(group.empty(), kMemoryCgroup);
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([&] {
              std::ofstream join(group + "/cgroup.procs");
              CHILD_CHECK(join << ::getpid() << std::flush);
              join.close();
              log_points();
              eat_memory();
              return 0;
            })),
            -1 - SIGKILL);
  expect_crash(sandbox, ::testing::StartsWith(kHint));
  ::rmdir(group.c_str());
}

}  // namespace
}  // namespace tracker::internal
