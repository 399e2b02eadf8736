// SPDX-License-Identifier: MIT
// Goal: gc makes segments of what an ended run left in frames, loses nothing by it wherever it is killed, and leaves
// alone what is not at rest. Method: runs whose end compacts nothing; what readers see before and after.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "base/fs.h"
#include "storage/compact_ended.h"
#include "storage/compaction.h"
#include "storage/sqlite.h"
#include "support/kill_at_call.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

constexpr int kFrames = 40;
constexpr int kRows = static_cast<int>(kEndedFramePointsMin) / 2 / kFrames + 1;

class GcCompactTest : public CliTest {
 protected:
  GcCompactTest() { set_compact_at_end_for_testing(0); }
  ~GcCompactTest() override { set_compact_at_end_for_testing(kCompactAtEndNs); }

  std::string burst(const std::string& id, int frames = kFrames) {
    run_.emplace(builder_.run("mnist", id));
    WriterBuilder writer = builder_.writer(*run_);
    for (int frame = 0; frame < frames; ++frame) {
      for (int row = 0; row < kRows; ++row) {
        const int step = frame * kRows + row;
        writer.log("loss", step, 1.0 / (step + 1)).log("noise", step, step * 7919 % 104729);
      }
      writer.text("note", frame * kRows, "frame " + std::to_string(frame)).commit();
    }
    writer.end(RunState::kFinished).finish();
    return writer.path();
  }
  CompactEndedReport compact_now() { return compact_ended(builder_.store(), *run_, false, console_.now_us); }
  static int64_t number(const std::string& path, const char* sql) {
    auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
    return db.ok() ? db->query_int(sql).value_or(-1) : -1;
  }
  static int64_t points_in_frames(const std::string& path) {
    return number(path, "SELECT coalesce(sum(points), 0) FROM frames");
  }
  // Every row that readers see.
  std::string exported(const std::string& id) {
    EXPECT_EQ(run({"export", id, "--format", "jsonl"}), kExitOk) << err_;
    return out_;
  }
  static std::set<std::string> files(const std::string& folder) {
    std::set<std::string> out;
    for (const auto& file : std::filesystem::directory_iterator(folder)) out.insert(file.path().filename());
    return out;
  }

  std::optional<RunFolder> run_;  // of the last burst
};

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
  const std::string path = burst("heron", kFrames / 2);
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

// What is spooled is added to the database once it is encoded, by whoever that does.
TEST_F(GcCompactTest, ARunWhoseMediaWaitToBeEncodedStaysAsItIs) {
  burst("otter");
  const std::string spooled = run_->path + "/media/spool-" + std::string(32, '1') + "-" + std::string(16, '2');
  std::filesystem::create_directory(run_->path + "/media");
  std::ofstream(spooled) << "x";
  EXPECT_TRUE(compact_now().compacted.empty());
  std::filesystem::remove(spooled);
  EXPECT_EQ(compact_now().compacted.size(), 1u);
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
