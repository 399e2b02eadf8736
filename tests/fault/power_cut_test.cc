// SPDX-License-Identifier: MIT
// F3. The power goes between any two writes of a run: its store opens, what flush() acknowledged and what is older than
// a second and an fsync is there, and no torn row is visible. Method: a run's writes are recorded (support/write_log.h)
// and replayed up to every one of them, with what no fsync covered there, gone, or there by sectors; no journal is
// left, for /dev/shm is gone too. TRACKER_TEST_KILLS sets how often sectors are drawn at each write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/child.h"
#include "support/integrity.h"
#include "support/power_cut.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kAccepted = 1, kDurable = 2;  // marks: calls that have returned; those that flush() acknowledged
constexpr int64_t kSecondNs = 1'000'000'000;
// How old what is not durable may be when an fsync begins: a second, and beyond what is kept ahead (kSyncAhead) how
// late a thread is on a busy machine. The fsync itself is seen in the log, whatever it takes.
constexpr int64_t kMayBeLostNs = kSecondNs + kSecondNs / 5 * kSlowDown;

constexpr size_t kStride = kSlowDown == 1 ? 1 : 7;  // a sanitizer takes every seventh write

uint64_t bits_of_step(int64_t step) { return static_cast<uint64_t>(step) * 7; }

// Three seconds of logging, a flush in the middle of the first, and the end: in between the fsyncs come by themselves.
int log_recorded(const Sandbox& sandbox, const char* files) {
  ::setenv("TRACKER_STORE_FILES", files, 1);
  std::filesystem::create_directory(sandbox.folder() + "/disk");
  ::setenv("TRACKER_DIR", (sandbox.folder() + "/disk/store").c_str(), 1);
  start_write_log(sandbox.folder() + "/disk", sandbox.folder() + "/writes");
  trk_run* run = open_run("r");
  CHILD_CHECK(run != nullptr);
  const int64_t begin = now_ns();
  uint64_t accepted = 0;
  bool flushed = false;
  while (now_ns() < begin + 3 * kSecondNs) {
    const auto step = static_cast<int64_t>(accepted);
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, static_cast<int64_t>(bits_of_step(step)), step) == TRK_OK);
    mark_write_log(kAccepted, ++accepted);
    sleep_ms(2);
    if (flushed || now_ns() < begin + kSecondNs / 2) continue;
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    mark_write_log(kDurable, accepted);
    flushed = true;
  }
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
  mark_write_log(kDurable, accepted);
  return 0;
}

class PowerCutTest : public ::testing::TestWithParam<const char*> {
 protected:
  // What a restarted machine finds: at least `needed` rows from the first on, and no row that was not logged.
  void expect_sound(PowerCut cut, uint64_t needed) {
    const std::string store = disk_ + "/store";
    if (needed == 0 && !Store::open(store).ok()) return;
    ReadRun run = recover_and_read(store);
    const History rows = rows_of(run, "x");
    rows_ = rows.size();
    ASSERT_GE(rows.size(), needed) << ::testing::PrintToString(run.problems);
    // In a .frames file sectors may be missing in the middle of what no fsync has covered: then that is named.
    const bool may_have_gaps = cut == PowerCut::kSomeSectors && std::string(GetParam()) == "frames";
    for (size_t i = 0; i < rows.size(); ++i) {
      if (may_have_gaps && i >= needed) continue;
      ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    }
    EXPECT_TRUE(std::is_sorted(rows.steps.begin(), rows.steps.end(), std::less_equal<>())) << "no row twice";
    for (size_t i = 0; i < rows.size(); ++i)
      ASSERT_EQ(rows.bits[i], bits_of_step(rows.steps[i])) << "a row that was not logged";
    if (needed == 0) return;
    if (!may_have_gaps) {
      EXPECT_THAT(run.problems, ::testing::IsEmpty());
    }
    ASSERT_NE(run.view, nullptr);
    EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
  }

  void cut_here(const CutDisk& disk, PowerCut cut, uint64_t needed) {
    std::filesystem::remove_all(disk_);
    std::filesystem::create_directory(disk_);
    disk.restore(cut, &random_, disk_);
    ++cuts_;
    expect_sound(cut, needed);
  }

