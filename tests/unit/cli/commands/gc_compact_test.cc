// SPDX-License-Identifier: MIT
// Goal: gc makes segments of what an ended run left in frames, loses nothing by it wherever it is killed, and leaves
// alone what is not at rest. Method: runs whose end compacts nothing; what readers see before and after.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "support/kill_at_call.h"
#include "unit/cli/gc_compact_fixture.h"

namespace tracker::internal {
namespace {

// Promise P3: `tracker gc` makes segments of the frames of an ended run; wherever it is killed or the disk refuses a
// write, the run is whole.
TEST_F(GcCompactTest, WhatABurstLeftInFramesBecomesSegmentsAndReadsTheSame) {
  const std::string path = burst("otter");
  ASSERT_GE(points_in_frames(path), static_cast<int64_t>(kEndedFramePointsMin));
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const std::string rows = exported("otter");
  const auto names = files(parent_path(path));

  EXPECT_EQ(run({"gc", "--dry-run"}), kExitOk) << err_;
  EXPECT_NE(out_.find("would compact mnist/otter"), std::string::npos) << out_;
  EXPECT_GE(points_in_frames(path), static_cast<int64_t>(kEndedFramePointsMin));

  EXPECT_EQ(run({"gc"}), kExitOk) << err_;
  EXPECT_EQ(out_.find("would"), std::string::npos) << out_;
  EXPECT_NE(out_.find("compacted mnist/otter  "), std::string::npos) << out_;
  EXPECT_LT(points_in_frames(path), static_cast<int64_t>(kEndedFramePointsMin));
  EXPECT_GT(number(path, "SELECT count(*) FROM levels"), 0);
  EXPECT_EQ(exported("otter"), rows);
  EXPECT_EQ(files(parent_path(path)), names);
  struct stat st{};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0640u);
  EXPECT_EQ(run({"verify"}), kExitOk) << out_ << err_;

  EXPECT_EQ(run({"gc", "--json"}), kExitOk) << err_;
  EXPECT_NE(out_.find("\"compacted\": []"), std::string::npos) << out_;
}

TEST_F(GcCompactTest, AShortRunStaysAsItIs) {
  const std::string path = burst("heron", kBurstFrames / 2);
  EXPECT_EQ(run({"gc"}), kExitOk) << err_;
  EXPECT_EQ(out_, "Nothing to remove.\n");
  EXPECT_EQ(number(path, "SELECT count(*) FROM segments"), 0);
}

// With its log there it is not at rest: who reads it next has to bring that in.
TEST_F(GcCompactTest, ADatabaseWithALogStaysAsItIs) {
  const std::string path = burst("lynx");
  std::ofstream(path + "-wal") << "";
  EXPECT_TRUE(compact_now().compacted.empty());
  EXPECT_EQ(number(path, "SELECT count(*) FROM segments"), 0);
  std::filesystem::remove(path + "-wal");
  EXPECT_EQ(compact_now().compacted.size(), 1u);
}

TEST_F(GcCompactTest, ARunThatIsWrittenStaysAsItIs) {
  const std::string path = burst("otter");
  BuilderOptions options;
  options.attempt = 2;
  options.started_us = console_.now_us - kSecondUs;
  WriterBuilder second = builder_.writer(*run_, options);
  second.log("loss", 1, 1).commit().heartbeat(console_.now_us - kSecondUs);
  EXPECT_TRUE(compact_now().compacted.empty());
  EXPECT_EQ(number(path, "SELECT count(*) FROM segments"), 0);
  second.end(RunState::kFinished).finish();
  EXPECT_EQ(compact_now().compacted.size(), 1u);
}

TEST_F(GcCompactTest, WhereTheDiskHasNoRoomForACopyTheRunStaysAsItIsAndThatIsSaid) {
  const std::string path = burst("otter");
  const uint64_t room = free_bytes(path).value_or(0);
  const CompactEndedReport none = compact_now(2 * room);  // others make room meanwhile
  EXPECT_TRUE(none.compacted.empty());
  ASSERT_EQ(none.problems.size(), 1u);
  EXPECT_NE(none.problems[0].find(path + " is not compacted: it takes "), std::string::npos) << none.problems[0];
  EXPECT_EQ(number(path, "SELECT count(*) FROM segments"), 0);
  EXPECT_EQ(compact_now(room / 2).compacted.size(), 1u);
  EXPECT_EQ(CompactEndedOptions{}.room_bytes, kCompactEndedRoomBytes);
}

TEST_F(GcCompactTest, KilledAtAnyCallItLeavesTheRunWholeAndTheNextOneCompactsIt) {
  const std::string path = burst("otter");
  const std::string rows = exported("otter");
  const std::string kept = path + ".kept";
  std::filesystem::copy_file(path, kept);
  const auto compact = [this] { return compact_now().compacted.size() == 1 ? 0 : 1; };
  int kills = 0;
  constexpr bool kSlow = kSlowDown > 1;  // each kill is checked by an export and a verification
  for (int at = 0; killed_at_call(at, compact); at += 1 + at / (kSlow ? 1 : 5), ++kills) {
    ASSERT_EQ(exported("otter"), rows) << "call " << at;
    ASSERT_EQ(run({"verify"}), kExitOk) << "call " << at << "\n" << out_ << err_;
    if (kills % 3 == 2) {
      run_child(compact);
      ASSERT_LT(points_in_frames(path), static_cast<int64_t>(kEndedFramePointsMin)) << "call " << at;
      ASSERT_EQ(exported("otter"), rows) << "call " << at;
    }
    std::filesystem::copy_file(kept, path, std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_GT(kills, kSlow ? 5 : 20);
}

}  // namespace
}  // namespace tracker::internal
