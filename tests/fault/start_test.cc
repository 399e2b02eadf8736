// SPDX-License-Identifier: MIT
// F12. 64 processes that init at the same moment in an empty directory make one store and 64 runs, and none sees an
// error. Method: they wait at a barrier in shared memory and are let go together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int kProcesses = 64;

// Promise P3: Processes that start together make one store, and share a run where they name one.
TEST(StartTest, ProcessesThatInitTogetherMakeOneStoreAndARunEach) {
  Sandbox sandbox;
  struct Barrier {
    std::atomic<int> here, go;
  };
  Shared<Barrier> barrier;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i)
    children.push_back(start_child([&, i] {
      barrier->here.fetch_add(1);
      while (barrier->go.load() == 0) ::usleep(50);
      // Half of them want the same label.
      trk_run* run = open_run(i % 2 == 0 ? "same" : nullptr);
      CHILD_CHECK(run != nullptr && status_of(run).degraded == 0);
      for (int64_t step = 0; step < 10; ++step)
        CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, i, step) == TRK_OK);
      CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK && status_of(run).degraded == 0);
      (void)trk_finish(run, 0, nullptr);
      trk_free(run);
      return 0;
    }));
  while (barrier->here.load() < kProcesses) ::usleep(1000);
  barrier->go.store(1);
  for (const pid_t child : children) EXPECT_EQ(exit_code_of(wait_child(child)), 0);
  ReadRun all = recover_and_read(sandbox.store());
  EXPECT_THAT(all.problems, ::testing::IsEmpty());
  auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  std::set<std::string> ids, uids;
  uint64_t points = 0;
  for (const RunFolder& folder : store->list_runs()) {
    ids.insert(folder.identity.id);
    uids.insert(folder.identity.uid.hex());
    auto view = RunView::open(folder);
    ASSERT_TRUE(view.ok());
    points += (*view)->points();
    EXPECT_EQ((*view)->state(), RunState::kFinished);
  }
  EXPECT_EQ(ids.size(), static_cast<size_t>(kProcesses));
  EXPECT_EQ(uids.size(), static_cast<size_t>(kProcesses));
  EXPECT_EQ(points, kProcesses * 10u);
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace tracker::internal
