// SPDX-License-Identifier: MIT
// A background thread that throws, for lack of memory at any allocation or otherwise, never hurts the process: it is
// counted and shown, the round is repeated, and nothing is lost or doubled. Method: operator new of this program fails
// at random in the drain and the store thread, which are distinguished by their hooks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "run/run.h"
#include "support/child.h"
#include "support/integrity.h"
#include "support/said.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace {

std::atomic<uint64_t> g_failures{0};  // with 0: none any more
std::atomic<uint64_t> g_failed{0};
thread_local uint64_t t_random = 0;  // of a background thread
thread_local int64_t t_allocations_left = INT64_MAX;

bool fails_now() {
  if (t_allocations_left == INT64_MAX || --t_allocations_left > 0 || g_failures.load() == 0) return false;
  t_allocations_left = INT64_MAX;
  ++g_failed;
  g_failures.fetch_sub(1);
  return true;
}

}  // namespace

__attribute__((noinline)) void* operator new(size_t size) {
  void* memory = fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// Of std::stable_sort's buffer; AddressSanitizer wants all of a kind to be replaced.
__attribute__((noinline)) void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tracker::internal {
namespace {

// Before each round: in every second one, one of the next sixty allocations fails. (In every one, a frame that
// needs more could never be made.)
void fail_at_random() {
  if (t_random == 0) t_random = reinterpret_cast<uintptr_t>(&t_random) | 1;
  t_random = t_random * 6364136223846793005ull + 1442695040888963407ull;
  t_allocations_left = (t_random >> 33) % 2 == 0 ? INT64_MAX : static_cast<int64_t>(1 + (t_random >> 34) % 60);
}

std::atomic<bool> g_throw{false};
void throw_while_asked() {
  if (g_throw.load()) throw std::runtime_error("out of luck");
}
void throw_an_int() {
  if (g_throw.load()) throw 7;
}

std::shared_ptr<Run> init(const std::string& said) {
  redirect_stderr(said);
  InitOptions options;
  options.project = "p";
  options.id = "r";
  options.on_full = "block";
  options.quiet = true;
  auto run = Run::init(options);
  CHILD_CHECK(run.ok());
  return *run;
}

void log_one(Run* run, int64_t step) {
  for (const std::string& metric : {std::string("x"), "x/" + std::to_string(step % 40)}) {
    const ValuePair pair{static_cast<uint64_t>(step), run->series_id(metric, ValueType::kInt64), 0};
    CHILD_CHECK(log_pairs(run->hot(), &pair, 1, step) == Code::kOk);
  }
  if (step % 10 == 0) CHILD_CHECK(run->log_text("t", std::to_string(step), step) == Code::kOk);
  if (step % 200 == 0)
    CHILD_CHECK(run->set_config("large", std::string(100'000, static_cast<char>('a' + step / 200 % 26))) == Code::kOk);
}

void expect_all(const Sandbox& sandbox, int64_t steps) {
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  const History rows = rows_of(run, "x");
  ASSERT_EQ(static_cast<int64_t>(rows.size()), steps);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    ASSERT_EQ(rows.bits[i], i);
  }
  uint64_t others = 0;
  for (int i = 0; i < 40; ++i) others += rows_of(run, "x/" + std::to_string(i)).size();
  EXPECT_EQ(static_cast<int64_t>(others), steps);
  EXPECT_EQ(run.view->losses().dropped, 0u);
  for (const MetricInfo& info : run.view->stored_metrics())
    EXPECT_EQ(info.points, rows_of(run, info.name).size()) << "the statistics of " << info.name;
  const std::string last(100'000, static_cast<char>('a' + (steps - 1) / 200 % 26));
  EXPECT_TRUE(run.view->config().text_or("large", "") == last) << "the last large value is there";
  EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
}

class NoMemoryTest : public ::testing::TestWithParam<const char*> {};

TEST_P(NoMemoryTest, AnAllocationThatFailsAnywhereInABackgroundThreadLosesNothing) {
  Sandbox sandbox;
  const std::string which = GetParam();
  constexpr int64_t kSteps = 4000;
  EXPECT_EQ(exit_code_of(run_child([&] {
              auto run = init(sandbox.shm() + "/said");
              g_failures = 1'000'000;
              run->set_pause_for_testing(which == "store" ? nullptr : fail_at_random,
                                         which == "drain" ? nullptr : fail_at_random);
              bool degraded = false;
              for (int64_t step = 0; step < kSteps; ++step) {
                log_one(run.get(), step);
                const bool seen = g_failed.load() >= 5 && degraded;
                if (step % 10 == 0 || (step >= kSteps / 4 && !seen)) ::usleep(5000);  // a slow thread fails later
                degraded |= run->status().degraded;
              }
              CHILD_CHECK(g_failed.load() >= 5 && degraded);
              g_failures = 0;
              CHILD_CHECK(run->flush(std::chrono::seconds(10)));
              for (int i = 0; i < 1000 && run->status().degraded; ++i) ::usleep(1000);
              CHILD_CHECK(!run->status().degraded && run->status().last_error.empty());
              CHILD_CHECK(run->status().points_stored == kSteps * 2);
              CHILD_CHECK(run->finish(RunState::kFinished).ok());
              return 0;
            })),
            0)
      << ::testing::PrintToString(lines_of(sandbox.shm() + "/said"));
  EXPECT_LE(lines_of(sandbox.shm() + "/said").size(), 4u) << "each is said once";
  expect_all(sandbox, kSteps);
}

INSTANTIATE_TEST_SUITE_P(In, NoMemoryTest, ::testing::Values("drain", "store", "both"),
                         [](const auto& test) { return std::string(test.param); });

// The statistics are ahead of the database when an append fails: they are read again.
TEST(AppendTest, AnAppendThatRanOutOfMemoryAtAnyAllocationIsCountedOnce) {
  const TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok()) << db.status().to_string();
  uint64_t seq = 0;
  while (g_failures.load() == 0) {
    const FrameRecord record = test_record(identity, ++seq);
    g_failures = 1;
    t_allocations_left = static_cast<int64_t>(seq);
    try {
      EXPECT_TRUE((*db)->append({record}, true).ok());
    } catch (const std::bad_alloc&) {}
    t_allocations_left = INT64_MAX;
    ASSERT_TRUE((*db)->append({record}, true).ok());
  }
  g_failures = 0;
  EXPECT_GE(seq, 10u);
  ASSERT_TRUE((*db)->finish().ok());
  auto reader = WriterReader::open(db_path(folder.path(), identity));
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  const auto found = (*reader)->snapshot();
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->series.size(), 2u);
  for (const SeriesStats& series : found->series) EXPECT_EQ(series.points, 3 * seq) << series.def.name;
}

class ThrowingTest : public ::testing::TestWithParam<int> {};

TEST_P(ThrowingTest, AThreadThatAlwaysThrowsIsSaidAndShownAndTheJournalKeepsAll) {
  Sandbox sandbox;
  const std::string said = sandbox.shm() + "/said";
  constexpr int64_t kSteps = 1000;
  EXPECT_EQ(
      exit_code_of(run_child([&] {
        auto run = init(said);
        log_one(run.get(), 0);
        CHILD_CHECK(run->flush(std::chrono::seconds(10)));
        g_throw = true;
        if (GetParam() == 0) run->set_pause_for_testing(throw_while_asked, nullptr);
        else run->set_pause_for_testing(nullptr, throw_an_int);
        for (int64_t step = 1; step < kSteps; ++step) log_one(run.get(), step);
        const int64_t deadline = now_ns() + 5'000'000'000;
        while (!run->status().degraded && now_ns() < deadline) ::usleep(1000);
        const RunStatus status = run->status();
        CHILD_CHECK(status.degraded && status.points_pending > 0);
        CHILD_CHECK(status.last_error.find(GetParam() == 0 ? "out of luck" : "an exception") != std::string::npos);
        while (lines_of(said).empty() && now_ns() < deadline) ::usleep(1000);
        ::raise(SIGKILL);
        return 0;
      })),
      -1 - SIGKILL);
  ASSERT_EQ(lines_of(said).size(), 1u) << ::testing::PrintToString(lines_of(said));
  EXPECT_THAT(lines_of(said)[0], ::testing::HasSubstr("it tries again"));
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(rows_of(run, "x").size(), static_cast<size_t>(kSteps));
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
}

std::atomic<bool> g_throw_once{false};
void throw_once_when_asked() {
  if (g_throw_once.exchange(false)) throw std::runtime_error("out of luck");
}

// Bug: a database that another program restored while it was closed was written on, and what it lacked was not counted.
TEST(RestoredFileFaultTest, ADatabaseRestoredWhileItIsClosedIsLeftAndWhatItLacksIsCounted) {
  Sandbox sandbox;
  constexpr int64_t kSteps = 300;
  const int status = run_child([&] {
    auto run = init(sandbox.shm() + "/said");
    run->set_pause_for_testing(nullptr, throw_while_asked);
    const uint32_t x = run->series_id("x", ValueType::kInt64);
    const auto log = [&](int64_t from, int64_t to) {
      for (int64_t step = from; step < to; ++step) {
        const ValuePair pair{static_cast<uint64_t>(step), x, 0};
        CHILD_CHECK(log_pairs(run->hot(), &pair, 1, step) == Code::kOk);
      }
    };
    const auto close_database = [&] {
      g_throw = true;
      for (int i = 0; i < 5000 && !run->status().degraded; ++i) ::usleep(1000);
      ::usleep(50'000);
    };
    const auto go_on = [&] {
      g_throw = false;
      CHILD_CHECK(run->flush(std::chrono::seconds(20)));
    };
    log(0, 100);
    CHILD_CHECK(run->flush(std::chrono::seconds(20)));
    log(100, 101);
    close_database();
    const std::string path = Store::open(sandbox.store())->list_runs().at(0).writer_dbs().at(0);
    const auto copy = [&](const std::string& from, const std::string& to) {
      for (const char* suffix : {"", "-wal"})
        std::filesystem::copy_file(from + suffix, to + suffix, std::filesystem::copy_options::overwrite_existing);
    };
    copy(path, sandbox.shm() + "/kept");
    go_on();
    log(101, 200);
    CHILD_CHECK(run->flush(std::chrono::seconds(20)));
    log(200, 201);
    close_database();
    copy(sandbox.shm() + "/kept", path);
    go_on();
    log(201, kSteps);
    CHILD_CHECK(run->flush(std::chrono::seconds(20)));
    const RunStatus now = run->status();
    CHILD_CHECK(now.points_stored + now.points_dropped == kSteps && now.points_dropped >= 99);
    CHILD_CHECK(run->finish(RunState::kFinished).ok());
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0) << ::testing::PrintToString(lines_of(sandbox.shm() + "/said"));
  ReadRun run = recover_and_read(sandbox.store());
  const LossAccount account = run.view->losses();
  EXPECT_EQ(account.logged, static_cast<uint64_t>(kSteps));
  EXPECT_EQ(account.stored, rows_of(run, "x").size());
}

// Whichever way the writer's database was closed, the file that takes the place of a removed one begins with the
// positions that the frames which went had reached: else a recovery reads their points from the rings, counted as lost.
TEST(RemovedFolderFaultTest, AThreadThatThrowsBesideARemovedFolderDoesNotMakePointsCountTwice) {
  Sandbox sandbox;
  constexpr int64_t kSteps = 200;
  const int status = run_child([&] {
    auto run = init(sandbox.shm() + "/said");
    run->set_pause_for_testing(nullptr, throw_once_when_asked);
    const uint32_t x = run->series_id("x", ValueType::kInt64);
    const auto log = [&](int64_t from, int64_t to) {
      for (int64_t step = from; step < to; ++step) {
        const ValuePair pair{static_cast<uint64_t>(step), x, 0};
        CHILD_CHECK(log_pairs(run->hot(), &pair, 1, step) == Code::kOk);
      }
      CHILD_CHECK(run->flush(std::chrono::seconds(20)));
    };
    log(0, kSteps / 2);
    std::filesystem::remove_all(sandbox.store() + "/runs/p/r");
    g_throw_once = true;
    log(kSteps / 2, kSteps);
    CHILD_CHECK(!g_throw_once);
    ::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), -1 - SIGKILL);
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  const LossAccount account = run.view->losses();
  EXPECT_EQ(account.stored, static_cast<uint64_t>(kSteps / 2));
  EXPECT_EQ(account.dropped, static_cast<uint64_t>(kSteps / 2));
  EXPECT_EQ(rows_of(run, "x").size(), static_cast<size_t>(kSteps / 2));
}

INSTANTIATE_TEST_SUITE_P(Thread, ThrowingTest, ::testing::Values(0, 1),
                         [](const auto& test) { return std::string(test.param == 0 ? "Drain" : "Store"); });

}  // namespace
}  // namespace tracker::internal
