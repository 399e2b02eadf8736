// SPDX-License-Identifier: MIT
// What decides in recovery, and what only seems to: the position in the database and not the hint in the ring, the lock
// and not the pid. Method: rings and definitions of killed and of living children are changed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "journal/ring/liveness.h"
#include "journal/ring/ring_format.h"
#include "journal/ring/spill.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/live_journal.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr int64_t kPoints = 600;
constexpr size_t kReleasedOffset = 128, kTailOffset = 64;  // docs/formats/ring.md

// A third is committed, the rest is in the ring.
void make_dead_run() {
  ASSERT_EQ(exit_code_of(run_child([] {
              trk_run* run = open_run("r", "block");
              CHILD_CHECK(run != nullptr);
              for (int64_t step = 0; step < kPoints; ++step) {
                CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
                if (step == kPoints / 3) CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
              }
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
}

void expect_each_point_once(const Sandbox& sandbox) {
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  const History rows = rows_of(run, "x");
  ASSERT_EQ(static_cast<int64_t>(rows.size()), kPoints);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    ASSERT_EQ(rows.bits[i], i * 3);
  }
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

std::string only_ring(const Sandbox& sandbox) {
  const std::string dir = sandbox.journal_folders().at(0);
  std::vector<std::string> rings;
  const auto names = list_dir(dir);
  EXPECT_TRUE(names.ok());
  for (const std::string& name : *names)
    if (name.starts_with("ring-")) rings.push_back(join_path(dir, name));
  EXPECT_EQ(rings.size(), 1u);
  return rings.at(0);
}

class HintTest : public ::testing::TestWithParam<int> {};

// What a drain has read is not stored yet, and what is stored may not be noted in the ring yet.
// Promise P1: Recovery starts from the database's position, never from a hint in the ring.
TEST_P(HintTest, RecoveryStartsFromTheDatabaseWhateverTheRingSaysOfItself) {
  Sandbox sandbox;
  make_dead_run();
  const std::string ring = only_ring(sandbox);
  uint64_t tail = 0;
  std::memcpy(&tail, read_file(ring, 64u << 20)->data() + kTailOffset, sizeof tail);
  ASSERT_GT(tail, 0u);
  const uint64_t hint = tail * static_cast<uint64_t>(GetParam()) / 2;
  std::fstream file(ring, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kReleasedOffset);
  file.write(reinterpret_cast<const char*>(&hint), sizeof hint);
  file.close();
  expect_each_point_once(sandbox);
}

std::string hint_name(const ::testing::TestParamInfo<int>& test) {
  const char* names[] = {"NothingIsStored", "HalfIsStored", "AllIsStored", "", "MoreThanThereIs"};
  return names[test.param];
}

INSTANTIATE_TEST_SUITE_P(Hint, HintTest, ::testing::Values(0, 1, 2, 4), hint_name);

// The definitions of the journal in `dir` as if another process had written them.
void rename_owner(const std::string& dir, int64_t pid, uint64_t pid_start, uint64_t pid_namespace = 0) {
  auto known = read_definitions(dir);
  ASSERT_TRUE(known.ok());
  known->identity.pid = pid;
  known->identity.pid_start = pid_start;
  if (pid_namespace != 0) known->identity.pid_namespace = pid_namespace;
  const std::string made = join_path(dir, "defs.other");
  {
    auto file = DefinitionsFile::create(made, known->identity);
    ASSERT_TRUE(file.ok());
    for (const SeriesDef& series : known->series) ASSERT_TRUE(file->append(series).ok());
  }
  ASSERT_EQ(::rename(made.c_str(), join_path(dir, "defs").c_str()), 0);
}

// After a reboot of a container, or in another pid namespace, a pid is that of another process.
// Promise P1: A journal is live exactly while its `fcntl` lock is held, whatever its pid says.
TEST(PidTest, AFreeLockIsADeadProcessThoughItsPidLives) {
  Sandbox sandbox;
  make_dead_run();
  const std::string dir = sandbox.journal_folders().at(0);
  auto first = read_file("/proc/1/stat", 4096);
  ASSERT_TRUE(first.ok());
  rename_owner(dir, 1, pid_start_of(*first));
  EXPECT_EQ(probe_journal(read_definitions(dir)->identity, dir), Liveness::kDead);
  expect_each_point_once(sandbox);
}

TEST(PidTest, AHeldLockIsALivingProcessThoughItsPidOfAnotherNamespaceIsGone) {
  Sandbox sandbox;
  Shared<std::atomic<int>> ready;
  const pid_t child = start_child([&] {
    LiveJournal journal(sandbox, {});
    CHILD_CHECK(journal.log(journal->series_id("x", ValueType::kInt64), 1, 1) == Code::kOk);
    ready->store(1);
    sleep_ms(60'000);
    return 0;
  });
  while (ready->load() == 0) ::usleep(1000);
  const std::string dir = sandbox.journal_folders().at(0);
  const pid_t gone = start_child([] { return 0; });
  wait_child(gone);
  rename_owner(dir, gone, 12345, 1);
  EXPECT_EQ(probe_journal(read_definitions(dir)->identity, dir), Liveness::kLive);
  EXPECT_EQ(DeadJournal::open(dir).status().code(), Code::kBusy);
  ::kill(child, SIGKILL);
  wait_child(child);
  EXPECT_EQ(probe_journal(read_definitions(dir)->identity, dir), Liveness::kDead);
  EXPECT_TRUE(DeadJournal::open(dir).ok());
}

class BadDefinitionsTest : public ::testing::TestWithParam<const char*> {};

void expect_points_in(ReadRun* run, const std::string& metric) {
  const History rows = rows_of(*run, metric);
  ASSERT_EQ(static_cast<int64_t>(rows.size()), kPoints);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.bits[i], i * 3);
}

// Bug: after a bad byte there no process recovered the rings, though the store had their writer's identity.
TEST_P(BadDefinitionsTest, ABadByteInWhoWroteThemCostsNothingWhereTheStoreKnows) {
  for (const size_t at : {0, 7, 8, 11, 12, 16, 40, 200}) {
    SCOPED_TRACE(at);
    Sandbox sandbox;
    ::setenv("TRACKER_STORE_FILES", GetParam(), 1);
    make_dead_run();
    const std::string dir = sandbox.journal_folders().at(0);
    std::string bytes = *read_file(join_path(dir, "defs"), 1 << 20);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x60);
    ASSERT_TRUE(write_file_atomic(join_path(dir, "defs"), bytes).ok());
    ReadRun run = recover_and_read(sandbox.store());
    expect_points_in(&run, "x");
    EXPECT_EQ(run.view->losses().dropped, 0u);
    EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr("defs does not say any more who wrote it")));
    EXPECT_THAT(sandbox.journal_folders(), ::testing::ElementsAre(::testing::HasSubstr("/damaged-")));
  }
}

INSTANTIATE_TEST_SUITE_P(StoreFiles, BadDefinitionsTest, ::testing::Values("sqlite", "frames"));

TEST(NoDefinitionsTest, WithoutDefinitionsTheRingsAreReadAndTheirMetricsHaveNamesOfTheirOwn) {
  Sandbox sandbox;
  make_dead_run();
  const std::string dir = sandbox.journal_folders().at(0);
  ASSERT_TRUE(std::filesystem::remove(dir + "/defs"));
  const timespec old[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};  // as old as files that count as abandoned
  ASSERT_EQ(::utimensat(AT_FDCWD, dir.c_str(), old, 0), 0);
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(run.view->points(), static_cast<uint64_t>(kPoints));
  EXPECT_EQ(run.view->losses().dropped, 0u);
}

TEST(NoDefinitionsTest, WhereNobodyKnowsWhoWroteTheJournalIsNamedAndKeptUntilSomebodyDoes) {
  Sandbox sandbox;
  make_dead_run();
  const std::string dir = sandbox.journal_folders().at(0);
  ASSERT_TRUE(write_file_atomic(join_path(dir, "defs"), "TRKJDEF1").ok());
  const std::string run_path = Store::open(sandbox.store())->find_run("p", "r")->path;
  const std::string away = sandbox.folder() + "/away";
  ASSERT_EQ(::rename(run_path.c_str(), away.c_str()), 0);
  for (int i = 0; i < 2; ++i) {
    const RecoveryReport report = recover_dead_writers(*Store::open(sandbox.store()));
    EXPECT_THAT(report.problems, ::testing::ElementsAre(::testing::AllOf(::testing::HasSubstr(dir),
                                                                         ::testing::HasSubstr("no file of that writer"),
                                                                         ::testing::HasSubstr("its rings are kept"))));
    EXPECT_THAT(sandbox.journal_folders(), ::testing::ElementsAre(dir));
    EXPECT_EQ(only_ring(sandbox).substr(0, dir.size()), dir);
  }
  ASSERT_EQ(::rename(away.c_str(), run_path.c_str()), 0);
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(run.view->points(), static_cast<uint64_t>(kPoints));
}

TEST(UnreadRingTest, ARingThatIsNoFileCountsAsUnknownBeforeAndBehindTheRecovery) {
  Sandbox sandbox;
  make_dead_run();
  const std::string ring = only_ring(sandbox);
  ASSERT_TRUE(std::filesystem::remove(ring) && std::filesystem::create_directory(ring));
  auto view = RunView::open(*Store::open(sandbox.store())->find_run("p", "r"));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->losses().unread_rings, 1u);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(run.view->losses().unread_rings, 1u);
  EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr("an unknown number of points is lost")));
  EXPECT_EQ(run.view->losses().dropped, 0u);
}

