// SPDX-License-Identifier: MIT
// Goal: `tracker show` is a whole and true page about one run.
// Method: whole outputs compared, on stores with fixed times.
#include <cmath>

#include "model/value.h"
#include "storage/frames/frames_file.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

class ShowCommandTest : public CliTest {
 protected:
  void write_run() {
    const RunFolder folder = builder_.run("mnist", "otter");
    auto first = builder_.writer(folder, {.attempt = 1});
    first.set(
        EventType::kConfig, "",
        Value::Map{
            {"lr", 0.1}, {"optimizer", Value::Map{{"name", "adam"}, {"betas", Value::List{0.9, 0.999}}}}, {"seed", 7}});
    first.set(EventType::kAttribute, "tags", Value::List{"baseline"});
    for (int step = 0; step < 100; ++step) first.log("train/loss", step, 2.5 * std::exp(-step / 25.0));
    first.note(Value::Map{{"kind", "recovered"}, {"points", 34}}).finish();
    auto second = builder_.writer(folder, {.attempt = 2, .started_us = kBuilderStartUs + 200 * kSecondUs});
    for (int step = 80; step < 160; ++step)
      second.log("train/loss", step, step == 120 ? NAN : 2.5 * std::exp(-step / 25.0));
    second.log_bits("epoch", ValueType::kInt64, 100, bits_of(int64_t{3})).text("sample", 5, "hello");
    second.set(EventType::kSummary, "best_acc", 0.98).lose("train/loss", LossReason::kRingFull, 214);
    second.end(RunState::kFinished, 0, "", kBuilderStartUs + 300 * kSecondUs).finish();
  }
};

TEST_F(ShowCommandTest, APageShowsEverythingAboutARun) {
  write_run();
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk);
  EXPECT_EQ(masked(out_), R"(mnist/otter  finished
  created   2023-11-14 22:13:20 UTC (2 h ago)
  ended     2023-11-14 22:18:20 UTC
  duration  5 min 0 s
  tags      ["baseline"]
  uid       f109db1fce8fbd69d6675ea54fe1b3ad
  folder    STORE/runs/mnist/otter

Config
  lr    0.1
  optimizer
    name   adam
    betas  [0.9,0.999]
  seed  7

Summary
  best_acc  0.98

Metrics
  METRIC      COUNT       LAST        MIN  MAX  NAN  LOST
  epoch           1          3          3    3             ⠄
  train/loss    180  0.0043234  0.0043234  2.5    1   214  ⠑⠲⠤⠤⢄⣀⣀⣀⣀⣀⣀⣀×⣀⣀⣀

Texts
  TEXT    ROWS  LAST
  sample     1  hello

Account
  214 points lost: ring full. 181 stored of 395 logged.
  1 text stored.
  34 points recovered from the journal: their process ended before they were stored.

Writers
  attempt 1, rank 0 of 1: crashed, 100 points, testhost pid 4242
    shm journal: survives the process; container lost: ≤ 100 ms, power: ≤ 1 s
  attempt 2, rank 0 of 1: finished, 81 points, testhost pid 4242
    shm journal: survives the process; container lost: ≤ 100 ms, power: ≤ 1 s
)");
  EXPECT_EQ(err_, "");
}

TEST_F(ShowCommandTest, ChartsAreDrawnForTheFirstMetrics) {
  write_run();
  EXPECT_EQ(run({"show", "otter", "--plot", "2"}), kExitOk);
  EXPECT_NE(out_.find("\nepoch  1 point\n"), std::string::npos) << out_;
  const size_t begin = out_.find("\ntrain/loss  180 points");
  ASSERT_NE(begin, std::string::npos) << out_;
  EXPECT_EQ(out_.substr(begin, out_.find("\nAccount") - begin), R"(
train/loss  180 points, 1 × NaN
      2.5 ┤⢇
          │ ⠱⡀
          │  ⠈⡆
          │   ⠈⠢⡀
          │     ⠈⠢⡀
          │       ⠈⠢⢄
          │          ⠑⠢⢄⡀
          │             ⠉⠒⠢⣄⣀
          │                  ⠉⠑⠒⠤⠤⣄⣀⣀
0.0043234 ┤                          ⠉⠉⠉⠙⠒⠒⠒⠒⠒⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀
          └─────────────────────────────────────────────────────────────────────
                                                               ×
           step 0                                                            159
)");
  EXPECT_EQ(run({"show", "otter", "--plot", "1"}), kExitOk);
  EXPECT_EQ(out_.find("\ntrain/loss  180 points"), std::string::npos);
}

TEST_F(ShowCommandTest, AnUnknownRunIsAnErrorThatNamesCloseOnes) {
  write_run();
  EXPECT_EQ(run({"show", "mnist/oter"}), kExitFailed);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(masked(err_),
            "tracker: no run \"mnist/oter\" in STORE; did you mean mnist/otter? (`tracker ls` lists all runs)\n");
}

