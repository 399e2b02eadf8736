// SPDX-License-Identifier: MIT
// Any number of recoverers, killed at any step, do no harm. Method: a killed run is recovered by several processes at
// once, by processes killed at random instants, and by one that is killed before each single system call; then the
// model is compared.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>

#include "journal/ring/spill.h"
#include "run/run.h"
#include "storage/sqlite/sqlite.h"
#include "storage/writer/store_files.h"
#include "support/child.h"
#include "support/integrity.h"
#include "support/kill_at_call.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

// A run with `points` points of which about the first half is committed; then kill -9.
void make_dead_run(int64_t points) {
  const int status = run_child([&] {
    trk_run* run = open_run("r", "block");
    CHILD_CHECK(run != nullptr);
    trk_metric* metric = trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr);
    for (int64_t step = 0; step < points; ++step) {
      CHILD_CHECK(trk_metric_log_i64(metric, step * 3, step) == TRK_OK);
      if (step == points / 2) CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
    }
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
}

int recover_once(const std::string& store_path) {
  auto store = Store::open(store_path);
  CHILD_CHECK(store.ok());
  return recover_dead_writers(*store).problems.empty() ? 0 : 1;
}

void expect_whole(const Sandbox& sandbox, int64_t points) {
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  const History rows = rows_of(run, "x");
  ASSERT_EQ(static_cast<int64_t>(rows.size()), points);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    ASSERT_EQ(rows.bits[i], i * 3);
  }
  EXPECT_EQ(run.view->state(), RunState::kCrashed);
  EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
}

// Promise P1: Recoverers that race, or die at any step, do no harm.
TEST(RecoveryTest, RecoverersThatRaceMakeOneWholeRun) {
  for (int round = 0; round < test_count(10); ++round) {
    Sandbox sandbox;
    make_dead_run(5000);
    Shared<std::atomic<int>> go;
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i)
      children.push_back(start_child([&] {
        while (go->load() == 0) {}
        return recover_once(sandbox.store());
      }));
    go->store(1);
    for (const pid_t child : children) EXPECT_EQ(exit_code_of(wait_child(child)), 0);
    expect_whole(sandbox, 5000);
    EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
  }
}

TEST(RecoveryTest, RecoverersKilledAtRandomInstantsLoseAndDoubleNothing) {
  std::mt19937_64 random(test_seed("recovery"));
  for (int round = 0; round < test_count(15) && !HasFailure(); ++round) {
    Sandbox sandbox;
    make_dead_run(20'000);
    for (int i = 0; i < 6; ++i) {
      const pid_t first = start_child([&] { return recover_once(sandbox.store()); });
      const pid_t second = start_child([&] { return recover_once(sandbox.store()); });
      ::usleep(static_cast<useconds_t>(random() % 6000));
      ::kill(first, SIGKILL);
      ::usleep(static_cast<useconds_t>(random() % 3000));
      ::kill(second, SIGKILL);
      wait_child(first);
      wait_child(second);
    }
    expect_whole(sandbox, 20'000);
  }
}

TEST(RecoveryTest, ARecovererKilledBeforeAnySystemCallLeavesTheRunRecoverable) {
  Sandbox sandbox;
  make_dead_run(300);
  const auto options = std::filesystem::copy_options::recursive;
  const std::string store_copy = sandbox.folder() + "/store-copy", shm_copy = sandbox.folder() + "/shm-copy";
  std::filesystem::copy(sandbox.store(), store_copy, options);
  std::filesystem::copy(sandbox.journals(), shm_copy, options);
  const int stride = std::getenv("TRACKER_TEST_KILLS") != nullptr ? 1 : kSlowDown == 1 ? 4 : 47;
  int kills = 0;
  for (int at = 0; !HasFailure(); at += stride, ++kills) {
    SCOPED_TRACE("killed before system call " + std::to_string(at));
    std::filesystem::remove_all(sandbox.store());
    std::filesystem::remove_all(sandbox.journals());
    std::filesystem::copy(store_copy, sandbox.store(), options);
    std::filesystem::copy(shm_copy, sandbox.journals(), options);
    for (const std::string& path : {sandbox.journals(), sandbox.journal_folders().at(0)}) ::chmod(path.c_str(), 0700);
    const bool killed = killed_at_call(at, [&] { return recover_once(sandbox.store()); });
    expect_whole(sandbox, 300);
    if (!killed) break;
  }
  EXPECT_GT(kills, 10) << "is ptrace allowed here?";
  std::printf("killed before %d system calls\n", kills);
}

// The bug: recovery refused each of these for good, and what waited in the journal waited with it.
TEST(RecoveryTest, AWrongCountOrNameInTheDatabaseKeepsNoPointInTheJournal) {
  for (const char* sql :
       {"UPDATE meta SET value=-1 WHERE key='frame_bytes'", "UPDATE meta SET value=value+100 WHERE key='stats_seq'",
        "UPDATE series SET name=CAST(x'78ff' AS TEXT) WHERE name='x'"}) {
    SCOPED_TRACE(sql);
    Sandbox sandbox;
    make_dead_run(4000);
    int harmed = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(sandbox.store())) {
      if (file.path().extension() != ".db" || file.path().string().find("catalog") != std::string::npos) continue;
      auto db = Sqlite::open(file.path().string(), SqliteOpen::kWrite, 1000);
      ASSERT_TRUE(db.ok());
      if (!db->exec(sql).ok()) continue;
      ++harmed;
    }
    ASSERT_EQ(harmed, 1);
    ReadRun run = recover_and_read(sandbox.store());
    ASSERT_NE(run.view, nullptr);
    EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
    const History rows = rows_of(run, "x");
    ASSERT_EQ(rows.size(), 4000u);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.bits[i], i * 3);
    EXPECT_EQ(run.view->state(), RunState::kCrashed);
  }
}