// A power cut may leave zeros. Bug: a ring with a header of zeros was treated as one that was never used, and its
// content was lost without a report.
TEST(UnreadRingTest, ARingWhoseHeaderReadsAsZerosCountsAsUnknown) {
  for (const bool all : {false, true}) {
    Sandbox sandbox;
    make_dead_run();
    const std::string ring = only_ring(sandbox);
    std::string bytes = *read_file(ring, 64u << 20);
    std::fill_n(bytes.begin(), all ? bytes.size() : kRingHeaderBytes, '\0');
    std::ofstream(ring, std::ios::binary) << bytes;
    auto view = RunView::open(*Store::open(sandbox.store())->find_run("p", "r"));
    ASSERT_TRUE(view.ok());
    EXPECT_EQ((*view)->losses().unread_rings, 1u) << all;
    const auto verified = verify_store(sandbox.store(), {});
    ASSERT_TRUE(verified.ok());
    EXPECT_TRUE(std::any_of(verified->findings.begin(), verified->findings.end(), [](const Finding& finding) {
      return finding.level == FindingLevel::kDamage && finding.what.find("reads as zeros") != std::string::npos;
    })) << all;
    ReadRun run = recover_and_read(sandbox.store());
    EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr("its header reads as zeros"))) << all;
    EXPECT_EQ(run.view->losses().unread_rings, 1u) << all;
    EXPECT_GT(static_cast<int64_t>(run.view->points()), kPoints / 3);
  }
}

