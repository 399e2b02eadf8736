// SPDX-License-Identifier: MIT
// Goal: rm and gc may be killed at any point: a run is there as a whole or gone, nothing else is touched, and the next
// gc leaves nothing behind. Method: children that remove and collect are killed after random times; after each kill
// every run that is listed must be intact, and the others stay.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/clock.h"
#include "storage/collect.h"
#include "storage/trash.h"
#include "storage/verify.h"
#include "support/child.h"
#include "support/sandbox.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 4;
constexpr int kFiles = 150;  // beside the database, so that a removal takes a while
const int kKills = test_count(25);

RunFolder make_run(StoreBuilder& builder, const std::string& id) {
  RunFolder run = builder.run("p", id);
  builder.writer(run).log("loss", 0, 1).log("loss", 1, 2).end(RunState::kFinished).finish();
  fs::create_directories(run.path + "/media/deep");
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = run.path + "/media/deep/" + std::to_string(i);
    EXPECT_TRUE(create_file_exclusive(name, std::string(500, 'x'), 0600, false).ok());
  }
  return run;
}

void expect_whole_runs(const StoreBuilder& builder, uint64_t seed, int kill) {
  VerifyOptions options;
  options.now_us = realtime_us();
  const auto report = verify_store(builder.path(), options);
  ASSERT_TRUE(report.ok());
  for (const Finding& finding : report->findings)
    EXPECT_EQ(finding.level, FindingLevel::kNote) << finding.path << ": " << finding.what << "; seed " << seed;
  for (const RunFolder& run : builder.store().list_runs()) {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(run.path + "/media/deep")) files += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(files, kFiles) << run.path << "; seed " << seed << ", kill " << kill;
  }
}

TEST(RemoveKillTest, ARemovalThatIsKilledLeavesWholeRunsOrNone) {
  const Sandbox sandbox;
  const uint64_t seed = test_seed("RemoveKillTest");
  std::mt19937_64 random(seed);
  StoreBuilder builder;
  make_run(builder, "precious");
  int half_done = 0, made = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    std::vector<RunFolder> doomed;
    while (doomed.size() < kRuns) doomed.push_back(make_run(builder, "doomed" + std::to_string(made++)));
    std::vector<pid_t> children;
    for (const bool collects : {false, true}) {
      children.push_back(start_child([&] {
        CollectOptions options;
        options.now_us = realtime_us();
        for (const RunFolder& run : doomed)
          if (!collects) (void)remove_run(builder.store(), run, realtime_us()).ok();
        for (;;) (void)collect_garbage(builder.store(), options);
        return 0;
      }));
    }
    ::usleep(static_cast<useconds_t>(random() % 15'000));
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      wait_child(child);
    }
    const auto names = list_dir(builder.path() + "/trash");
    half_done += names.ok() && names->size() > 1 ? 1 : 0;
    expect_whole_runs(builder, seed, kill);
    ASSERT_TRUE(builder.store().find_run("p", "precious").has_value()) << "seed " << seed;
    CollectOptions options;
    options.now_us = realtime_us();
    const CollectReport report = collect_garbage(builder.store(), options);
    EXPECT_TRUE(report.problems.empty()) << report.problems.front() << "; seed " << seed;
    ASSERT_EQ(list_dir(builder.path() + "/trash").value_or({kTrashLockFile}).size(), 1u) << "seed " << seed;
    for (const RunFolder& run : doomed)
      if (fs::exists(run.path)) fs::remove_all(run.path);
  }
  std::printf("%d of %d kills left a removal half done\n", half_done, kKills);
  EXPECT_GT(half_done, 0);
}

}  // namespace
}  // namespace tracker::internal