  Sandbox sandbox_;
  std::string disk_ = sandbox_.shm() + "/disk";  // in memory: what is tested is what the files hold
  std::mt19937_64 random_{test_seed("power cut")};
  int cuts_ = 0;
  size_t rows_ = 0;  // that the last cut has left
};

// Of ages in ns those of fsyncs that came by themselves.
int64_t median_ms_of_long_ones(std::vector<int64_t> ages) {
  std::erase_if(ages, [](int64_t age) { return age < kSecondNs / 2; });
  if (ages.empty()) return -1;
  std::nth_element(ages.begin(), ages.begin() + static_cast<ptrdiff_t>(ages.size() / 2), ages.end());
  return ages[ages.size() / 2] / 1'000'000;
}

TEST_P(PowerCutTest, AfterEveryWriteTheStoreOpensWithWhatWasDurable) {
  ASSERT_EQ(exit_code_of(run_child([&] { return log_recorded(sandbox_, GetParam()); })), 0);
  const std::vector<LoggedWrite> writes = read_write_log(sandbox_.folder() + "/writes");
  const int draws = std::getenv("TRACKER_TEST_KILLS") != nullptr ? test_count(1) : 1;
  CutDisk disk;
  uint64_t durable = 0;
  size_t old = 0;
  uint64_t accepted_long_ago = 0;
  int64_t sync_began_ns = 0;
  std::vector<int64_t> accepted_ns, ages_ns;  // of the oldest row that was not durable when an fsync began
  for (size_t i = 0; i < writes.size() && !HasFailure(); ++i) {
    const LoggedWrite& write = writes[i];
    disk.apply(write);
    if (write.kind == WriteKind::kMark) {
      if (write.at == kDurable) durable = std::max(durable, write.value);
      else accepted_ns.push_back(write.time_ns);
      if (i + 1 < writes.size()) continue;
    }
    if (write.kind == WriteKind::kSyncBegin) sync_began_ns = write.time_ns;
    if (write.kind == WriteKind::kSyncBegin && durable > 0) {
      cut_here(disk, PowerCut::kOnlySynced, durable);
      if (rows_ < accepted_ns.size()) ages_ns.push_back(write.time_ns - accepted_ns[rows_]);
    }
    const int64_t at_ns = write.kind == WriteKind::kSync ? sync_began_ns : write.time_ns;
    for (; writes[old].time_ns < at_ns - kMayBeLostNs; ++old)
      if (writes[old].kind == WriteKind::kMark) accepted_long_ago = std::max(accepted_long_ago, writes[old].value);
    if (i % kStride != 0 && i + 1 < writes.size()) continue;
    // A busy machine may take longer to make the files than from one fsync to the next: there the first flush counts.
    const uint64_t needed = durable == 0 ? 0 : std::max(durable, accepted_long_ago);
    SCOPED_TRACE("after write " + std::to_string(i) + " of " + std::to_string(writes.size()) + ", to " + write.path);
    for (const PowerCut cut : {PowerCut::kOnlySynced, PowerCut::kNamesOnly, PowerCut::kEverything}) {
      SCOPED_TRACE("cut " + std::to_string(static_cast<int>(cut)));
      cut_here(disk, cut, needed);
    }
    for (int draw = 0; draw < draws && !HasFailure(); ++draw) {
      SCOPED_TRACE("some sectors");
      cut_here(disk, PowerCut::kSomeSectors, needed);
    }
  }
  EXPECT_GT(durable, 300u);
  const int64_t age_ms = median_ms_of_long_ones(ages_ns);
  EXPECT_LE(age_ms, 5 * 1000 * kSlowDown) << "what an fsync is for is a second old at most when it starts";
  EXPECT_GT(age_ms, 0);
  std::printf("the oldest row that was not durable when an fsync began: %lld ms\n", static_cast<long long>(age_ms));
  std::printf("%zu writes and marks, %d power cuts, %llu rows, files: %s\n", writes.size(), cuts_,
              static_cast<unsigned long long>(durable), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Files, PowerCutTest, ::testing::Values("sqlite", "frames"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tracker::internal