// What a process leaves that dies while it makes a ring is no damage.
TEST(UnreadRingTest, ARingOfZerosOfWhichNothingWasStoredWasNeverUsed) {
  Sandbox sandbox;
  make_dead_run();
  const std::string dir = sandbox.journal_folders().at(0);
  std::ofstream(dir + "/ring-00000000abcdef00", std::ios::binary) << std::string(kRingHeaderBytes + 4096, '\0');
  expect_each_point_once(sandbox);
}

// A live run that was recovered and killed before it noticed that: it spills under numbers that the recoverer has used.
// Bug: those counted as stored, and what the recoverer had read from the rings was stored again.
TEST(SpilledNumbersTest, SpilledFramesWhoseNumbersAnotherHasGivenAwayAreStoredOnceByTheirPositions) {
  constexpr uint64_t kPerFrame = 6, kNonce = 0x1100;
  Sandbox sandbox;
  make_dead_run();
  const std::string dir = sandbox.journal_folders().at(0), copy = sandbox.folder() + "/journal";
  std::filesystem::copy(dir, copy);
  const WriterIdentity writer = read_definitions(dir)->identity;
  uint64_t half = 0;
  std::memcpy(&half, writer.writer.bytes.data(), sizeof half);
  const auto last_seq = [&sandbox] {
    return (*RunView::open(*Store::open(sandbox.store())->find_run("p", "r")))->writers().at(0).last_seq;
  };
  const auto spill = [&](SpillFile* file, uint64_t seq, uint64_t position, size_t rows = 3) {
    ASSERT_TRUE(file->append(record_of(test_frame(writer, seq, 2, rows), {{kNonce, position}}), 1u << 20));
  };
  {
    SpillFile file(dir, half);
    spill(&file, last_seq() + 1, 100);
  }
  ReadRun first = recover_and_read(sandbox.store());
  ASSERT_EQ(first.view->points(), kPoints + kPerFrame);
  std::filesystem::copy(copy, dir);
  std::filesystem::permissions(dir, std::filesystem::perms::owner_all);
  {
    const uint64_t taken = last_seq();
    SpillFile file(dir, half);
    spill(&file, taken, 200);          // its number is that of another frame
    spill(&file, taken + 1, 200, 50);  // its points are there
    spill(&file, taken + 2, 300);
  }
  ReadRun second = recover_and_read(sandbox.store());
  EXPECT_THAT(second.problems, ::testing::IsEmpty());
  EXPECT_EQ(second.view->points(), kPoints + 3 * kPerFrame);
  EXPECT_EQ(second.view->losses().dropped, 0u);
}