TEST_F(ShowCommandTest, JsonHoldsEverythingThePageShows) {
  write_run();
  EXPECT_EQ(run({"show", "otter", "--json"}), kExitOk);
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok()) << out_;
  EXPECT_EQ(document->text_or("state", ""), "finished");
  EXPECT_EQ(to_json(*document->find("config")),
            R"({"lr":0.1,"optimizer":{"name":"adam","betas":[0.9,0.999]},"seed":7})");
  EXPECT_EQ(document->find("losses")->int_or("dropped", 0), 214);
  EXPECT_EQ(document->find("losses")->int_or("recovered", 0), 34);
  EXPECT_EQ(document->find("writers")->as_list()->size(), 2u);
  const Value::List& metrics = *document->find("metrics")->as_list();
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[1].int_or("points", 0), 180);
  EXPECT_EQ(metrics[1].int_or("nan", 0), 1);
  EXPECT_EQ(metrics[1].int_or("step_max", 0), 159);
}

TEST_F(ShowCommandTest, ARunFromThePastBootHasCrashedAndSaysThatItsJournalIsGone) {
  auto writer = builder_.writer(builder_.run("mnist", "otter"), {.host = this_process().host});
  writer.log("loss", 0, 1).commit();
  EXPECT_EQ(run({"show", "otter"}), kExitOk);
  EXPECT_EQ(out_.substr(0, out_.find('\n')), "mnist/otter  crashed");
  EXPECT_EQ(out_.find("Nothing lost"), std::string::npos);
  EXPECT_NE(
      out_.find("  1 point stored.\n  What a process logged after the last commit is not known: its journal is not "
                "here.\n"),
      std::string::npos)
      << out_;
}

TEST_F(ShowCommandTest, ADamagedDatabaseIsNamedAndTheRestIsShown) {
  write_run();
  auto broken = builder_.writer(*builder_.store().find_run("mnist", "otter"), {.attempt = 3});
  broken.log("loss", 0, 1).finish();
  overwrite_start(broken.path(), "rubbish rubbish rubbish rubbish");
  EXPECT_EQ(run({"show", "otter"}), kExitDamaged);
  EXPECT_NE(out_.find("train/loss"), std::string::npos);
  EXPECT_NE(err_.find(broken.path()), std::string::npos);
}

TEST_F(ShowCommandTest, WhatARunIsWrittenAsAndWhatThatSurvivesIsSaid) {
  const RunFolder folder = builder_.run("mnist", "otter");
  WriterIdentity identity = builder_.writer(builder_.run("mnist", "other")).identity();
  identity.writer = Id128::random();
  identity.run = folder.identity;
  identity.files = "frames";
  identity.file_system = "FUSE";
  auto file = FramesFile::open_or_create(folder.path, identity);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk);
  EXPECT_NE(out_.find("store files: a .frames file, a database when it has ended, on FUSE\n"), std::string::npos)
      << out_;
  EXPECT_NE(out_.find("container lost: ≤ 1 s"), std::string::npos) << out_;
  ASSERT_TRUE((*file)->finish().ok());
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk);
  EXPECT_NE(out_.find("store files: a database, written as a .frames file while it ran, on FUSE\n"), std::string::npos)
      << out_;
  EXPECT_EQ(run({"show", "mnist/otter", "--json"}), kExitOk);
  EXPECT_NE(out_.find("\"written_as\": \"frames\""), std::string::npos) << out_;
}

TEST_F(ShowCommandTest, AResumedRunSaysWhichAttemptContinuesWhich) {
  const RunFolder folder = builder_.run("mnist", "otter");
  auto first = builder_.writer(folder);
  for (int step = 0; step < 10; ++step) first.log("loss", step, step);
  first.finish();
  builder_.writer(folder, {.attempt = 2, .continues = 1, .resume_step = 5}).log("other", 6, 1).finish();
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk);
  EXPECT_NE(out_.find("\nAttempts\n  attempt 1 shown up to step 5\n  attempt 2 continues attempt 1 at step 5\n"),
            std::string::npos)
      << out_;
  EXPECT_NE(out_.find("loss       10     5"), std::string::npos) << "the last value shown\n" << out_;
  EXPECT_EQ(run({"show", "mnist/otter", "--json"}), kExitOk);
  const auto json = from_json(out_);
  ASSERT_TRUE(json.ok());
  const Value& attempt = (*json->find("attempts")->as_list())[1];
  EXPECT_EQ(to_json(*attempt.find("resume_step")), "5");
  EXPECT_EQ(to_json(*attempt.find("continues")), "1");
  builder_.writer(folder, {.attempt = 3, .continues = 2}).log("other", 9, 1).finish();
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk);
  EXPECT_NE(out_.find("\n  attempt 3 shown as a whole\n"), std::string::npos) << out_;
}

