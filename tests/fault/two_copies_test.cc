// SPDX-License-Identifier: MIT
// Two copies of a library in one process: of SQLite, which opens, reads and closes the live database through a whole
// run, and of tracker itself, each with a live run of the same store. Method: copies under other names are loaded; then
// kill -9, or a good end, and every point must be there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/child.h"
#include "support/conditions.h"
#include "support/integrity.h"
#include "support/said.h"
#include "support/sandbox.h"
#include "support/second_sqlite.h"

namespace tracker::internal {
namespace {

constexpr int kNoSecondCopy = 78;

struct Ledger {
  std::atomic<int64_t> returned[2];
  std::atomic<int64_t> opened, failed;
};

std::string database_of(const Sandbox& sandbox) {
  auto store = Store::open(sandbox.store());
  if (!store.ok()) return "";
  for (const RunFolder& run : store->list_runs())
    for (const std::string& path : run.writer_dbs()) return path;
  return "";
}

int log_beside_second_sqlite(const Sandbox& sandbox, Ledger* ledger) {
  SecondSqlite second;
  if (!second.load(sandbox.folder())) return kNoSecondCopy;
  trk_run* run = open_run("r", "block");
  CHILD_CHECK(run != nullptr && trk_log_i64(run, "x", TRK_NUL_TERMINATED, 0, 0) == TRK_OK);
  CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
  std::thread([&, path = database_of(sandbox)] {
    for (;;) {
      // Busy is an answer, anything else is not; both are counted.
      (second.open_read_close(path) ? ledger->opened : ledger->failed).fetch_add(1);
      ::usleep(200);
    }
  }).detach();
  for (int64_t step = 1;; ++step) {
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
    ledger->returned[0].store(step + 1);
    if (step % 10 == 0) ::usleep(200);
  }
}

TEST(TwoCopiesTest, ASecondSqliteThroughAWholeRunBeforeAKillLosesNothing) {
  NEEDS(kLibraryCopies);
  for (int round = 0; round < 3; ++round) {
    Sandbox sandbox;
    Shared<Ledger> ledger;
    const pid_t child = start_child([&] { return log_beside_second_sqlite(sandbox, &*ledger); });
    sleep_ms(2500 + round * 137);
    ::kill(child, SIGKILL);
    const int code = exit_code_of(wait_child(child));
    SKIP_WHERE(code == kNoSecondCopy, kSecondSqlite);
    ASSERT_EQ(code, -1 - SIGKILL);
    EXPECT_GT(ledger->opened.load(), 100) << ledger->failed.load() << " failed";
    ReadRun run = recover_and_read(sandbox.store());
    ASSERT_NE(run.view, nullptr);
    EXPECT_THAT(run.problems, ::testing::IsEmpty());
    const History rows = rows_of(run, "x");
    EXPECT_GE(static_cast<int64_t>(rows.size()), ledger->returned[0].load());
    EXPECT_LE(static_cast<int64_t>(rows.size()), ledger->returned[0].load() + 1);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
  }
}

// The calls of one copy of libtracker.so.
struct Copy {
  void* library = nullptr;
  decltype(&trk_init) init = nullptr;
  decltype(&trk_log_i64) log = nullptr;
  decltype(&trk_flush) flush = nullptr;
  decltype(&trk_finish) finish = nullptr;
  decltype(&trk_get_status) status = nullptr;

