// SPDX-License-Identifier: MIT
// A spill file that is damaged, cut, gone or something else never loses a point without a word: what verifies is
// recovered, in it and in the rings, the rest is counted to the last point, and the journal is kept. Method: a writer
// whose commits are stuck is killed, each point with its number; its spill file is changed and the run recovered.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>

#include "journal/dead/dead_journal.h"
#include "journal/ring/ring_format.h"
#include "journal/ring/spill.h"
#include "run/run.h"
#include "storage/recovery/waiting_points.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

std::atomic<bool> g_commits_held{false};
void wait_while_commits_are_held() {
  while (g_commits_held.load()) ::usleep(1000);
}

constexpr uint64_t kStoredPoints = 100, kSpilledPoints = 600'000;  // the largest ring has 210,000 of them

// Logs until the spill file has as much as several rings and a few frames, so that the rings are in later laps and
// smaller ones have gone. Returns how many points it has logged. `sample_interval`: seconds between samples of the
// system, 0: none; then some are stored before.
uint64_t make_dead_run_that_spilled(const Sandbox& sandbox, double sample_interval = 0) {
  Shared<std::atomic<uint64_t>> logged;
  const int status = run_child([&] {
    InitOptions options;
    options.project = "p";
    options.id = "r";
    options.on_full = "block";
    options.quiet = true;
    options.system_interval = sample_interval;
    auto run = Run::init(options);
    CHILD_CHECK(run.ok());
    if (sample_interval > 0) ::usleep(500'000);
    const uint32_t id = (*run)->series_id("x", ValueType::kInt64);
    const auto log_one = [&] {
      const uint64_t value = logged->load();
      const ValuePair pair{value * value * 77'777 + value, id, 0};
      CHILD_CHECK(log_pairs((*run)->hot(), &pair, 1, static_cast<int64_t>(value)) == Code::kOk);
      logged->fetch_add(1);
    };
    while (logged->load() < kStoredPoints) log_one();
    CHILD_CHECK((*run)->flush(std::chrono::seconds(10)));
    g_commits_held = true;
    (*run)->set_pause_for_testing(nullptr, wait_while_commits_are_held);
    const std::string file = sandbox.journal_folders().at(0) + "/spill";
    struct stat st{};
    while (logged->load() < kSpilledPoints || ::stat(file.c_str(), &st) != 0 || st.st_size < 2'000'000) {
      for (int i = 0; i < 500; ++i) log_one();
      ::usleep(200);
    }
    ::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), -1 - SIGKILL);
  return logged->load();
}

std::string spill_of(const Sandbox& sandbox) { return sandbox.journal_folders().at(0) + "/spill"; }

void flip_byte(const std::string& path, off_t at) {
  auto fd = open_file(path, O_RDWR);
  char byte = 0;
  ASSERT_EQ(::pread(fd->get(), &byte, 1, at), 1);
  byte = static_cast<char>(byte ^ 0x40);
  ASSERT_EQ(::pwrite(fd->get(), &byte, 1, at), 1);
}

// What was lost is counted, what is there is there once, and the journal is kept. Returns how many are lost.
uint64_t lost_after_recovery(const Sandbox& sandbox, uint64_t logged) {
  {
    const auto verified = verify_store(sandbox.store(), VerifyOptions{});
    EXPECT_TRUE(!verified.ok() || !verified->findings.empty()) << "verify says so";
  }
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_NE(run.view, nullptr);
  if (run.view == nullptr) return 0;
  EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr("is kept in")));
  const History rows = rows_of(run, "x");
  EXPECT_EQ(std::adjacent_find(rows.steps.begin(), rows.steps.end(), std::greater_equal<>()), rows.steps.end())
      << "in order, and none twice";
  const LossAccount account = run.view->losses();
  EXPECT_EQ(account.stored, rows.size());
  EXPECT_EQ(account.logged, logged);
  EXPECT_EQ(account.dropped, logged - rows.size());
  EXPECT_EQ(sandbox.journal_folders().size(), 1u);
  EXPECT_THAT(sandbox.journal_folders().at(0), ::testing::HasSubstr("/damaged-"));
  EXPECT_THAT(recover_and_read(sandbox.store()).problems, ::testing::IsEmpty()) << "said once";
  return account.dropped;
}

// Stored samples were counted in place of lost points, so too few were counted.
TEST(DamagedSpillOfSampledRunTest, WhatIsLostIsCountedBesideSamplesOfTheSystem) {
  Sandbox sandbox;
  const uint64_t logged = make_dead_run_that_spilled(sandbox, 0.1);
  ASSERT_FALSE(HasFailure());
  remove_file(spill_of(sandbox));
  EXPECT_GT(lost_after_recovery(sandbox, logged), 0u);
  const ReadRun run = recover_and_read(sandbox.store());
  uint64_t samples = 0;
  for (const WriterSnapshot& writer : run.view->writers())
    for (const SeriesStats& series : writer.series) samples += series.def.name == "x" ? 0 : series.points;
  EXPECT_GT(samples, 0u);
}

struct SpillDamage {
  const char* name;
  std::function<void(const std::string& path)> harm;
  bool most;  // most of what was spilled is lost
};

class DamagedSpillTest : public ::testing::TestWithParam<SpillDamage> {};