// Bug: the last of no rows was shown, which ended the program.
TEST_F(ShowCommandTest, TextsThatAResumeTookBackHaveNoLastOne) {
  const RunFolder folder = builder_.run("mnist", "otter");
  builder_.writer(folder).log("loss", 1, 1).text("note", 7, "taken back").finish();
  builder_.writer(folder, {.attempt = 2, .continues = 1, .resume_step = 5}).log("loss", 6, 1).finish();
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk) << err_;
  EXPECT_NE(out_.find("note     0"), std::string::npos) << out_;
  EXPECT_EQ(run({"show", "mnist/otter", "--json"}), kExitOk) << err_;
  const auto json = from_json(out_);
  ASSERT_TRUE(json.ok());
  const Value& text = json->find("texts")->as_list()->front();
  EXPECT_EQ(to_json(*text.find("last")), "null");
  EXPECT_EQ(text.int_or("rows", -1), 0);
}

TEST_F(ShowCommandTest, ARunOfSeveralRanksSaysWhereEachWasLastSeen) {
  const RunFolder folder = builder_.run("mnist", "otter");
  for (const int64_t rank : {0, 37}) {
    auto writer = builder_.writer(folder, {.rank = rank, .world_size = 64});
    writer.log("loss", rank == 0 ? 912 : 812, 1).end(RunState::kFinished).finish();
  }
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk);
  EXPECT_NE(out_.find("\nRanks\n  RANK  STATE     LAST STEP  LOGGED"), std::string::npos) << out_;
  EXPECT_NE(out_.find("  rank 37 last logged step 812, 100 behind rank 0\n"), std::string::npos) << out_;
  EXPECT_EQ(run({"show", "mnist/otter", "--json"}), kExitOk);
  const auto json = from_json(out_);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(to_json(*(*json->find("ranks")->as_list())[1].find("last_step")), "812");
}

TEST_F(ShowCommandTest, LossesSaysMetricByMetricWhereThePointsAre) {
  const RunFolder folder = builder_.run("mnist", "otter");
  auto writer = builder_.writer(folder);
  writer.log("loss", 0, 1).log("acc", 0, 1).lose("loss", LossReason::kRingFull, 4).lose("loss", LossReason::kDisk, 2);
  writer.finish();
  EXPECT_EQ(run({"show", "mnist/otter", "--losses"}), kExitOk);
  EXPECT_NE(out_.find(R"(
Losses
  METRIC  LOGGED  STORED  LOST  WHY
  acc          1       1
  loss         7       1     6  4 ring full, 2 store not writable
)"),
            std::string::npos)
      << out_;
  EXPECT_NE(out_.find("6 points lost"), std::string::npos);
  EXPECT_EQ(run({"show", "mnist/otter", "--json"}), kExitOk);
  const auto json = from_json(out_);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(to_json(*json->find("losses")->find("by_metric")),
            R"([{"metric":"loss","logged":7,"stored":1,"dropped":6,"pending":0,)"
            R"("dropped_by_reason":{"ring full":4,"store not writable":2}}])");
}

// Bug: the samples of all ranks were one row, and nothing said so.
TEST_F(ShowCommandTest, TheSystemsSeriesOfEachRankIsARowOfItsOwn) {
  const RunFolder folder = builder_.run("mnist", "otter");
  for (const int64_t rank : {0, 1}) {
    auto writer = builder_.writer(folder, {.rank = rank, .world_size = 2});
    for (const double used : {10.0, 20.0})
      writer.log("system/cpu.percent", std::nullopt, used + static_cast<double>(rank));
    writer.log("loss", 0, 1).end(RunState::kFinished).finish();
  }
  EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk);
  EXPECT_NE(out_.find("\nSystem\n  SERIES       RANK  COUNT  LAST  MIN  MAX\n"
                      "  cpu.percent     0      2    20   10   20  "),
            std::string::npos)
      << out_;
  EXPECT_NE(out_.find("\n  cpu.percent     1      2    21   11   21  "), std::string::npos) << out_;
}

// Bug: the end of what the tracker had cost was cut off, at the width of the terminal.
TEST_F(ShowCommandTest, ASentenceThatIsWiderThanTheTerminalGoesOnInTheNextLine) {
  auto writer = builder_.writer(builder_.run("mnist", "otter"));
  writer.log("loss", 0, 1).end(RunState::kFinished).finish();
  console_.width = 40;
  EXPECT_EQ(run({"show", "otter"}), kExitOk);
  EXPECT_NE(out_.find("  attempt 1, rank 0 of 1: finished, 1\n    point, testhost pid 4242\n"), std::string::npos)
      << out_;
  EXPECT_EQ(out_.find("…", out_.find("\nWriters")), std::string::npos) << out_;
}

}  // namespace
}  // namespace tracker::internal