// Bug: one flipped bit in the count of accepted points in a ring's header made 4611686018427387904 lost points, for
// ever.
TEST(CounterTest, ACountThatCannotBeIsAnUnknownNumber) {
  constexpr size_t kBefore = 56, kAccepted = 72, kTexts = 88, kUnfiled = 136;  // docs/formats/ring.md
  static_assert(1ull << 49 > kLossCountMax);
  for (const size_t offset : {kBefore, kAccepted, kTexts, kUnfiled})
    for (const int bit : {62, 49}) {
      Sandbox sandbox;
      make_dead_run();
      std::string bytes = *read_file(only_ring(sandbox), 64u << 20);
      bytes[offset + bit / 8] = static_cast<char>(bytes[offset + bit / 8] ^ (1 << bit % 8));
      std::ofstream(only_ring(sandbox), std::ios::binary) << bytes;
      const auto verified = verify_store(sandbox.store(), {});
      ASSERT_TRUE(verified.ok());
      EXPECT_TRUE(std::any_of(verified->findings.begin(), verified->findings.end(), [](const Finding& finding) {
        return finding.level == FindingLevel::kDamage && finding.kind == "journal" &&
               finding.what.find("which cannot be: an unknown number may be lost") != std::string::npos;
      }));
      ReadRun run = recover_and_read(sandbox.store());
      EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr("which cannot be: an unknown number")))
          << offset;
      EXPECT_EQ(static_cast<int64_t>(run.view->points()), kPoints) << offset;
      const LossAccount account = run.view->losses();
      EXPECT_EQ(account.dropped, 0u) << offset;
      EXPECT_EQ(account.unread_rings, 1u) << offset;
    }
}

// Bug: rings that were removed and not yet replaced when their process was killed were no loss: "Nothing lost".
TEST(NoRingsTest, WhereNoneIsLeftAnUnknownNumberIsLost) {
  Sandbox sandbox;
  make_dead_run();
  ASSERT_TRUE(std::filesystem::remove(only_ring(sandbox)));
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr("none of its rings is left: an unknown number")));
  EXPECT_EQ(run.view->losses().unread_rings, 1u);
  EXPECT_LT(static_cast<int64_t>(run.view->points()), kPoints);
  ReadRun again = recover_and_read(sandbox.store());
  EXPECT_EQ(again.view->losses().unread_rings, 1u);
}

// Bug: the recoverer named a series damaged/series-1, with values of another type, though the database and the spill
// file had its name: only rows after the damage could be read, as wrong numbers.
TEST(DefinitionsTest, WhatTheFileLacksIsKnownFromWhatIsStored) {
  for (const bool gone : {true, false}) {
    Sandbox sandbox;
    make_dead_run();
    const std::string defs = join_path(sandbox.journal_folders().at(0), "defs");
    if (gone) {
      ASSERT_TRUE(std::filesystem::remove(defs));
    } else {
      std::string bytes = *read_file(defs, 1 << 20);
      bytes[bytes.rfind('x')] ^= 1;
      ASSERT_TRUE(write_file_atomic(defs, bytes).ok());
    }
    ReadRun run = recover_and_read(sandbox.store());
    EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr(
                                  gone ? "defs does not say any more who wrote it"
                                       : "defs is damaged: what 1 metrics are called is known from what is stored")));
    const History rows = rows_of(run, "x");
    ASSERT_EQ(static_cast<int64_t>(rows.size()), kPoints);
    EXPECT_EQ(rows.type, ValueType::kInt64);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.bits[i], i * 3);
    EXPECT_EQ(run.view->metrics().size(), 1u);
  }
}

// A store that is not there is no reason to give a journal up.
TEST(AwayTest, AJournalWhoseStoreIsAwayIsLeftAloneAndRecoveredWhenItIsBack) {
  Sandbox sandbox;
  make_dead_run();
  const std::string away = sandbox.folder() + "/away";
  ASSERT_EQ(::rename(sandbox.store().c_str(), away.c_str()), 0);
  EXPECT_FALSE(recover_and_read(sandbox.store()).problems.empty());
  auto other = Store::open_or_create(sandbox.store());  // another one in its place
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(recover_dead_writers(*other).recovered.empty());
  EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  std::filesystem::remove_all(sandbox.store());
  ASSERT_EQ(::rename(away.c_str(), sandbox.store().c_str()), 0);
  expect_each_point_once(sandbox);
}

}  // namespace
}  // namespace tracker::internal