// In each of these cases "Nothing lost" was reported, or the ring was removed with its content.
// Promise P5: Damage or loss of the spill file is reported, and the missing points are counted.
TEST_P(DamagedSpillTest, WhatIsSoundIsRecoveredAndTheRestCounted) {
  Sandbox sandbox;
  const uint64_t logged = make_dead_run_that_spilled(sandbox);
  ASSERT_FALSE(HasFailure());
  GetParam().harm(spill_of(sandbox));
  ASSERT_FALSE(HasFailure());
  const uint64_t lost = lost_after_recovery(sandbox, logged);
  EXPECT_GT(lost, 0u);
  EXPECT_TRUE(GetParam().most || lost < logged / 2) << lost;
}

INSTANTIATE_TEST_SUITE_P(
    Of, DamagedSpillTest,
    ::testing::Values(
        SpillDamage{"first_record", [](const std::string& path) { flip_byte(path, 20); }, false},
        SpillDamage{"a_record_in_the_middle", [](const std::string& path) { flip_byte(path, 800'000); }, false},
        SpillDamage{"two_records",
                    [](const std::string& path) {
                      flip_byte(path, 300'000);
                      flip_byte(path, 1'000'000);
                    },
                    false},
        SpillDamage{"cut", [](const std::string& path) { ASSERT_EQ(::truncate(path.c_str(), 700'000), 0); }, true},
        SpillDamage{"gone", [](const std::string& path) { remove_file(path); }, true},
        SpillDamage{"fifo",
                    [](const std::string& path) {
                      remove_file(path);
                      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
                    },
                    true},
        SpillDamage{"folder",
                    [](const std::string& path) {
                      remove_file(path);
                      ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
                    },
                    true}),
    [](const auto& test) { return std::string(test.param.name); });

// The numbers in between would have to be filled.
TEST(SpillGapTest, AFrameThatIsTooFarAheadIsNotTaken) {
  Sandbox sandbox;
  const uint64_t logged = make_dead_run_that_spilled(sandbox);
  ASSERT_FALSE(HasFailure());
  const std::string dir = sandbox.journal_folders().at(0);
  const WriterIdentity writer = read_definitions(dir)->identity;
  uint64_t nonce = 0;
  std::memcpy(&nonce, writer.writer.bytes.data(), sizeof nonce);
  SpillFile alone(dir, nonce);  // in the place of what is there
  ASSERT_TRUE(alone.append(record_of(test_frame(writer, 2 * kSpillGapFramesMax)), 1u << 20));
  EXPECT_GT(lost_after_recovery(sandbox, logged), 0u);
}

// An earlier recoverer that read rings has used the numbers of frames after the damage: those would overwrite what the
// rings have, which is complete.
TEST(SpillNumberTest, BehindDamageAFrameWhoseNumberIsTakenDoesNotComeBeforeTheRings) {
  Sandbox sandbox;
  constexpr uint64_t kLogged = 600;
  const int status = run_child([&] {
    InitOptions options;
    options.project = "p";
    options.id = "r";
    options.quiet = true;
    auto run = Run::init(options);
    CHILD_CHECK(run.ok());
    const uint32_t id = (*run)->series_id("x", ValueType::kInt64);
    for (uint64_t i = 0; i < kLogged; ++i) {
      if (i == kStoredPoints) {
        CHILD_CHECK((*run)->flush(std::chrono::seconds(10)));
        g_commits_held = true;
        (*run)->set_pause_for_testing(nullptr, wait_while_commits_are_held);
      }
      const ValuePair pair{i, id, 0};
      CHILD_CHECK(log_pairs((*run)->hot(), &pair, 1, static_cast<int64_t>(i)) == Code::kOk);
    }
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
  const std::string dir = sandbox.journal_folders().at(0);
  const WriterIdentity writer = read_definitions(dir)->identity;
  std::vector<RingPosition> ends;
  const auto names = list_dir(dir);
  ASSERT_TRUE(names.ok());
  for (const std::string& name : *names) {
    if (!name.starts_with("ring-")) continue;
    const auto page = read_file(join_path(dir, name), kRingFileBytesMax);
    ASSERT_TRUE(page.ok());
    RingPosition end;
    std::memcpy(&end.nonce, page->data() + offsetof(RingHeader, nonce), sizeof end.nonce);
    std::memcpy(&end.position, page->data() + offsetof(RingHeader, tail), sizeof end.position);
    ends.push_back(end);
  }
  uint64_t nonce = 0;
  std::memcpy(&nonce, writer.writer.bytes.data(), sizeof nonce);
  SpillFile spill(dir, nonce);
  const std::string path = join_path(dir, "spill");
  ASSERT_TRUE(spill.append(record_of(test_frame(writer, 1), ends), 1u << 20));
  ASSERT_TRUE(spill.append(record_of(test_frame(writer, 1), ends), 1u << 20));
  flip_byte(path, 20);
  EXPECT_THAT(recover_and_read(sandbox.store()).problems, ::testing::Contains(::testing::HasSubstr("is kept in")));
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_EQ(rows_of(run, "x").size(), kLogged);
  EXPECT_EQ(run.view->losses().dropped, 0u);
}

}  // namespace
}  // namespace tracker::internal