  template <typename F>
  static bool find(void* library, const char* name, F* out) {
    *out = reinterpret_cast<F>(::dlsym(library, name));
    return *out != nullptr;
  }
  bool load(const std::string& folder, const std::string& name) {
    const std::string copy = folder + "/lib" + name + ".so";
    std::filesystem::copy_file(TRACKER_LIBRARY, copy);
    library = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
    return library != nullptr && find(library, "trk_init", &init) && find(library, "trk_log_i64", &log) &&
           find(library, "trk_flush", &flush) && find(library, "trk_finish", &finish) &&
           find(library, "trk_get_status", &status);
  }
  int close() const { return ::dlclose(library); }
  trk_run* open(const char* id) const {
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.project = "p";
    options.id = id;
    options.quiet = 1;
    options.on_full = "block";
    trk_run* run = nullptr;
    trk_error error = TRK_ERROR_INIT;
    if (init(&options, &run, &error) != TRK_OK) std::fprintf(stderr, "%s\n", error.message);
    return run;
  }
};

// Each copy opens its run, and more of them later: each init recovers dead journals and must not touch the other's.
int log_in_two_copies(const Sandbox& sandbox, Ledger* ledger, bool kill) {
  Copy copies[2];
  if (!copies[0].load(sandbox.folder(), "one") || !copies[1].load(sandbox.folder(), "two")) return kNoSecondCopy;
  CHILD_CHECK(copies[0].init != copies[1].init);
  trk_run* runs[2] = {copies[0].open("one"), copies[1].open("two")};
  CHILD_CHECK(runs[0] != nullptr && runs[1] != nullptr);
  for (int64_t step = 0; step < 20'000; ++step) {
    for (int i = 0; i < 2; ++i) {
      CHILD_CHECK(copies[i].log(runs[i], "x", TRK_NUL_TERMINATED, step * 2 + i, step) == TRK_OK);
      ledger->returned[i].store(step + 1);
    }
    if (step % 4000 == 3999)
      for (const Copy& copy : copies) {
        trk_run* extra = copy.open(nullptr);
        CHILD_CHECK(extra != nullptr && copy.finish(extra, 0, nullptr) == TRK_OK);
      }
    if (step % 20 == 0) ::usleep(500);
  }
  if (kill) ::raise(SIGKILL);
  for (int i = 0; i < 2; ++i) {
    CHILD_CHECK(copies[i].finish(runs[i], 0, nullptr) == TRK_OK);
    trk_status status = TRK_STATUS_INIT;
    CHILD_CHECK(copies[i].status(runs[i], &status) == TRK_OK && status.points_stored == 20'000);
  }
  return 0;
}

// The bug: threads, handlers of fork and of exit were left behind in code that was gone.
TEST(TwoCopiesTest, ALibraryThatIsClosedAfterItsRunLeavesAProcessThatForksAndExits) {
  NEEDS(kLibraryCopies);
  Sandbox sandbox;
  const int status = run_child([&] {
    Copy copy;
    if (!copy.load(sandbox.folder(), "closed")) return kNoSecondCopy;
    trk_run* run = copy.open("r");
    CHILD_CHECK(run != nullptr && copy.log(run, "x", TRK_NUL_TERMINATED, 1, 0) == TRK_OK);
    CHILD_CHECK(copy.finish(run, 0, nullptr) == TRK_OK);
    CHILD_CHECK(copy.close() == 0);
    std::thread([] {}).join();
    CHILD_CHECK(exit_code_of(run_child([] { return 0; })) == 0);
    ::usleep(300'000);
    std::exit(7);
    return 0;
  });
  SKIP_WHERE(exit_code_of(status) == kNoSecondCopy, kLibraryCopies);
  EXPECT_EQ(exit_code_of(status), 7);
}

class TwoTrackersTest : public ::testing::TestWithParam<bool> {};

TEST_P(TwoTrackersTest, EachHasALiveRunOfTheSameStoreAndNeitherLosesAPoint) {
  NEEDS(kLibraryCopies);
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const bool kill = GetParam();
  const pid_t child = start_child([&] { return log_in_two_copies(sandbox, &*ledger, kill); });
  // Meanwhile another process tries to recover dead journals again and again: both are locked.
  int status = 0;
  int looks = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (auto store = Store::open(sandbox.store()); store.ok() && ledger->returned[1].load() < 19'000) {
      EXPECT_THAT(recover_dead_writers(*store).problems, ::testing::IsEmpty());
    }
    ++looks;
    sleep_ms(20);
  }
  const int code = exit_code_of(status);
  SKIP_WHERE(code == kNoSecondCopy, kSecondTracker);
  ASSERT_EQ(code, kill ? -1 - SIGKILL : 0);
  EXPECT_GT(looks, 5);
  for (const char* id : {"one", "two"}) {
    ReadRun run = recover_and_read(sandbox.store(), id);
    ASSERT_NE(run.view, nullptr);
    EXPECT_THAT(run.problems, ::testing::IsEmpty());
    EXPECT_EQ(run.view->state(), kill ? RunState::kCrashed : RunState::kFinished);
    const History rows = rows_of(run, "x");
    ASSERT_EQ(rows.size(), 20'000u);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
      ASSERT_EQ(rows.bits[i], i * 2 + (id[0] == 't' ? 1 : 0));
    }
  }
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(End, TwoTrackersTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Kill" : "Finish"; });

}  // namespace
}  // namespace tracker::internal
