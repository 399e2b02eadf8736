// SPDX-License-Identifier: MIT
// Goal: a listing that is killed at any moment of building the catalog leaves one that the next listing can continue;
// two at once do no harm. Method: children list a store again and again and are killed after random times; after each
// kill, and at the end, a listing of our own must show every run.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "query/runs/runs_query.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

constexpr int kRuns = 30;
const int kKills = test_count(25);

RunsQuery whole_store() {
  RunsQuery query;
  query.where = "metrics.loss >= 0";
  query.files_now_us = realtime_us() + 10 * kSecondUs;
  return query;
}

// Lists for ever, now and then from nothing.
[[noreturn]] void list_for_ever(const Store& store, bool discards) {
  for (int turn = 0;; ++turn) {
    if (discards && turn % 3 == 0) (void)Catalog::discard(store);
    const auto found = query_runs(store, whole_store());
    if (found.ok() && found->matched == kRuns) continue;
    std::fprintf(stderr, "%s\n",
                 found.ok() ? std::to_string(found->matched).c_str() : found.status().message().c_str());
    ::_exit(1);
  }
}

TEST(CatalogKillTest, AKilledListingLeavesACatalogThatIsTrue) {
  const uint64_t seed = test_seed("CatalogKillTest");
  std::mt19937_64 random(seed);
  StoreBuilder builder;
  for (int i = 0; i < kRuns; ++i)
    builder.writer(builder.run("p", "run" + std::to_string(i), kBuilderStartUs + i))
        .log("loss", 0, i)
        .end(RunState::kFinished)
        .finish();
  for (int kill = 0; kill < kKills; ++kill) {
    std::vector<pid_t> children;
    for (const bool discards : {true, false}) {
      const pid_t child = ::fork();
      if (child == 0) list_for_ever(builder.store(), discards);
      children.push_back(child);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100'000));
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFSIGNALED(status)) << "a child saw a wrong listing; seed " << seed << ", kill " << kill;
    }
    const auto found = query_runs(builder.store(), whole_store());
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    ASSERT_EQ(found->matched, static_cast<uint64_t>(kRuns)) << "seed " << seed << ", kill " << kill;
    ASSERT_FALSE(found->in_memory) << "seed " << seed << ", kill " << kill;
  }
  const auto last = query_runs(builder.store(), whole_store());
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->read, 0u);
}

TEST(CatalogKillTest, AReadOnlyStoreIsListedWithoutACatalogAndWithOne) {
  NEEDS(kRoot);
  StoreBuilder builder;
  for (int i = 0; i < 3; ++i)
    builder.writer(builder.run("p", "run" + std::to_string(i))).log("loss", 0, i).end(RunState::kFinished).finish();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(builder.path()))
    std::filesystem::permissions(entry, std::filesystem::perms(entry.is_directory() ? 0755 : 0644));
  std::filesystem::permissions(builder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(std::filesystem::path(builder.path()).parent_path(), std::filesystem::perms(0755));
  for (const bool with_catalog : {false, true}) {
    if (with_catalog) {
      ASSERT_TRUE(query_runs(builder.store(), whole_store()).ok());
    }
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setuid(65534) != 0) ::_exit(2);
      const auto found = query_runs(builder.store(), whole_store());
      if (found.ok())
        for (const std::string& problem : found->problems) std::fprintf(stderr, "%s\n", problem.c_str());
      const bool right = found.ok() && found->matched == 3 && found->in_memory && found->problems.empty();
      ::_exit(!right ? 1 : found->read == (with_catalog ? 0u : 3u) ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0) << (with_catalog ? "with a catalog" : "without one");
  }
}

}  // namespace
}  // namespace tracker::internal
