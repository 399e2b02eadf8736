// SPDX-License-Identifier: MIT
// Goal: verify finds no damage in a store while runs are recorded, recovered and ended, reports what a dead process
// left, and finds rings and definitions that are damaged; rm refuses a run while its lock is held and while it has no
// database yet. Method: child processes that log, are killed, or whose journals are broken by hand.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "storage/recovery/trash.h"
#include "storage/upkeep/collect.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

VerifyReport verify(const Sandbox& sandbox) {
  VerifyOptions options;
  options.now_us = realtime_us();
  auto report = verify_store(sandbox.store(), options);
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  return report.ok() ? std::move(*report) : VerifyReport();
}

std::string text_of(const VerifyReport& report) {
  std::string out;
  for (const Finding& finding : report.findings) out += finding.kind + " " + finding.path + ": " + finding.what + "\n";
  return out;
}

uint64_t count(const VerifyReport& report, const std::string& kind) {
  uint64_t out = 0;
  for (const Finding& finding : report.findings) out += finding.kind == kind ? 1 : 0;
  return out;
}

// Logs until it is killed; counts the points that were not dropped.
pid_t start_trainer(std::atomic<uint64_t>* rows, const char* id, uint64_t rows_max = UINT64_MAX, int pause_us = 50) {
  return start_child([=] {
    trk_run* run = open_run(id);
    CHILD_CHECK(run != nullptr);
    trk_metric* loss = trk_metric_open(run, "loss", TRK_NUL_TERMINATED, nullptr);
    trk_metric* odd = trk_metric_open(run, "odd", TRK_NUL_TERMINATED, nullptr);
    for (uint64_t i = 0; i < rows_max; ++i) {
      const auto step = static_cast<int64_t>(i);
      uint64_t taken = trk_metric_log_f64(loss, 1.0 / static_cast<double>(i + 1), step) == TRK_OK ? 1 : 0;
      if (i % 3 == 0) taken += trk_metric_log_f64(odd, i % 2 == 0 ? -INFINITY : NAN, -step) == TRK_OK ? 1 : 0;
      rows->fetch_add(taken);
      if (pause_us > 0) ::usleep(static_cast<useconds_t>(pause_us));
    }
    if (rows_max != UINT64_MAX) sleep_ms(600'000);
    return 0;
  });
}

void wait_rows(std::atomic<uint64_t>* rows, uint64_t count) {
  for (int i = 0; i < 20'000 && rows->load() < count; ++i) ::usleep(1000);
  ASSERT_GE(rows->load(), count);
}

// One that is killed when it has logged its rows; `wait_ms` later, for what is committed by then.
bool has_committed() {
  for (const auto& entry : fs::recursive_directory_iterator(::getenv("TRACKER_DIR"))) {
    const auto kind = entry.path().extension();
    std::error_code gone;
    const uintmax_t size = entry.file_size(gone);
    if ((kind == ".db-wal" || kind == ".frames") && !gone && size > 0) return true;
  }
  return false;
}

void leave_dead_trainer(uint64_t rows_max, int pause_us, int wait_ms = 0) {
  Shared<std::atomic<uint64_t>> rows;
  const pid_t child = start_trainer(&*rows, "otter", rows_max, pause_us);
  wait_rows(&*rows, rows_max);
  for (int look = 0; look < 2000 && !has_committed(); ++look) sleep_ms(10);  // on a busy disk it may take a while
  sleep_ms(wait_ms);
  ::kill(child, SIGKILL);
  wait_child(child);
}

// At full speed; no more, for each look reads all of it, and a busy disk makes many looks.
constexpr uint64_t kFullSpeedRows = 3'000'000;

class VerifyLive : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Files, VerifyLive, testing::Values("sqlite", "frames"));

TEST_P(VerifyLive, AStoreWithLiveWritersHasNoDamageAtAnyMoment) {
  const Sandbox sandbox;
  ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
  Shared<std::atomic<uint64_t>> a, b;
  const pid_t first = start_trainer(&*a, "otter"), second = start_trainer(&*b, "heron", kFullSpeedRows, 0);
  wait_rows(&*a, 100);
  wait_rows(&*b, 100);
  for (int look = 0; look < 15; ++look) {
    const VerifyReport report = verify(sandbox);
    EXPECT_FALSE(report.has(FindingLevel::kDamage)) << text_of(report);
    sleep_ms(20);
  }
  // On a busy disk the first commit may take a while.
  for (int look = 0; look < 1000 && verify(sandbox).live < 2; ++look) sleep_ms(20);
  EXPECT_EQ(verify(sandbox).live, 2u);
  for (const pid_t child : {first, second}) {
    ::kill(child, SIGKILL);
    wait_child(child);
  }
  // Dead, not recovered: still no damage, and the waiting points are reported.
  const VerifyReport dead = verify(sandbox);
  EXPECT_FALSE(dead.has(FindingLevel::kDamage)) << text_of(dead);
  // A journal each; and a .frames file whose writer was killed in the middle of a record.
  EXPECT_GE(count(dead, "unrecovered"), 2u) << text_of(dead);
  EXPECT_LE(count(dead, "unrecovered"), std::string(GetParam()) == "frames" ? 4u : 2u) << text_of(dead);
  EXPECT_EQ(dead.live, 0u);
  EXPECT_EQ(sandbox.journal_folders().size(), 2u);  // verify recovers nothing
  EXPECT_TRUE(recover_and_read(sandbox.store()).problems.empty());
  const VerifyReport whole = verify(sandbox);
  EXPECT_TRUE(whole.findings.empty()) << text_of(whole);
  // A kill may come between a call and its count.
  EXPECT_GE(whole.points, a->load() + b->load());
  EXPECT_LE(whole.points, a->load() + b->load() + 4);
}

TEST_P(VerifyLive, VerifyBesideRunsThatEndSeesNoDamage) {
  const Sandbox sandbox;
  ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
  const pid_t child = start_child([] {
    for (int i = 0; i < 12; ++i) {
      trk_run* run = open_run();
      CHILD_CHECK(run != nullptr);
      for (int step = 0; step < 2000; ++step) trk_log_f64(run, "loss", TRK_NUL_TERMINATED, step, step);
      trk_finish(run, 0, nullptr);
    }
    return 0;
  });
  int status = 0;
  int looks = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (!fs::exists(sandbox.store() + "/store.json")) continue;
    const VerifyReport report = verify(sandbox);
    EXPECT_FALSE(report.has(FindingLevel::kDamage)) << text_of(report);
    ++looks;
  }
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_GT(looks, 2);
}

