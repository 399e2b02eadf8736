// SPDX-License-Identifier: MIT
// F13. While a run logs, one process polls it as a console does and another stays in an open transaction on its
// database: log calls are not slower, the WAL stays bounded, it is reported once, and the run is one. Method: 15 s
// without the two, 23 s with them, 8 s without again; of each second the time that one call in 1,000 exceeds, and the
// medians of these compared; SQLite itself as the reader that stays. TRACKER_TEST_SECONDS sets how long it is with
// them; for more than 10 minutes the limit is the real one of 256 MiB, else 4 MiB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fs.h"
#include "storage/database/writer_parts.h"
#include "storage/upkeep/collect.h"
#include "support/child.h"
#include "support/integrity.h"
#include "support/said.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kSmallLimit = 4u << 20;

constexpr int kPhases = 3;  // without the readers, with them, without them
constexpr int kWithReaders = 1;

int64_t with_readers_ms() {
  const char* given = std::getenv("TRACKER_TEST_SECONDS");
  return given != nullptr && std::atoi(given) > 0 ? std::atoi(given) * 1000 : 8'000;
}

int64_t phase_ms(int phase) {
  if (phase == kWithReaders) return with_readers_ms();
  return with_readers_ms() * (phase == 0 ? 2 : 1) / 3;
}

bool is_long() { return with_readers_ms() > 600'000; }
uint64_t wal_limit() { return is_long() ? kWalBytesMax : kSmallLimit; }

struct Ledger {
  std::atomic<uint64_t> accepted;
  std::atomic<int> phase, stop, polls;
  std::atomic<uint64_t> wal_bytes_max;
};

int log_phases(const Sandbox& sandbox, Ledger* ledger) {
  redirect_stderr(sandbox.shm() + "/stderr");
  set_wal_bytes_max_for_testing(wal_limit());
  trk_run* run = open_run("r");
  std::mt19937_64 random(1);
  const useconds_t pause_us = is_long() ? 5000 : 500;  // what is logged is read back into memory
  int64_t step = 0;
  for (int phase = 0; phase < kPhases; ++phase) {
    const int64_t deadline = now_ns() + phase_ms(phase) * 1'000'000;
    bool in_parts = phase != kWithReaders;  // a slow machine takes longer to fill the first file
    for (; now_ns() < deadline || (!in_parts && now_ns() < deadline + 60'000'000'000); ++step) {
      if (step % 1000 == 0) in_parts = in_parts || status_of(run).store_parts > 1;
      const auto value = static_cast<int64_t>(random());  // nothing that columns make small
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, value, step) == TRK_OK);
      if (step % 50 == 49) ::usleep(pause_us);
    }
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    CHILD_CHECK((status_of(run).store_parts > 1) == (phase >= kWithReaders));
    ledger->phase = phase + 1;
    while (phase == 0 && ledger->polls.load() == 0) sleep_ms(1);
    if (phase == kWithReaders) ledger->stop = 1;
  }
  ledger->accepted = static_cast<uint64_t>(step);
  (void)trk_finish(run, 0, nullptr);  // a busy machine does not compact all within its bound
  return 0;
}

int park(const std::string& path, Ledger* ledger) {
  sqlite3* db = nullptr;
  CHILD_CHECK(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  CHILD_CHECK(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM frames", nullptr, nullptr, nullptr) == SQLITE_OK);
  ledger->polls = 1;
  while (ledger->stop.load() == 0) sleep_ms(5);
  return 0;
}

int poll(const RunFolder& folder, Ledger* ledger) {
  auto view = RunView::open(folder);
  CHILD_CHECK(view.ok());
  uint64_t points = 0;
  while (ledger->stop.load() == 0) {
    CHILD_CHECK((*view)->refresh().ok() && (*view)->problems().empty() && (*view)->points() >= points);
    points = (*view)->points();
    const auto names = list_dir(folder.path);
    CHILD_CHECK(names.ok());
    for (const std::string& name : *names) {
      struct stat st{};
      if (name.ends_with("-wal") && ::stat(join_path(folder.path, name).c_str(), &st) == 0)
        ledger->wal_bytes_max = std::max<uint64_t>(ledger->wal_bytes_max, static_cast<uint64_t>(st.st_size));
    }
    sleep_ms(100);
  }
  return 0;
}

// Promise P11: With a foreign reader in a transaction the writer goes on in a new file at 256 MiB of WAL, counts it,
// warns once.
TEST(ParkedReaderTest, AParkedReaderCostsTheWriterASecondFileAndNothingElse) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const pid_t writer = start_child([&] { return log_phases(sandbox, &*ledger); });
  while (ledger->phase.load() == 0) sleep_ms(10);
  const RunFolder folder = Store::open(sandbox.store())->list_runs().at(0);
  const pid_t parked = start_child([&] { return park(folder.writer_dbs().at(0), &*ledger); });
  const pid_t poller = start_child([&] { return poll(folder, &*ledger); });
  for (const pid_t child : {writer, parked, poller}) EXPECT_EQ(exit_code_of(wait_child(child)), 0);
  const std::vector<std::string> said = lines_of(sandbox.shm() + "/stderr");
  EXPECT_EQ(said.size(), 1u) << ::testing::PrintToString(said);
  EXPECT_THAT(said, ::testing::Each(::testing::HasSubstr("a reader that stays in a transaction")));
  std::printf("WAL at most %.1f MiB; %llu points\n", static_cast<double>(ledger->wal_bytes_max.load()) / 1048576.0,
              static_cast<unsigned long long>(ledger->accepted.load()));
  EXPECT_GT(ledger->wal_bytes_max.load(), wal_limit() / 2);
  EXPECT_LT(ledger->wal_bytes_max.load(), 4 * wal_limit());
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_EQ(rows_of(run, "x").size(), ledger->accepted.load());
  EXPECT_EQ(run.view->state(), RunState::kFinished);
  EXPECT_GT(run.view->writers().at(0).parts, 1);
  EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
}

// Bug: finish() waited 2 s for the reader and reported a slow disk.
TEST(ParkedReaderTest, AReaderThatIsThereAtTheEndCostsHalfASecondAndGcRemovesTheWal) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const pid_t writer = start_child([&] {
    redirect_stderr(sandbox.shm() + "/stderr");
    trk_run* run = open_run("r");
    for (int64_t step = 0; step < 1000; ++step)
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    ledger->phase = 1;
    while (ledger->polls.load() == 0) sleep_ms(1);
    const int64_t begun = now_ns();
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    CHILD_CHECK(std::chrono::nanoseconds(now_ns() - begun) >= kFinishReadersWait * 9 / 10);
    return 0;
  });
  while (ledger->phase.load() == 0) sleep_ms(10);
  const RunFolder folder = Store::open(sandbox.store())->list_runs().at(0);
  const std::string path = folder.writer_dbs().at(0);
  const pid_t parked = start_child([&] { return park(path, &*ledger); });
  EXPECT_EQ(exit_code_of(wait_child(writer)), 0);
  EXPECT_THAT(lines_of(sandbox.shm() + "/stderr"), ::testing::IsEmpty());
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
  EXPECT_TRUE(path_exists(path + "-wal"));
  ledger->stop = 1;
  EXPECT_EQ(exit_code_of(wait_child(parked)), 0);
  const auto store = Store::open(sandbox.store());
  const CollectReport report = collect_garbage(*store, {false, realtime_us(), {}});
  EXPECT_THAT(report.recovery.recovered, ::testing::IsEmpty());
  EXPECT_FALSE(path_exists(path + "-wal"));
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(rows_of(run, "x").size(), 1000u);
}

}  // namespace
}  // namespace tracker::internal
