// SPDX-License-Identifier: MIT
// F13. While a run logs, one process polls it as a console does and another parks in an open transaction on its
// database: log calls stay as they are, the WAL stays bounded, it is said once, and the run is one. Method: 20 s
// without and 20 s with the two, a limit of 4 MiB in place of 256 MiB, and SQLite itself as the parked reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>

#include "storage/writer_parts.h"
#include "support/child.h"
#include "support/integrity.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kSmallLimit = 4u << 20;
constexpr int kPhaseMs = 20'000;

struct Ledger {
  std::atomic<uint64_t> accepted;
  std::atomic<int64_t> p9999_ns[2];
  std::atomic<int> phase, stop, polls;
  std::atomic<uint64_t> wal_bytes_max;
};

int log_two_phases(const Sandbox& sandbox, Ledger* ledger) {
  redirect_stderr(sandbox.shm() + "/stderr");
  set_wal_bytes_max_for_testing(kSmallLimit);
  trk_run* run = open_run("r");
  std::mt19937_64 random(1);
  std::vector<int64_t> times;
  times.reserve(4u << 20);
  int64_t step = 0;
  for (int phase = 0; phase < 2; ++phase) {
    times.clear();
    const int64_t deadline = now_ns() + int64_t{kPhaseMs} * 1'000'000;
    for (; now_ns() < deadline; ++step) {
      const auto value = static_cast<int64_t>(random());  // nothing that columns make small
      const int64_t before = now_ns();
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, value, step) == TRK_OK);
      times.push_back(now_ns() - before);
      if (step % 50 == 49) ::usleep(500);
    }
    std::sort(times.begin(), times.end());
    ledger->p9999_ns[phase] = times[times.size() - 1 - times.size() / 10'000];
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    CHILD_CHECK((status_of(run).store_parts > 1) == (phase == 1));
    ledger->phase = phase + 1;
    while (phase == 0 && ledger->polls.load() == 0) sleep_ms(1);
  }
  ledger->accepted = static_cast<uint64_t>(step);
  ledger->stop = 1;
  sleep_ms(300);  // the readers go
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
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

TEST(ParkedReaderTest, AParkedReaderCostsTheWriterASecondFileAndNothingElse) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const pid_t writer = start_child([&] { return log_two_phases(sandbox, &*ledger); });
  while (ledger->phase.load() == 0) sleep_ms(10);
  const RunFolder folder = Store::open(sandbox.store())->list_runs().at(0);
  const pid_t parked = start_child([&] { return park(folder.writer_dbs().at(0), &*ledger); });
  const pid_t poller = start_child([&] { return poll(folder, &*ledger); });
  for (const pid_t child : {writer, parked, poller}) EXPECT_EQ(exit_code_of(wait_child(child)), 0);
  const std::vector<std::string> said = lines_of(sandbox.shm() + "/stderr");
  EXPECT_EQ(said.size(), 1u) << ::testing::PrintToString(said);
  EXPECT_THAT(said, ::testing::Each(::testing::HasSubstr("a reader stays in a transaction")));
  std::printf("p99.99 %lld ns alone, %lld ns with both readers; WAL at most %.1f MiB; %llu points\n",
              static_cast<long long>(ledger->p9999_ns[0].load()), static_cast<long long>(ledger->p9999_ns[1].load()),
              static_cast<double>(ledger->wal_bytes_max.load()) / 1048576.0,
              static_cast<unsigned long long>(ledger->accepted.load()));
  // A gross bound: two cores, two more processes.
  EXPECT_LT(ledger->p9999_ns[1].load(), 5 * ledger->p9999_ns[0].load() + 1'000'000 * kSlowDown);
  EXPECT_GT(ledger->wal_bytes_max.load(), kSmallLimit / 2);
  EXPECT_LT(ledger->wal_bytes_max.load(), 4 * kSmallLimit);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  EXPECT_EQ(rows_of(run, "x").size(), ledger->accepted.load());
  EXPECT_EQ(run.view->state(), RunState::kFinished);
  EXPECT_GT(run.view->writers().at(0).parts, 1);
  EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace tracker::internal