TEST(VerifyLiveTest, RingsAndDefinitionsThatAreDamagedAreNamed) {
  for (const bool ring : {true, false}) {
    const Sandbox sandbox;
    leave_dead_trainer(500, 0, 300);
    const std::string dir = sandbox.journal_folders().at(0);
    const auto names = list_dir(dir);
    for (const std::string& name : *names) {
      if (!name.starts_with(ring ? "ring-" : "defs")) continue;
      std::string bytes = *read_file(join_path(dir, name), 64 << 20);
      bytes.replace(0, 8, "rubbish!");
      ASSERT_TRUE(write_file_atomic(join_path(dir, name), bytes).ok());
    }
    const VerifyReport report = verify(sandbox);
    EXPECT_TRUE(report.has(FindingLevel::kDamage));
    EXPECT_GE(count(report, "journal"), 1u) << text_of(report);
    EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  }
}

std::string unrecovered_text(const VerifyReport& report) {
  std::string out;
  for (const Finding& finding : report.findings)
    if (finding.kind == "unrecovered") out += finding.what + "\n";
  return out;
}

// Bug: "0 points", or no report, if the number is unknown.
TEST(VerifyLiveTest, WhereNobodyCanSayHowManyPointsWaitThatIsSaid) {
  const Sandbox sandbox;
  leave_dead_trainer(500, 0, 300);
  const std::string dir = sandbox.journal_folders().at(0);
  ASSERT_TRUE(write_file_atomic(dir + "/defs", "TRKJDEF1").ok());
  EXPECT_EQ(unrecovered_text(verify(sandbox)).find("unknown"), std::string::npos) << "the store knows its writer";
  const std::string run_path = Store::open(sandbox.store())->list_runs().at(0).path;
  const std::string away = sandbox.folder() + "/away";
  ASSERT_EQ(::rename(run_path.c_str(), away.c_str()), 0);
  const std::string nameless = unrecovered_text(verify(sandbox));
  EXPECT_NE(nameless.find("an unknown number of points waits in 1 ring and"), std::string::npos) << nameless;
  ASSERT_EQ(::rename(away.c_str(), run_path.c_str()), 0);
  for (const std::string& name : list_dir(dir).value_or({})) {
    if (!name.starts_with("ring-")) continue;
    fs::remove(join_path(dir, name));
    fs::create_directory(join_path(dir, name));
  }
  const std::string unread = unrecovered_text(verify(sandbox));
  EXPECT_EQ(unread.find("an unknown number in 1 ring that cannot be read of p/"), 0u) << unread;
}

std::string wal_text(const VerifyReport& report) {
  std::string out;
  for (const Finding& finding : report.findings)
    if (finding.kind == "wal") out += finding.what + "\n";
  return out;
}

