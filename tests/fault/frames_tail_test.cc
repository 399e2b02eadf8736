// SPDX-License-Identifier: MIT
// Goal: what lies behind the last sound record of a dead run's .frames file is cut off where a death left it, and is
// kept and named where a whole record has been damaged since. Method: a child fsyncs two large records and is killed;
// the file is cut, zeroed by sectors or has bits flipped, with and without its journal, in its store and in a copy.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "storage/frames/database_build.h"
#include "storage/frames/frames_format.h"
#include "storage/frames/frames_log.h"
#include "storage/frames/frames_tail.h"
#include "storage/recovery/damaged_database.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/sandbox.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

constexpr int64_t kFirst = 3000, kAll = 5000;

// The bug: an exception out of readers, where a recoverer or the writer cut the file meanwhile.
TEST(FramesTailCutTest, AFileThatIsCutWhileItsTailIsJudgedHasNone) {
  const TempFolder folder;
  const std::string path = folder.path() + "/file";
  const std::string header = frames_header(Id128::random());
  ASSERT_TRUE(write_file_atomic(path, header).ok());
  const auto fd = open_file(path, O_RDONLY);
  ASSERT_TRUE(fd.ok());
  for (uint64_t more = 0; more < 2 * kFramesHeadBytes; ++more) {  // that it had when its length was asked for
    FileBytes bytes(fd->get(), header.size() + more);
    const auto tail = judge_tail(bytes, header.size());
    ASSERT_TRUE(tail.ok()) << more;
    EXPECT_NE(*tail, FramesTail::kDamaged) << more;
  }
}

class FramesTailTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TRACKER_STORE_FILES", "frames", 1);
    ASSERT_EQ(
        exit_code_of(run_child([] {
          trk_run* run = open_run("r", "block");
          CHILD_CHECK(run != nullptr);
          for (int64_t step = 0; step < kAll; ++step) {
            CHILD_CHECK(trk_log_f64(run, "x", TRK_NUL_TERMINATED, 1.0 / static_cast<double>(step + 1), step) == TRK_OK);
            if (step + 1 == kFirst || step + 1 == kAll) CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
          }
          ::raise(SIGKILL);
          return 0;
        })),
        -1 - SIGKILL);
    sound_ = read_file(frames(), 64u << 20).value_or("");
    ASSERT_GT(sound_.size(), 20'000u);
    MemoryBytes bytes(sound_);
    FramesVisitor visitor;
    visitor.entry = [this](const FramesEntry& entry) {
      if (entry.kind == FramesKind::kFrame) last_ = entry.offset;
      behind_last_ = entry.offset + kFramesHeadBytes + entry.body.size();
      return Status();
    };
    auto input = open_frames(frames(), O_RDONLY);
    ASSERT_TRUE(input.ok());
    ASSERT_TRUE(scan_frames(bytes, input->writer, kFramesHeaderBytes, visitor).ok());
    // A sign of life behind it would make damage in front of a sound record of what is done to the last frame.
    sound_.resize(sound_.size() - (behind_last_ - last_end()));
    write(sound_);
  }
  void TearDown() override { ::unsetenv("TRACKER_STORE_FILES"); }

  size_t last_end() const {
    uint32_t body = 0;
    std::memcpy(&body, sound_.data() + last_ + 8, sizeof body);
    return last_ + kFramesHeadBytes + body;
  }
  std::string folder() const { return sandbox_.store() + "/runs/p/r"; }
  std::string frames() const {
    for (const std::string& name : list_dir(folder()).value_or({}))
      if (name.ends_with(".frames")) return join_path(folder(), name);
    return "";
  }
  void write(const std::string& bytes) const { std::ofstream(frames(), std::ios::binary | std::ios::trunc) << bytes; }
  std::string flipped() const {
    std::string bytes = sound_;
    bytes[bytes.size() - 200] ^= 16;
    return bytes;
  }
  void lose_journals() const {
    for (const std::string& dir : sandbox_.journal_folders()) std::filesystem::remove_all(dir);
  }
  void build() const { build_ended_frames(Store::open(sandbox_.store())->list_runs().at(0).path); }
  static std::vector<std::string> kinds(const std::string& store) {
    std::vector<std::string> out;
    const auto report = verify_store(store, {});
    if (!report.ok()) return {report.status().to_string()};
    for (const Finding& finding : report->findings)
      if (finding.level == FindingLevel::kDamage) out.push_back(finding.kind);
    return out;
  }

  Sandbox sandbox_;
  std::string sound_;
  uint64_t last_ = 0, behind_last_ = 0;
};

