// SPDX-License-Identifier: MIT
// What rings take of the memory: each file all of it at once, twice as much each time from 256 KiB to 8 MiB, made by
// the drain side and never by a caller; with the spill file all stay within the budget. Method: journals without
// threads are filled, and the files that they have made are checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "support/live_journal.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

std::vector<struct stat> ring_files(LiveJournal& journal) {
  std::vector<struct stat> out;
  const std::string dir = journal.identity().journal_dir;
  const auto names = list_dir(dir);
  EXPECT_TRUE(names.ok());
  for (const std::string& name : *names) {
    struct stat st{};
    if (name.starts_with("ring-") && ::stat(join_path(dir, name).c_str(), &st) == 0) out.push_back(st);
  }
  return out;
}

uint64_t largest_ring(LiveJournal& journal) {
  uint64_t out = 0;
  for (const struct stat& st : ring_files(journal)) out = std::max(out, static_cast<uint64_t>(st.st_size));
  return out - kRingHeaderBytes;
}

void fill(LiveJournal& journal, uint32_t id) {
  while (journal.log(id, 1, 1) == Code::kOk) {}
}

JournalOptions dropping(uint64_t budget_bytes) {
  JournalOptions options;
  options.on_full = OnFull::kDrop;
  options.budget_bytes = budget_bytes;
  return options;
}

// A page that is not there when it is first written is a SIGBUS on a full tmpfs.
// Promise P4: Every page of a ring file is allocated before it is written; a tmpfs that others fill kills no process.
TEST(GrowthTest, EveryPageOfARingFileIsThereBeforeItIsWritten) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, dropping(64 * kMiB));
  fill(journal, journal->series_id("x", ValueType::kFloat64));
  journal->prepare_rings();
  const auto files = ring_files(journal);
  ASSERT_EQ(files.size(), 2u) << "the first one, and one that was not written to";
  for (const struct stat& st : files) EXPECT_GE(st.st_blocks * 512, st.st_size);
}

// Promise P4: The drain thread makes the next ring, never a caller.
TEST(GrowthTest, ACallerNeverMakesTheNextRing) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, dropping(64 * kMiB));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  fill(journal, id);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(journal.log(id, 1, 1), Code::kLimit);
  EXPECT_EQ(ring_files(journal).size(), 1u);
  journal->prepare_rings();
  EXPECT_EQ(ring_files(journal).size(), 2u);
  EXPECT_EQ(journal.log(id, 1, 1), Code::kOk) << "the caller takes what is there";
}

// Promise P4: The first ring is 256 KiB; each next ring is twice as large, up to 8 MiB.
TEST(GrowthTest, RingsDoubleFrom256KiBTo8MiB) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, dropping(64 * kMiB));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  std::vector<uint64_t> sizes{largest_ring(journal)};
  for (int growth = 0; growth < 7; ++growth) {
    fill(journal, id);
    journal->prepare_rings();
    (void)journal.drain();
    sizes.push_back(largest_ring(journal));
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(256 * kKiB, 512 * kKiB, 1 * kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 8 * kMiB,
                                            8 * kMiB));
}

TEST(GrowthTest, ARingAtHalfFillIsNotGrownAndOneBeyondItIs) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, dropping(64 * kMiB));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  constexpr uint64_t kRecord = kRecordHeadBytes + sizeof(ValuePair);
  for (uint64_t at = 0; at + kRecord <= 128 * kKiB; at += kRecord) ASSERT_EQ(journal.log(id, 1, 1), Code::kOk);
  journal->prepare_rings();
  EXPECT_EQ(ring_files(journal).size(), 1u);
  ASSERT_EQ(journal.log(id, 1, 1), Code::kOk);
  journal->prepare_rings();
  EXPECT_EQ(ring_files(journal).size(), 2u);
}

TEST(GrowthTest, TheSpillFileHasWhatTheRingsLeaveOfTheBudgetAndAtMost16MiB) {
  constexpr uint64_t kFirst = kFirstRingBytes + kRingHeaderBytes;
  for (const auto& [budget, room] : {std::pair<uint64_t, uint64_t>{24 * kMiB, 16 * kMiB},
                                     {16 * kMiB, 16 * kMiB - kFirst},
                                     {2 * kMiB, 2 * kMiB - kFirst}}) {
    Sandbox sandbox;
    LiveJournal journal(sandbox, dropping(budget));
    EXPECT_EQ(journal->spill_room(), room) << budget;
  }
  JournalOptions memory = dropping(24 * kMiB);
  memory.kind = "memory";
  Sandbox sandbox;
  LiveJournal journal(sandbox, memory);
  EXPECT_EQ(journal->spill_room(), 0u) << "what dies with the process is no place to spill to";
}

TEST(GrowthTest, WhatIsSpilledIsMissingForTheNextRing) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, dropping(4 * kMiB));
  const uint32_t id = journal->series_id("x", ValueType::kFloat64);
  ASSERT_TRUE(journal->spill().append({1, std::string(3 * kMiB, 'x'), {}}, journal->spill_room()));
  fill(journal, id);
  journal->prepare_rings();
  EXPECT_EQ(ring_files(journal).size(), 1u);
  EXPECT_LE(journal->counts().bytes, 4 * kMiB);
  journal->spill().clear();
  journal->prepare_rings();
  EXPECT_EQ(ring_files(journal).size(), 2u);
}

}  // namespace
}  // namespace tracker::internal
