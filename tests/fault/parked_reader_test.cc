// SPDX-License-Identifier: MIT
// F13. While a run logs, one process polls it as a console does and another parks in an open transaction on its
// database: log calls stay as they are, the WAL stays bounded, it is said once, and the run is one. Method: 23 s
// without and 20 s with the two, a limit of 4 MiB in place of 256 MiB, and SQLite itself as the parked reader.
// TRACKER_TEST_SECONDS sets how long each half lasts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>

#include "storage/writer_parts.h"
#include "support/child.h"
#include "support/integrity.h"
#include "support/said.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kSmallLimit = 4u << 20;

int64_t phase_ms() {
  const char* given = std::getenv("TRACKER_TEST_SECONDS");
  return given != nullptr && std::atoi(given) > 0 ? std::atoi(given) * 1000 : 23'000;
}

// Times of calls by 64 ns; what is longer than 67 ms counts as that.
class CallTimes {
 public:
  void add(int64_t ns) {
    ++counts_[std::min(static_cast<size_t>(ns) / kBucketNs, counts_.size() - 1)];
    ++calls_;
  }
  // So many of a million calls took longer.
  int64_t percentile_ns(uint64_t longer_of_a_million) const {
    uint64_t left = calls_ * longer_of_a_million / 1'000'000;
    size_t bucket = counts_.size() - 1;
    for (; bucket > 0 && counts_[bucket] <= left; --bucket) left -= counts_[bucket];
    return static_cast<int64_t>((bucket + 1) * kBucketNs);
  }

 private:
  static constexpr size_t kBucketNs = 64;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(1u << 20);
  uint64_t calls_ = 0;
};

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
  const useconds_t pause_us = phase_ms() > 60'000 ? 5000 : 500;  // what is logged is read back into memory
  int64_t step = 0;
  for (int phase = 0; phase < 2; ++phase) {
    CallTimes times;
    const int64_t deadline = now_ns() + phase_ms() * 1'000'000;
    for (; now_ns() < deadline; ++step) {
      const auto value = static_cast<int64_t>(random());  // nothing that columns make small
      const int64_t before = now_ns();
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, value, step) == TRK_OK);
      times.add(now_ns() - before);
      if (step % 50 == 49) ::usleep(pause_us);
    }
    ledger->p9999_ns[phase] = times.percentile_ns(100);
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

// `verify` alone said it: a run whose rows end in front of a part that is gone looked whole.
TEST(MissingPartTest, ARunWithAHoleInItsPartsIsReadUpToItAndSaysSo) {
  Sandbox sandbox;
  auto store = Store::open_or_create(sandbox.store());
  auto folder = store->create_run("p", "r");
  ASSERT_TRUE(folder.ok());
  WriterIdentity identity = test_identity();
  identity.run = folder->identity;
  const std::string path = db_path(folder->path, identity);
  {
    auto db = WriterDb::create(folder->path, identity);
    for (uint64_t seq = 1; seq <= 5; ++seq)
      ASSERT_TRUE((*db)->append({record_of(test_frame(identity, seq, 1, 10), {})}, false).ok());
    ASSERT_TRUE((*db)->finish().ok());
  }
  for (int part = 2; part <= 3; ++part) {
    auto last = Sqlite::open(part_path(path, part - 1), SqliteOpen::kWrite, 100);
    ASSERT_TRUE(create_part(*last, path, part, identity).ok());
  }
  EXPECT_TRUE((*RunView::open(*folder))->problems().empty());
  remove_file(part_path(path, 2));
  auto view = RunView::open(*folder);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->problem_code(), Code::kCorrupt);
  ASSERT_EQ((*view)->problems().size(), 1u);
  EXPECT_NE((*view)->problems()[0].find("part 2 of 3 is missing"), std::string::npos);
  EXPECT_EQ((*view)->points(), 50u);
}

}  // namespace
}  // namespace tracker::internal