// Bug: with the journal gone, as after a reboot, one flipped bit in the last record took it: the rest became a
// database, the file was deleted, with exit code 0 and without a word.
TEST_F(FramesTailTest, AWholeRecordThatDoesNotVerifyIsKeptAsideAndNamed) {
  write(flipped());
  lose_journals();
  EXPECT_THAT(kinds(sandbox_.store()), ::testing::ElementsAre("frames-file"));
  {
    ReadRun run = recover_and_read(sandbox_.store());
    EXPECT_THAT(run.problems, ::testing::ElementsAre(::testing::HasSubstr("do not verify")));
    EXPECT_EQ(run.view->problem_code(), Code::kCorrupt);
    EXPECT_EQ(run.view->losses().missing_journals, 1u);
  }
  const std::string before = frames();
  for (int time = 0; time < 2; ++time) {
    build();
    EXPECT_EQ(frames(), "");
    const std::vector<std::string> aside = databases_set_aside(folder());
    ASSERT_EQ(aside.size(), 1u);
    EXPECT_THAT(aside[0], ::testing::StartsWith(before + ".damaged-"));
    EXPECT_EQ(read_file(aside[0], 64u << 20).value_or(""), flipped());
    ReadRun run = recover_and_read(sandbox_.store());
    EXPECT_THAT(run.problems, ::testing::ElementsAre(::testing::HasSubstr(".frames.damaged-")));
    EXPECT_EQ(run.view->problem_code(), Code::kCorrupt);
    EXPECT_EQ(static_cast<int64_t>(run.view->points()), kFirst);
    EXPECT_EQ(run.view->losses().missing_journals, 1u);
    EXPECT_THAT(kinds(sandbox_.store()), ::testing::ElementsAre("set-aside"));
    std::ofstream(before, std::ios::binary) << flipped();  // as a builder leaves it that dies before its unlink
  }
}

TEST_F(FramesTailTest, WhatTheJournalHoldsIsStoredAndTheDamagedFileIsKeptAllTheSame) {
  write(flipped());
  EXPECT_THAT(kinds(sandbox_.store()), ::testing::ElementsAre("frames-file"));
  ReadRun run = recover_and_read(sandbox_.store());
  EXPECT_THAT(run.problems, ::testing::Contains(::testing::HasSubstr("do not verify")));
  EXPECT_EQ(static_cast<int64_t>(run.view->points()), kAll);
  EXPECT_EQ(run.view->losses().dropped, 0u);
  ASSERT_EQ(databases_set_aside(folder()).size(), 1u);
  EXPECT_EQ(read_file(databases_set_aside(folder())[0], 64u << 20).value_or(""), flipped());
  EXPECT_THAT(kinds(sandbox_.store()), ::testing::ElementsAre("set-aside"));
}

TEST_F(FramesTailTest, WhatADeathLeavesIsCutOffWithoutAWord) {
  lose_journals();
  std::vector<std::string> ends;
  for (const size_t cut :
       {size_t{1}, size_t{200}, kTornSectorBytes, sound_.size() - last_ - 20, sound_.size() - last_ - 3})
    ends.push_back(sound_.substr(0, sound_.size() - cut));
  ends.push_back(sound_ + std::string(1, '\0'));
  ends.push_back(sound_ + std::string(5000, '\0'));
  for (uint64_t at = last_; at < sound_.size(); at = (at / kTornSectorBytes + 1) * kTornSectorBytes) {
    ends.push_back(sound_);
    for (uint64_t i = at; i < std::min<uint64_t>(sound_.size(), (at / kTornSectorBytes + 1) * kTornSectorBytes); ++i)
      ends.back()[i] = '\0';
  }
  ends.push_back(sound_.substr(0, last_) + std::string(sound_.size() - last_, '\0'));
  for (const std::string& bytes : ends) {
    write(bytes);
    const auto store = Store::open(sandbox_.store());
    auto view = RunView::open(store->list_runs().at(0));
    ASSERT_TRUE(view.ok());
    EXPECT_THAT((*view)->problems(), ::testing::IsEmpty());
    EXPECT_EQ(static_cast<int64_t>((*view)->points()), bytes.size() > sound_.size() ? kAll : kFirst);
  }
  build();
  EXPECT_EQ(frames(), "");
  EXPECT_THAT(databases_set_aside(folder()), ::testing::IsEmpty());
}

// Bug: in a copy verify said that the next `ls` recovers the end from the journal, which is the original's, and `show`
// that nothing is lost.
TEST_F(FramesTailTest, InACopyNobodyWaitsForTheJournalOfTheOriginal) {
  const std::string copy = sandbox_.folder() + "/copy";
  write(sound_.substr(0, sound_.size() - 200));
  std::filesystem::copy(sandbox_.store(), copy, std::filesystem::copy_options::recursive);
  EXPECT_THAT(kinds(copy), ::testing::ElementsAre("cut"));
  EXPECT_EQ(recover_and_read(copy).view->losses().missing_journals, 1u);
  EXPECT_THAT(kinds(sandbox_.store()), ::testing::IsEmpty()) << "recovery has all of it";
  EXPECT_EQ(static_cast<int64_t>(recover_and_read(sandbox_.store()).view->points()), kAll);
}

// Of any bit of the record, and of any length that is missing.
TEST_F(FramesTailTest, AnyFlippedBitIsDamageAndAnyCutIsNone) {
  for (uint64_t bit = last_ * 8; bit < sound_.size() * 8; bit += bit < (last_ + 20) * 8 ? 1 : 977) {
    std::string bytes = sound_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    MemoryBytes memory(bytes);
    ASSERT_EQ(*judge_tail(memory, last_), FramesTail::kDamaged) << bit;
  }
  for (uint64_t size = last_; size < sound_.size(); size += size < last_ + 50 ? 1 : 37) {
    MemoryBytes memory(std::string_view(sound_).substr(0, size));
    ASSERT_EQ(*judge_tail(memory, last_), size == last_ ? FramesTail::kNone : FramesTail::kUnfinished) << size;
  }
}

}  // namespace
}  // namespace tracker::internal