std::atomic<bool> g_hold{false};
void hold_while_asked() {
  while (g_hold.load()) sleep_ms(1);
}

// A run of many metrics with one point each. `spill`: the disk is stuck, and the first half is in the spill file.
void make_dead_run_of_many_metrics(const Sandbox& sandbox, uint32_t count, bool spill) {
  const int status = run_child([&] {
    InitOptions options;
    options.project = "p";
    options.id = "r";
    options.on_full = "block";
    options.quiet = true;
    auto run = Run::init(options);
    CHILD_CHECK(run.ok());
    const std::string file = sandbox.journal_folders().at(0) + "/spill";
    g_hold = spill;
    (*run)->set_pause_for_testing(nullptr, hold_while_asked);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t id = (*run)->series_id("m/" + std::to_string(i), ValueType::kInt64);
      const ValuePair pair{i, id, 0};
      CHILD_CHECK(id != 0 && log_pairs((*run)->hot(), &pair, 1, 0) == Code::kOk);
      std::error_code none;
      while (spill && i == count / 2 && std::filesystem::file_size(file, none) + 1 <= 1) sleep_ms(5);
    }
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
}

// Stores what a dead process left in its spill file and so many parts of its rings, and dies.
int recover_parts_and_die(const Sandbox& sandbox, int parts) {
  auto journal = DeadJournal::open(sandbox.journal_folders().at(0));
  CHILD_CHECK(journal.ok());
  const WriterIdentity& writer = (*journal)->identity();
  auto db = open_writer_store(Store::open(sandbox.store())->find_run("p", "r")->path, writer, StoreFiles::kSqlite);
  CHILD_CHECK(db.ok());
  for (const FrameRecord& record : (*journal)->spilled())  // a slow disk: the writer had put some there
    if (record.seq > (*db)->last_seq()) CHILD_CHECK((*db)->append({record}, false).ok());
  (*journal)->start((*db)->positions());
  for (int i = 0; i < parts; ++i) {
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    CHILD_CHECK((*journal)->next(&builder, &positions));
    Frame frame = builder.take();
    CHILD_CHECK(frame.defs.size() <= kSeriesAFrame);
    frame.writer = writer.writer;
    frame.seq = (*db)->last_seq() + 1;
    CHILD_CHECK((*db)->append({{frame.seq, encode_frame(frame), positions}}, false).ok());
  }
  ::raise(SIGKILL);
  return 0;
}

// The names alone may be more than fits one frame: all of them in one was refused, by each recoverer again.
TEST(RecoveryTest, ARecovererKilledBetweenTheFramesOfManyDefinitionsLosesAndDoublesNothing) {
  constexpr uint32_t kCount = 2 * kSeriesAFrame + 50;
  for (const auto& each : {std::pair(0, false), {1, false}, {2, false}, {3, false}, {0, true}, {1, true}}) {
    const int parts = each.first;
    const bool spill = each.second;
    SCOPED_TRACE(fmt::format("killed after {} parts, {} a spill file", parts, spill ? "with" : "without"));
    Sandbox sandbox;
    make_dead_run_of_many_metrics(sandbox, kCount, spill);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(exit_code_of(run_child([&] { return recover_parts_and_die(sandbox, parts); })), -1 - SIGKILL);
    ReadRun run = recover_and_read(sandbox.store());
    ASSERT_NE(run.view, nullptr);
    EXPECT_THAT(run.problems, ::testing::IsEmpty());
    EXPECT_EQ(run.view->points(), kCount);
    EXPECT_EQ(run.view->losses().dropped, 0u);
    for (const uint32_t i : {0u, static_cast<uint32_t>(kSeriesAFrame), kCount - 1})
      EXPECT_THAT(rows_of(run, "m/" + std::to_string(i)).bits, ::testing::ElementsAre(i));
    EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
    EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
  }
}

// Promise P1: The next `init` or command recovers dead runs without being asked.
TEST(RecoveryTest, TheNextInitRecoversOtherDeadRunsWithoutBeingAsked) {
  Sandbox sandbox;
  make_dead_run(5000);
  const std::vector<std::string> dead = sandbox.journal_folders();
  ASSERT_EQ(dead.size(), 1u);
  const int status = run_child([&] {
    trk_run* run = open_run("another");
    CHILD_CHECK(run != nullptr);
    const int64_t deadline = now_ns() + 10'000'000'000;
    while (path_exists(dead[0]) && now_ns() < deadline) sleep_ms(5);
    CHILD_CHECK(!path_exists(dead[0]));
    trk_free(run);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  auto view = RunView::open(*store->find_run("p", "r"));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->points(), 5000u);
  EXPECT_EQ((*view)->losses().recovered, 5000u - 2501u);
}

// Promise P1: Recovery checks the store's identity; an unreachable or full store leaves the journal alone.
TEST(RecoveryTest, AJournalOfAnotherStoreIsLeftAlone) {
  Sandbox sandbox;
  make_dead_run(300);
  auto other = Store::open_or_create(sandbox.folder() + "/other");
  ASSERT_TRUE(other.ok());
  const RecoveryReport report = recover_dead_writers(*other);
  EXPECT_TRUE(report.recovered.empty());
  EXPECT_THAT(report.problems, ::testing::IsEmpty());
  EXPECT_TRUE(other->list_runs().empty());
  expect_whole(sandbox, 300);
}

// What follows a gap in the spill file is still in the rings: both would be the same points twice.
TEST(RecoveryTest, FramesBehindAGapInTheSpillFileAreNotReplayed) {
  Sandbox sandbox;
  make_dead_run(300);
  const std::string dir = sandbox.journal_folders().at(0);
  const WriterIdentity writer = read_definitions(dir)->identity;
  auto view = RunView::open(Store::open(sandbox.store())->list_runs().at(0));
  const uint64_t last = (*view)->writers().at(0).last_seq;
  uint64_t nonce = 0;
  std::memcpy(&nonce, writer.writer.bytes.data(), sizeof nonce);
  SpillFile spill(dir, nonce);
  ASSERT_TRUE(spill.append(record_of(test_frame(writer, last + 2)), 1u << 20));
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(run.view->points(), 300u);
  EXPECT_EQ(rows_of(run, "x").size(), 300u);
}

}  // namespace
}  // namespace tracker::internal
