// SPDX-License-Identifier: MIT
// Goal: tail shows the last rows of a run, follows it to its end, each row once, and says what it was asked for.
// Method: runs made by hand; a second thread writes while one is followed.
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "model/value.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

class TailCommandTest : public CliTest {
 protected:
  // 100 frames of a row each, then 20 rows more in one.
  void write_run() {
    auto writer = builder_.writer(builder_.run("mnist", "otter"));
    for (int i = 0; i < 100; ++i) writer.log("loss", i, 0.5 + i).commit();
    for (int i = 100; i < 120; ++i) writer.log("loss", i, 0.5 + i);
    writer.end(RunState::kFinished).finish();
  }
  size_t lines() const { return static_cast<size_t>(std::count(out_.begin(), out_.end(), '\n')); }
};

TEST_F(TailCommandTest, TheLastTenRowsAreShownEachOnALine) {
  write_run();
  EXPECT_EQ(run({"tail", "otter"}), kExitOk) << err_;
  EXPECT_EQ(lines(), 10u) << out_;
  EXPECT_EQ(out_.substr(0, out_.find('\n')), "2023-11-14 22:15:11 UTC  step 110  loss 110.5");
  EXPECT_EQ(err_, "");
}

TEST_F(TailCommandTest, AnyNumberOfLastRowsCanBeHad) {
  write_run();
  for (const size_t count : {0, 1, 19, 20, 21, 57, 119, 120, 5000}) {
    EXPECT_EQ(run({"tail", "otter", "-n", std::to_string(count)}), kExitOk) << err_;
    EXPECT_EQ(lines(), std::min<size_t>(count, 120)) << out_;
    EXPECT_EQ(out_.find("step 119  loss 119.5\n") != std::string::npos, count > 0) << out_;
  }
  EXPECT_EQ(run({"tail", "otter", "-n", "-1"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: --rows -1: expected a whole number from 0\n");
}

TEST_F(TailCommandTest, RowsSinceATimeAreAllShown) {
  write_run();
  console_.now_us = kBuilderStartUs + 120 * kSecondUs;
  EXPECT_EQ(run({"tail", "otter", "--since", "30s"}), kExitOk) << err_;
  EXPECT_EQ(lines(), 31u) << out_;
  EXPECT_EQ(run({"tail", "otter", "--since", "now-30s", "-n", "3"}), kExitOk) << err_;
  EXPECT_EQ(lines(), 3u) << out_;
  EXPECT_EQ(run({"tail", "otter", "--since", "2023-11-14"}), kExitOk) << err_;
  EXPECT_EQ(lines(), 120u) << out_;
  EXPECT_EQ(run({"tail", "otter", "--since", "2030-01-01"}), kExitOk) << err_;
  EXPECT_EQ(lines(), 0u) << out_;
  for (const char* wrong : {"yesterday", "5", "now-5m or state = failed"})
    EXPECT_EQ(run({"tail", "otter", "--since", wrong}), kExitUsage) << wrong << out_;
}

TEST_F(TailCommandTest, WhatOneCallLoggedStandsOnOneLine) {
  auto writer = builder_.writer(builder_.run("mnist", "otter"));
  const int64_t at = kBuilderStartUs + 5 * kSecondUs;
  writer.log("loss", 1, 0.5, at).log("acc", 1, 0.9, at).log("lr", std::nullopt, 0.1, at).commit();
  writer.end(RunState::kFinished).finish();
  EXPECT_EQ(run({"tail", "otter"}), kExitOk);
  EXPECT_EQ(out_, "2023-11-14 22:13:25 UTC  step 1  acc 0.9  loss 0.5\n2023-11-14 22:13:25 UTC  lr 0.1\n");
  EXPECT_EQ(run({"tail", "otter", "acc"}), kExitOk);
  EXPECT_EQ(out_, "2023-11-14 22:13:25 UTC  step 1  acc 0.9\n");
}

TEST_F(TailCommandTest, TextsAndSettingsComeWhenAskedFor) {
  auto writer = builder_.writer(builder_.run("mnist", "otter"));
  writer.set(EventType::kConfig, "lr", 0.1).log("loss", 1, 0.5).text("sample", 2, "a\x1b[31mcat\nsat");
  writer.set(EventType::kSummary, "best", 3).end(RunState::kFinished).finish();
  EXPECT_EQ(run({"tail", "otter"}), kExitOk);
  EXPECT_EQ(lines(), 1u) << out_;
  console_.width = 0;
  EXPECT_EQ(run({"tail", "otter", "--texts", "--config"}), kExitOk);
  EXPECT_EQ(out_.find('\x1b'), std::string::npos);
  EXPECT_NE(out_.find("  config  lr 0.1\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("  step 2  text  sample a"), std::string::npos) << out_;
  EXPECT_NE(out_.find("  summary  best 3\n"), std::string::npos) << out_;
  EXPECT_EQ(lines(), 4u) << out_;
  EXPECT_EQ(run({"tail", "otter", "--texts", "--json"}), kExitOk);
  const auto last = from_json(out_.substr(out_.find('\n') + 1));
  ASSERT_TRUE(last.ok()) << out_;
  EXPECT_EQ(last->find("text")->text_or("sample", ""), "a\x1b[31mcat\nsat");
}

TEST_F(TailCommandTest, JsonIsADocumentALineAndTheEndOne) {
  write_run();
  EXPECT_EQ(run({"tail", "otter", "-n", "1", "-f", "--json"}), kExitOk);
  const size_t end = out_.find('\n');
  const auto row = from_json(out_.substr(0, end));
  ASSERT_TRUE(row.ok()) << out_;
  EXPECT_EQ(row->int_or("step", -1), 119);
  EXPECT_EQ(*row->find("metrics")->find("loss"), Value(119.5));
  const auto last = from_json(out_.substr(end + 1));
  ASSERT_TRUE(last.ok()) << out_;
  EXPECT_EQ(last->text_or("state", ""), "finished");
}

TEST_F(TailCommandTest, AFollowedRunIsShownToItsEndEachRowOnce) {
  // A writer that readers take for live: out of sight, with a sign of life just now.
  BuilderOptions options;
  options.started_us = realtime_us();
  auto writer = builder_.writer(builder_.run("mnist", "otter", options.started_us), options);
  writer.log("loss", 0, 0.5).commit().heartbeat(realtime_us());
  std::thread trainer([&writer] {
    for (int i = 1; i < 40; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      writer.log("loss", i, 0.5 + i).commit();
    }
    writer.end(RunState::kFailed, 1, "ValueError").finish();
  });
  console_.width = 0;
  EXPECT_EQ(run({"tail", "otter", "loss", "soon", "-n", "100", "-f"}), kExitOk) << err_;
  trainer.join();
  EXPECT_EQ(lines(), 40u) << out_;
  for (int i = 0; i < 40; ++i)
    EXPECT_NE(out_.find("  step " + std::to_string(i) + "  loss"), std::string::npos) << i << out_;
  EXPECT_NE(err_.find("no metric \"soon\"; waiting for it"), std::string::npos) << err_;
  EXPECT_NE(err_.find("tracker: mnist/otter: failed, exit code 1: ValueError\n"), std::string::npos) << err_;
}

TEST_F(TailCommandTest, ARunThatIsCompactedWhileItIsFollowedIsShownFromItsLastRowsOnEachOnce) {
  BuilderOptions options;
  options.started_us = realtime_us();
  auto writer = builder_.writer(builder_.run("mnist", "otter", options.started_us), options);
  for (int i = 0; i < 100; ++i) writer.log("loss", i, 0.5 + i).text("note", i, "n").commit();
  writer.heartbeat(realtime_us());
  std::thread trainer([&writer] {
    for (int i = 100; i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      writer.log("loss", i, 0.5 + i).text("note", i, "n").commit();
      if (i % 40 == 39) writer.compact();
    }
    writer.end(RunState::kFinished).finish();
  });
  console_.width = 0;
  EXPECT_EQ(run({"tail", "otter", "-n", "10", "--texts", "-f"}), kExitOk) << err_;
  trainer.join();
  const auto count = [this](const std::string& text) {
    size_t found = 0;
    for (size_t at = out_.find(text); at != std::string::npos; at = out_.find(text, at + 1)) ++found;
    return found;
  };
  // Which rows are the last ones when it begins is a matter of the machine's load.
  const size_t at = out_.find("  step ");
  ASSERT_NE(at, std::string::npos);
  const int first = std::stoi(out_.substr(at + 7));
  EXPECT_LT(first, 190) << out_;
  EXPECT_LE(lines(), 210u) << out_;
  for (int i = first + 1; i < 200; ++i) {
    EXPECT_EQ(count("  step " + std::to_string(i) + "  loss"), 1u) << i << out_;
    EXPECT_EQ(count("  step " + std::to_string(i) + "  text"), 1u) << i << out_;
  }
}

TEST_F(TailCommandTest, TextsStandBetweenTheRowsAlsoWhereASegmentReachesFurtherBack) {
  auto writer = builder_.writer(builder_.run("mnist", "otter"));
  for (int i = 0; i < 100; ++i) writer.log("loss", i, 0.5 + i).text("note", i, "n").commit();
  writer.end(RunState::kFinished).finish();  // makes one segment
  EXPECT_EQ(run({"tail", "otter", "--texts", "-n", "80"}), kExitOk) << err_;
  EXPECT_EQ(lines(), 80u) << out_;
  for (int i = 60; i < 100; ++i)
    EXPECT_NE(out_.find("  step " + std::to_string(i) + "  text"), std::string::npos) << i << out_;
}

TEST_F(TailCommandTest, TheLastLinesOfSeveralRanksAreTheLastOfAll) {
  const RunFolder run_folder = builder_.run("mnist", "otter");
  for (const int rank : {0, 1}) {
    BuilderOptions options;
    options.rank = rank;
    options.world_size = 2;
    auto writer = builder_.writer(run_folder, options);
    for (int i = 0; i < 100; ++i)  // rank 1 is a hundred times as fast, and in the middle
      writer.log("loss", i, i, kBuilderStartUs + (rank == 0 ? i * kSecondUs : 50 * kSecondUs + i * kSecondUs / 100))
          .commit();
    writer.end(RunState::kFinished).finish();
  }
  EXPECT_EQ(run({"tail", "otter", "-n", "20"}), kExitOk) << err_;
  EXPECT_EQ(lines(), 20u) << out_;
  EXPECT_EQ(out_.find("rank 1"), std::string::npos) << out_;
}

TEST_F(TailCommandTest, AnUnknownMetricOfARunThatEndedIsAnError) {
  write_run();
  EXPECT_EQ(run({"tail", "otter", "lss", "-f"}), kExitFailed);
  EXPECT_NE(err_.find("no metric \"lss\"; did you mean loss?"), std::string::npos) << err_;
}

TEST_F(TailCommandTest, DamageIsNamedAndTheRestIsShown) {
  auto writer = builder_.writer(builder_.run("mnist", "otter"));
  writer.log("loss", 0, 0.5).commit();
  const std::string frame = writer.last_frame();
  writer.log("loss", 1, 0.25).end(RunState::kFinished).finish();
  damage_bytes(writer.path(), frame);
  EXPECT_EQ(run({"tail", "otter"}), kExitDamaged);
  EXPECT_NE(out_.find("loss 0.25"), std::string::npos) << out_;
  EXPECT_NE(err_.find("frame 1"), std::string::npos) << err_;
}

TEST_F(TailCommandTest, AReaderThatLeavesEndsIt) {
  write_run();
  out_limit_ = 10;
  EXPECT_EQ(run({"tail", "otter", "-n", "100", "-f"}), kExitOk);
  EXPECT_EQ(lines(), 1u);
}

}  // namespace
}  // namespace tracker::internal