TEST(VerifyLiveTest, DamageInTheWalOfADeadWriterThatHidesCommitsIsNamed) {
  const Sandbox sandbox;
  leave_dead_trainer(3000, 300);
  std::string wal;
  for (const auto& entry : fs::recursive_directory_iterator(sandbox.store()))
    if (entry.path().extension() == ".db-wal") wal = entry.path();
  ASSERT_FALSE(wal.empty());
  const VerifyReport sound = verify(sandbox);
  EXPECT_FALSE(sound.has(FindingLevel::kDamage)) << text_of(sound);
  std::string bytes = *read_file(wal, 100 << 20);
  constexpr size_t kPageFrame = 4096 + 24;
  ASSERT_GT(bytes.size(), 8 * kPageFrame);
  bytes[32 + 2 * kPageFrame + 100] = static_cast<char>(bytes[32 + 2 * kPageFrame + 100] ^ 1);
  ASSERT_TRUE(write_file_atomic(wal, bytes).ok());
  EXPECT_EQ(count(verify(sandbox), "wal"), 1u);
  // A hole of a terabyte is skipped; what follows it is read.
  constexpr uint64_t kFar = 1ull << 28;
  const std::string last_commit = bytes.substr(32 + (bytes.size() / kPageFrame - 1) * kPageFrame, kPageFrame);
  const std::string before = wal_text(verify(sandbox));
  fs::resize_file(wal, 32 + 2 * kFar * kPageFrame);
  EXPECT_EQ(wal_text(verify(sandbox)), before);
  {
    std::fstream file(wal, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(32 + kFar * kPageFrame)) << last_commit;
    ASSERT_TRUE(file.good());
  }
  EXPECT_NE(wal_text(verify(sandbox)), before) << "one commit more";
}

TEST(VerifyLiveTest, ADeadJournalWithoutItsLockIsNamedAndLeftAlone) {
  const Sandbox sandbox;
  leave_dead_trainer(50, 0);
  const std::string dir = sandbox.journal_folders().at(0);
  remove_file(dir + "/lock");
  EXPECT_EQ(count(verify(sandbox), "journal"), 1u);
  EXPECT_FALSE(path_exists(dir + "/lock"));
}

TEST(VerifyLiveTest, ARunIsRemovedOnlyWhenItsWriterIsGone) {
  const Sandbox sandbox;
  Shared<std::atomic<uint64_t>> rows;
  const pid_t child = start_trainer(&*rows, "otter");
  wait_rows(&*rows, 2000);
  const auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  const auto run = store->find_run("p", "otter");
  ASSERT_TRUE(run.has_value());
  auto removed = remove_run(*store, *run, realtime_us());
  EXPECT_EQ(removed.status().code(), Code::kBusy) << removed.status().to_string();
  // Also if only the journal shows that a process writes it.
  const std::string away = sandbox.folder() + "/away";
  for (const std::string& db : run->writer_dbs()) fs::rename(db, away);
  removed = remove_run(*store, *run, realtime_us());
  EXPECT_EQ(removed.status().code(), Code::kBusy) << removed.status().to_string();
  EXPECT_TRUE(fs::exists(run->path + "/run.json"));
  ::kill(child, SIGKILL);
  wait_child(child);
  // Its journal goes too: it would make the run again.
  EXPECT_TRUE(remove_run(*store, *run, realtime_us()).ok());
  EXPECT_TRUE(sandbox.journal_folders().empty());
  EXPECT_TRUE(recover_dead_writers(*store).recovered.empty());
  EXPECT_TRUE(store->list_runs().empty());
}

TEST(VerifyLiveTest, GcRecoversTheDeadAndLeavesTheLiving) {
  const Sandbox sandbox;
  Shared<std::atomic<uint64_t>> a, b;
  const pid_t dead = start_trainer(&*a, "dead"), live = start_trainer(&*b, "live");
  wait_rows(&*a, 500);
  wait_rows(&*b, 500);
  ::kill(dead, SIGKILL);
  wait_child(dead);
  const auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  CollectOptions options;
  options.now_us = realtime_us();
  options.dry_run = true;
  CollectReport report = collect_garbage(*store, options);
  ASSERT_EQ(report.removed.size(), 1u);
  EXPECT_EQ(sandbox.journal_folders().size(), 2u);
  options.dry_run = false;
  report = collect_garbage(*store, options);
  EXPECT_EQ(report.recovery.recovered.size(), 1u);
  ASSERT_EQ(report.removed.size(), 1u);
  EXPECT_EQ(report.removed[0].kind, "journal");
  EXPECT_GT(report.bytes, 256u << 10);
  EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  const uint64_t before = b->load();
  wait_rows(&*b, before + 200);
  ::kill(live, SIGKILL);
  wait_child(live);
  auto read = recover_and_read(sandbox.store(), "live");
  EXPECT_GE(rows_of(read, "loss").size() + rows_of(read, "odd").size(), b->load());
  EXPECT_TRUE(read.problems.empty());
}

}  // namespace
}  // namespace tracker::internal
