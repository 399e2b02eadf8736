// SPDX-License-Identifier: MIT
// Goal: a process tree's use is that of all its members, and a machine full of other processes costs nothing. Method: a
// /proc of our own.
#include "monitor/host/process_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "monitor/host/system_sample.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kLater = 1'000'000'000'000'000;  // ticks since boot: born after every look of these tests

class ProcessTreeTest : public ::testing::Test {
 protected:
  void process(int64_t pid, uint64_t ticks, uint64_t pages, const std::string& children = "", uint64_t start = 7) {
    const std::string folder = folder_.path() + "/" + std::to_string(pid);
    const std::string task = folder + "/task/" + std::to_string(pid);
    std::filesystem::create_directories(task);
    std::ofstream stat(folder + "/stat");
    stat << pid << " (a ) name) S 1";  // fields 3 and 4
    for (int i = 5; i <= 13; ++i) stat << " 0";
    stat << " " << ticks << " 5 0 0 20 0 3 0 " << start << " 1000000 " << pages << " 0 0\n";  // 14 to 24
    std::ofstream(folder + "/io") << "rchar: 1\nread_bytes: " << ticks * 10 << "\nwrite_bytes: " << ticks << "\n";
    std::ofstream(task + "/children") << children;
  }
  TempFolder folder_;
};

TEST_F(ProcessTreeTest, ChildrenOfChildrenCountAndWhatIsUsedIsThatSinceTheLookBefore) {
  process(10, 100, 2, "11 12 ");
  process(11, 50, 3, "13");
  process(12, 0, 1);
  process(13, 7, 4);
  process(99, 1'000'000, 1'000'000);  // the child of no process here
  ProcessTree tree(10, folder_.path());
  TreeUse use = tree.look();
  EXPECT_EQ(use.processes, 4u);
  EXPECT_EQ(use.threads, 12u);
  EXPECT_EQ(use.rss_bytes, 10u * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(use.cpu_ticks, 0u) << "nothing came before";
  process(11, 80, 3, "13 14");
  process(14, 6, 1, "", kLater);
  use = tree.look();
  EXPECT_EQ(use.cpu_ticks, 30u + 6 + 5) << "a new process has used all since the look before";
  EXPECT_EQ(use.read_bytes, 300u + 60);
  process(14, 2, 1, "", kLater + 1);  // the number was given to another process
  EXPECT_EQ(tree.look().cpu_ticks, 2u + 5);
}

// All that it had used was once counted as used within one interval: 24,000 % after an hour.
TEST_F(ProcessTreeTest, AProcessThatRanBeforeItCameIntoTheTreeCountsFromThenOn) {
  process(10, 100, 2);
  process(11, 360'000, 3, "", 8);
  ProcessTree tree(10, folder_.path());
  (void)tree.look();
  process(10, 100, 2, "11");  // adopted, or missed by the look before
  process(11, 360'030, 3, "", 8);
  TreeUse use = tree.look();
  EXPECT_EQ(use.processes, 2u);
  EXPECT_EQ(use.cpu_ticks, 0u);
  EXPECT_EQ(use.read_bytes + use.write_bytes, 0u);
  process(11, 360'050, 3, "", 8);
  use = tree.look();
  EXPECT_EQ(use.cpu_ticks, 20u);
  EXPECT_EQ(use.write_bytes, 20u);
}

TEST_F(ProcessTreeTest, ALargeTreeIsLookedAtWithinTheBound) {
  std::string children;
  for (size_t i = 0; i < kTreeProcessesMax + 10; ++i) {
    children += std::to_string(1000 + i) + " ";
    process(static_cast<int64_t>(1000 + i), 1, 1);
  }
  process(10, 1, 1, children);
  ProcessTree tree(10, folder_.path());
  const TreeUse use = tree.look();
  EXPECT_EQ(use.processes, kTreeProcessesMax);
  EXPECT_TRUE(use.cut);
}

// Bug: a tree of just so many threads counted as cut.
TEST_F(ProcessTreeTest, ChildrenOfSoManyThreadsAreFoundAndOneMoreIsSaid) {
  for (size_t i = 0; i < kTreeThreadsMax; ++i) {
    if (i > 0) std::filesystem::create_directories(folder_.path() + "/10/task/" + std::to_string(1'000'000 + i));
    if (i != kTreeThreadsMax - 2) continue;
    process(10, 1, 1, "11");
    process(11, 1, 1);  // its thread is the last one
    ProcessTree tree(10, folder_.path());
    const TreeUse use = tree.look();
    EXPECT_EQ(use.processes, 2u);
    EXPECT_FALSE(use.cut);
  }
  ProcessTree tree(10, folder_.path());
  EXPECT_TRUE(tree.look().cut);
}

TEST_F(ProcessTreeTest, WhatIsNotThereOrNoStatCountsNothing) {
  ProcessTree tree(10, folder_.path());
  EXPECT_EQ(tree.look().processes, 0u);
  std::filesystem::create_directories(folder_.path() + "/10");
  std::ofstream(folder_.path() + "/10/stat") << "10 (x) S 1 2";
  EXPECT_EQ(tree.look().processes, 0u);
}

TEST_F(ProcessTreeTest, OpenFilesAreCountedUpToTheLimit) {
  constexpr size_t kFilesMax = 65'536;  // kOpenFilesMax
  const TempFolder root("/dev/shm/");
  const std::string proc = root.path() + "/proc", files = proc + "/self/fd/";
  process(::getpid(), 1, 1);
  std::filesystem::create_directories(files);
  std::filesystem::copy(folder_.path(), proc, std::filesystem::copy_options::recursive);
  const auto open_files = [&root] {
    for (const SystemValue& each : SystemSampler("/", root.path()).look())
      if (each.name == "system/proc.open_files") return each.value;
    return -1.0;
  };
  for (size_t i = 0; i < kFilesMax + 2; ++i) {
    ASSERT_EQ(::mknod((files + std::to_string(i)).c_str(), S_IFREG | 0600, 0), 0);
    if (i < kFilesMax - 2) continue;
    EXPECT_EQ(open_files(), static_cast<double>(std::min(i + 1, kFilesMax)));
  }
}

TEST(SystemSamplerTest, ThisMachineHasMemoryADiskAndThisProcess) {
  SystemSampler sampler("/");
  std::vector<SystemValue> first = sampler.look();
  const auto has = [](const std::vector<SystemValue>& values, const std::string& name) {
    for (const SystemValue& each : values)
      if (each.name == name) return each.value > 0;
    return false;
  };
  EXPECT_TRUE(has(first, "system/memory.used.bytes"));
  EXPECT_TRUE(has(first, "system/proc.rss.bytes"));
  EXPECT_TRUE(has(first, "system/proc.open_files"));
  EXPECT_TRUE(has(first, "system/disk.free.bytes"));
  EXPECT_FALSE(has(first, "system/proc.cpu.percent")) << "a rate needs two looks";
  uint64_t work = 1;
  bool busy = false;
  for (int i = 0; i < 1000 && !busy; ++i) {
    for (int k = 0; k < 20'000'000; ++k) work = work * 6364136223846793005u + 1;
    busy = has(sampler.look(), "system/proc.cpu.percent") && work != 0;
  }
  EXPECT_TRUE(busy);
}

}  // namespace
}  // namespace tracker::internal
