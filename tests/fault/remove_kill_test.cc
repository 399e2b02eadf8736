// SPDX-License-Identifier: MIT
// Goal: rm and gc may be killed at any point: a run is there as a whole or gone, with what waits in the journals of its
// dead writers, nothing else is touched, and the next gc leaves nothing behind. Method: children that remove and
// collect are killed after random times, and one that removes a run with a journal before each of its system calls;
// after each kill every run that is listed must be intact, and the others stay.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>

#include "base/clock.h"
#include "storage/recovery/trash.h"
#include "storage/store/run_folder.h"
#include "storage/upkeep/collect.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/kill_at_call.h"
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
  // Until one has hit a removal, at the most ten times as often: how long a child takes is the machine's affair.
  for (int kill = 0; kill < kKills || (half_done == 0 && kill < 10 * kKills); ++kill) {
    std::vector<RunFolder> doomed;
    while (doomed.size() < kRuns) doomed.push_back(make_run(builder, "doomed" + std::to_string(made++)));
    std::vector<pid_t> children;
    Shared<std::atomic<int>> begun;
    for (const bool collects : {false, true}) {
      children.push_back(start_child([&] {
        CollectOptions options;
        options.now_us = realtime_us();
        begun->fetch_add(1);
        for (const RunFolder& run : doomed)
          if (!collects) (void)remove_run(builder.store(), run, realtime_us()).ok();
        for (;;) (void)collect_garbage(builder.store(), options);
        return 0;
      }));
    }
    while (begun->load() < 2) ::usleep(100);
    ::usleep(static_cast<useconds_t>(random() % 15'000 * kSlowDown));
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
  std::printf("%d kills left a removal half done\n", half_done);
  EXPECT_GT(half_done, 0);
}

// A process that was killed with its points in the journal.
constexpr int kPoints = 300;
void make_dead_run() {
  const int status = run_child([&] {
    trk_run* run = open_run("r");
    CHILD_CHECK(run != nullptr);
    trk_metric* loss = trk_metric_open(run, "loss", TRK_NUL_TERMINATED, nullptr);
    for (int i = 0; i < kPoints; ++i) {
      CHILD_CHECK(trk_metric_log_f64(loss, i, i) == TRK_OK);
      if (i == kPoints / 2) CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    }
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
}

uint64_t points_of(const Sandbox& sandbox) {
  auto run = recover_and_read(sandbox.store());
  return run.view == nullptr ? 0 : rows_of(run, "loss").size();
}

// The bug: the journals went first, and the folder could not be moved.
TEST(RemoveKillTest, ARemovalThatFailsLeavesWhatWaitsInTheJournal) {
  const Sandbox sandbox;
  make_dead_run();
  const auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(write_file_atomic(sandbox.store() + "/trash", "no folder").ok());
  const auto removed = remove_run(*store, *store->find_run("p", "r"), realtime_us());
  EXPECT_FALSE(removed.ok());
  EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  EXPECT_EQ(points_of(sandbox), uint64_t{kPoints});
}

// The bug: journals were chosen by the run alone.
TEST(RemoveKillTest, ARunThatIsCopiedToAnotherStoreIsRemovedThereWithoutTheOriginalsJournal) {
  const Sandbox sandbox;
  make_dead_run();
  const auto other = Store::open_or_create(sandbox.folder() + "/other");
  ASSERT_TRUE(other.ok());
  const std::string copy = other->path() + "/runs/p/r";
  fs::create_directories(copy);
  fs::copy(sandbox.store() + "/runs/p/r", copy, fs::copy_options::recursive);
  const auto run = other->find_run("p", "r");
  ASSERT_TRUE(run.has_value());
  EXPECT_TRUE(points_waiting(*run, [](const Id128&) { return WriterSnapshot(); }).empty());
  const auto original = Store::open(sandbox.store())->find_run("p", "r");
  EXPECT_EQ(points_waiting(*original, [](const Id128&) { return WriterSnapshot(); }).size(), 1u);
  const auto removed = remove_run(*other, *run, realtime_us());
  EXPECT_TRUE(removed.ok()) << removed.status().to_string();
  EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  EXPECT_EQ(points_of(sandbox), uint64_t{kPoints});
}

// Bug: rm of a copy removed the journal that waited for the run, and "Nothing lost" was reported of it.
// Promise P3: Removing a copy of a run leaves the waiting journal to the other copy.
TEST(RemoveKillTest, OfACopyThatIsRemovedTheRunsJournalStays) {
  const Sandbox sandbox;
  make_dead_run();
  const auto store = Store::open(sandbox.store());
  const std::string original = sandbox.store() + "/runs/p/r", copy = sandbox.store() + "/runs/p/copy";
  fs::copy(original, copy, fs::copy_options::recursive);
  const auto run = read_run_folder(copy);
  ASSERT_TRUE(run.ok());
  const auto removed = remove_run(*store, *run, realtime_us());
  ASSERT_TRUE(removed.ok()) << removed.status().to_string();
  EXPECT_FALSE(path_exists(copy));
  EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  EXPECT_EQ(points_of(sandbox), uint64_t{kPoints});
}

TEST(RemoveKillTest, TheLastOfARunAndItsCopyTakesTheJournalWithIt) {
  const Sandbox sandbox;
  make_dead_run();
  const auto store = Store::open(sandbox.store());
  const std::string original = sandbox.store() + "/runs/p/r", copy = sandbox.store() + "/runs/p/copy";
  fs::copy(original, copy, fs::copy_options::recursive);
  ASSERT_TRUE(remove_run(*store, *read_run_folder(original), realtime_us()).ok());
  EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  ASSERT_TRUE(remove_run(*store, *read_run_folder(copy), realtime_us()).ok());
  EXPECT_TRUE(sandbox.journal_folders().empty());
}

// Bug: a copy whose removal was interrupted condemned the journal of the run, which was in another project.
TEST(RemoveKillTest, ACopyInTheTrashCondemnsNoJournalOfARunThatWasMoved) {
  const Sandbox sandbox;
  make_dead_run();
  const std::string original = sandbox.store() + "/runs/p/r";
  fs::create_directories(sandbox.store() + "/trash");
  fs::copy(original, sandbox.store() + "/trash/0123456789abcdef", fs::copy_options::recursive);
  fs::create_directories(sandbox.store() + "/runs/q");
  fs::rename(original, sandbox.store() + "/runs/q/r");
  EXPECT_EQ(points_of(sandbox), uint64_t{kPoints});
  std::vector<std::string> problems;
  (void)empty_trash(*Store::open(sandbox.store()), false, realtime_us(), &problems);
  EXPECT_EQ(points_of(sandbox), uint64_t{kPoints});
}

TEST(RemoveKillTest, ARunWhoseRemovalWasCutShortAndThatANewerProgramMadeStays) {
  const Sandbox sandbox;
  make_dead_run();
  const std::string moved = sandbox.store() + "/trash/0123456789abcdef.moved";
  fs::create_directories(sandbox.store() + "/trash");
  fs::rename(sandbox.store() + "/runs/p/r", moved);
  std::string document = *read_file(moved + "/run.json", 10'000);
  const size_t at = document.find("\"version\": 1");
  ASSERT_NE(at, std::string::npos);
  ASSERT_TRUE(write_file_atomic(moved + "/run.json", document.replace(at, 12, "\"version\": 2")).ok());
  std::vector<std::string> problems;
  (void)empty_trash(*Store::open(sandbox.store()), false, realtime_us(), &problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("stays at " + moved), std::string::npos) << problems[0];
  EXPECT_TRUE(path_exists(moved + "/run.json"));
}

TEST(RemoveKillTest, ARemovalKilledBeforeAnySystemCallTakesTheRunWithItsJournalOrNothing) {
  const Sandbox sandbox;
  make_dead_run();
  const auto options = fs::copy_options::recursive;
  const std::string store_copy = sandbox.folder() + "/store-copy", shm_copy = sandbox.folder() + "/shm-copy";
  fs::copy(sandbox.store(), store_copy, options);
  fs::copy(sandbox.journals(), shm_copy, options);
  const int stride = std::getenv("TRACKER_TEST_KILLS") != nullptr ? 1 : kSlowDown == 1 ? 2 : 23;
  int whole = 0, gone = 0;
  for (int at = 0; !HasFailure(); at += stride) {
    SCOPED_TRACE("killed before system call " + std::to_string(at));
    fs::remove_all(sandbox.store());
    fs::remove_all(sandbox.journals());
    fs::copy(store_copy, sandbox.store(), options);
    fs::copy(shm_copy, sandbox.journals(), options);
    for (const std::string& path : {sandbox.journals(), sandbox.journal_folders().at(0)}) ::chmod(path.c_str(), 0700);
    const bool killed = killed_at_call(at, [&] {
      const auto store = Store::open(sandbox.store());
      return store.ok() && remove_run(*store, *store->find_run("p", "r"), realtime_us()).ok() ? 0 : 1;
    });
    // gc first at every other one: it meets the trash before any command has recovered.
    const auto store = Store::open(sandbox.store());
    std::vector<std::string> problems;
    if (at / stride % 2 == 1) (void)empty_trash(*store, false, realtime_us(), &problems);
    const uint64_t points = points_of(sandbox);
    EXPECT_TRUE(points == kPoints || points == 0) << points;
    EXPECT_EQ(store->list_runs().size(), points == 0 ? 0u : 1u);
    (points == 0 ? gone : whole) += 1;
    (void)empty_trash(*store, false, realtime_us(), &problems);
    EXPECT_EQ(list_dir(sandbox.store() + "/trash").value_or({kTrashLockFile}).size(), 1u);
    for (const std::string& left : sandbox.journal_folders())  // at most one that has no meaning any more
      EXPECT_FALSE(path_exists(left + "/defs"));
    EXPECT_EQ(points_of(sandbox), points);
    if (!killed) break;
  }
  std::printf("whole after %d kills, gone after %d\n", whole, gone);
  EXPECT_GT(whole, 10) << "is ptrace allowed here?";
  EXPECT_GE(gone, stride <= 2 ? 3 : 1);  // a large stride may step over all but the one that is not killed
}

}  // namespace
}  // namespace tracker::internal
