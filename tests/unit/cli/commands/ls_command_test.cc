// SPDX-License-Identifier: MIT
// Goal: `tracker ls` shows every run that can be read on one line, and names what cannot be.
// Method: whole outputs compared, on stores with fixed times.
#include <fmt/format.h>

#include "base/fs.h"
#include "model/value.h"
#include "storage/writer/writer_reader.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

class LsCommandTest : public CliTest {
 protected:
  void write_three_runs() {
    auto otter = builder_.writer(builder_.run("mnist", "otter"));
    otter.log("train/loss", 0, 2.5)
        .log("train/loss", 1, 0.25)
        .log("acc", 1, 0.91)
        .lose("acc", LossReason::kRingFull, 1234);
    otter.end(RunState::kFinished, 0, "", kBuilderStartUs + 192 * kSecondUs).finish();
    auto heron = builder_.writer(builder_.run("mnist", "heron", kBuilderStartUs + 3600 * kSecondUs));
    heron.set(EventType::kAttribute, "name", "wide net").log("loss", 0, 1e-9);
    heron.end(RunState::kFailed, 1, "", kBuilderStartUs + 3645 * kSecondUs).finish();
    builder_.writer(builder_.run("speech", "lynx", kBuilderStartUs + 7000 * kSecondUs))
        .end(RunState::kInterrupted, 130, "", kBuilderStartUs + 7001 * kSecondUs)
        .finish();
  }
};

TEST_F(LsCommandTest, RunsStandNewestFirstInATableOf80Columns) {
  write_three_runs();
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_EQ(out_,
            "RUN          NAME      STATE        CREATED    POINTS   LOST  SUMMARY\n"
            "speech/lynx            interrupted  3 min ago       0\n"
            "mnist/heron  wide net  failed       1 h ago         1         loss 1e-09\n"
            "mnist/otter            finished     2 h ago         3  1,234  train/loss 0.25  …\n");
  EXPECT_EQ(err_, "tracker: no room for DURATION in 80 columns; --columns chooses\n");
}

TEST_F(LsCommandTest, OnATerminalIdsAreNeverCutAndTheProjectOfAllStandsAbove) {
  const std::string long_id = "a-rather-long-id-that-somebody-has-chosen-for-the-run-of-tuesday";
  builder_.writer(builder_.run("sweep", long_id)).log("loss", 0, 0.5).end(RunState::kFinished).finish();
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_EQ(out_.substr(0, out_.find('\n')), "Project sweep");
  EXPECT_NE(out_.find("\n" + long_id + "  finished\n"), std::string::npos) << out_;
  EXPECT_EQ(err_, "tracker: no room for DURATION, POINTS, CREATED, SUMMARY in 80 columns; --columns chooses\n");
  console_.width = 120;
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_NE(out_.find("DURATION"), std::string::npos) << out_;
  for (const int width : {0, 1, 20, 80, 120}) {
    console_.width = width;
    EXPECT_EQ(run({"ls", "--columns", "points,config.none"}), kExitOk);
    EXPECT_NE(out_.find(long_id + "  "), std::string::npos) << out_;
  }
}

TEST_F(LsCommandTest, WhatTheFilterAndTheOrderLookAtIsShown) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  otter.set(EventType::kConfig, "lr", 0.1).log("loss", 0, 2.0).log("loss", 1, 0.5).end(RunState::kFinished).finish();
  EXPECT_EQ(run({"ls", "--where", "config.lr < 1 and state = finished", "--sort", "metrics.loss.min,created"}),
            kExitOk);
  EXPECT_NE(out_.find("config.lr  metrics.loss.min  SUMMARY"), std::string::npos) << out_;
  EXPECT_NE(out_.find("  0.1                     0.5  "), std::string::npos) << out_;
  EXPECT_EQ(out_.find("created"), std::string::npos) << out_;  // it is there as CREATED
}

TEST_F(LsCommandTest, ANarrowColumnStaysWhereAWideOneGoes) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  otter.set(EventType::kConfig, "lr", 0.1).set(EventType::kAttribute, "name", "night run of tuesday");
  otter.log("validation/accuracy", 0, 0.5).end(RunState::kFinished).finish();
  EXPECT_EQ(run({"ls", "--where", "config.lr < 1", "--sort", "metrics.validation/accuracy.max"}), kExitOk);
  EXPECT_EQ(err_, "tracker: no room for DURATION, SUMMARY in 80 columns; --columns chooses\n");
  EXPECT_NE(out_.find("CREATED  POINTS"), std::string::npos) << out_;
}

TEST_F(LsCommandTest, SummaryStartsWithWhatTheUserSet) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  otter.log("a", 0, 1.0).log("loss", 0, 0.5).set(EventType::kSummary, "verdict", "good").end(RunState::kFinished);
  otter.finish();
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_NE(out_.find("verdict good  loss 0.5  a 1\n"), std::string::npos) << out_;
}

TEST_F(LsCommandTest, AStarInColumnsStandsForTheKeysThatTheRunsHave) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  otter.set(EventType::kConfig, "opt", Value::Map{{"lr", 0.1}, {"name", "adam"}}).set(EventType::kConfig, "seed", 7);
  otter.log("val/acc", 0, 0.5).log("val/acc", 1, 0.25).end(RunState::kFinished).finish();
  EXPECT_EQ(run({"ls", "--columns", "config.*"}), kExitOk);
  EXPECT_EQ(out_,
            "Project mnist\n"
            "RUN    config.opt/lr  config.opt/name  config.seed\n"
            "otter  0.1            adam             7\n");
  EXPECT_EQ(run({"ls", "--columns", "state, config.opt.*,metrics.val/*.max"}), kExitOk);
  EXPECT_EQ(out_,
            "Project mnist\n"
            "RUN    state     config.opt/lr  config.opt/name  metrics.val/acc.max\n"
            "otter  finished  0.1            adam                             0.5\n");
  EXPECT_EQ(run({"ls", "--json", "--columns", "config.s*"}), kExitOk);
  EXPECT_EQ(*from_json(out_)->find("runs")->as_list()->front().find("columns")->find("config.seed"), Value(7));
  EXPECT_EQ(run({"ls", "--columns", "config.zz*"}), kExitOk);
  EXPECT_EQ(err_, "tracker: no run has config.zz*\n");
}

TEST_F(LsCommandTest, AStarBecomesAHundredColumnsAtMostAndSaysThatThereAreMore) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  for (size_t i = 0; i <= kKeyColumnsMax; ++i) otter.set(EventType::kConfig, fmt::format("k{:03}", i), Value(1));
  otter.end(RunState::kFinished).finish();
  EXPECT_EQ(run({"ls", "--columns", "config.*"}), kExitOk);
  EXPECT_NE(out_.find("config.k099"), std::string::npos);
  EXPECT_EQ(out_.find("config.k100"), std::string::npos);
  EXPECT_EQ(err_, "tracker: config.* fits 101 keys; the first 100 are shown\n");
}

TEST_F(LsCommandTest, AKeyThatNoRunHasIsNamedWithNearOnes) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  otter.set(EventType::kConfig, "opt", Value::Map{{"lr", 0.1}}).log("loss", 0, 0.5).end(RunState::kFinished).finish();
  const std::pair<const char*, const char*> cases[] = {
      {"config.opt.lrr < 1", "tracker: no run has config.opt.lrr; did you mean config.opt/lr?\n"},
      {"config.loss < 1", "tracker: no run has config.loss; did you mean summary.loss or metrics.loss?\n"},
      {"config.batch_size > 8", "tracker: no run has config.batch_size\n"},
      {"config.zz > 8", "tracker: no run has config.zz\n"}};
  for (const auto& [filter, said] : cases) {
    EXPECT_EQ(run({"ls", "--where", filter}), kExitOk);
    EXPECT_NE(err_.find(said), std::string::npos) << err_;
  }
  EXPECT_EQ(run({"ls", "--where", "config.opt.lr < 1"}), kExitOk);
  EXPECT_EQ(err_, "");
  EXPECT_EQ(run({"ls", "--where", "lr < 0.1"}), kExitUsage);
  EXPECT_NE(err_.find("\"lr\" is no field; did you mean config.lr, summary.lr or metrics.lr?"), std::string::npos);
}

TEST_F(LsCommandTest, APipeGetsAllRunsAndNothingIsCut) {
  const std::string metric(300, 'm');
  for (int i = 0; i < 60; ++i)
    builder_.writer(builder_.run("mnist", fmt::format("run-{}", i)))
        .log(metric, 0, 1.0)
        .end(RunState::kFinished)
        .finish();
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_EQ(err_, "tracker: 10 more; --limit 0 shows all\n");
  console_.width = 0;
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 61);
  EXPECT_NE(out_.find("mnist/run-0  "), std::string::npos);
  EXPECT_NE(out_.find(metric + " 1\n"), std::string::npos);
  EXPECT_EQ(err_, "");
}

TEST_F(LsCommandTest, WithoutATerminalNothingIsCut) {
  write_three_runs();
  console_.width = 0;
  EXPECT_EQ(run({"ls", "--project", "mnist", "--limit", "1"}), kExitOk);
  EXPECT_EQ(out_,
            "RUN          NAME      STATE   CREATED  DURATION  POINTS  SUMMARY\n"
            "mnist/heron  wide net  failed  1 h ago  45 s           1  loss 1e-09\n");
  EXPECT_EQ(err_, "tracker: 1 more; --limit 0 shows all\n");
}

TEST_F(LsCommandTest, JsonHoldsTheSameRuns) {
  write_three_runs();
  EXPECT_EQ(run({"ls", "--json"}), kExitOk);
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok()) << out_;
  const Value::List& runs = *document->find("runs")->as_list();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[2].text_or("id", ""), "otter");
  EXPECT_EQ(runs[2].text_or("state", ""), "finished");
  EXPECT_EQ(runs[2].int_or("points", 0), 3);
  EXPECT_EQ(runs[2].int_or("dropped", 0), 1234);
  EXPECT_EQ(runs[2].int_or("ended_us", 0), kBuilderStartUs + 192 * kSecondUs);
}

// Bug: texts were added to the points in one number, and a config value was counted as a point of no metric.
TEST_F(LsCommandTest, PointsTextsAndEntriesThatWereLostStandApart) {
  builder_.writer(builder_.run("mnist", "otter"))
      .log("loss", 0, 1)
      .lose("loss", LossReason::kRingFull, 1234)
      .lose_others(kTextLosses, LossReason::kRingFull, 1)
      .lose_others(kEntryLosses, LossReason::kMaxDisk, 3)
      .end(RunState::kFinished)
      .finish();
  for (int look = 0; look < 2; ++look) {  // the second one is answered by the catalog
    EXPECT_EQ(run({"ls"}), kExitOk);
    EXPECT_NE(out_.find("1,234 + 1 text + 3 entries"), std::string::npos) << out_;
    EXPECT_EQ(run({"ls", "--json"}), kExitOk);
    const auto document = from_json(out_);
    const Value& row = document->find("runs")->as_list()->front();
    EXPECT_EQ(row.int_or("dropped", 0), 1234);
    EXPECT_EQ(row.int_or("texts_dropped", 0), 1);
    EXPECT_EQ(row.int_or("entries_dropped", 0), 3);
  }
  EXPECT_EQ(run({"ls", "--where", "lost = 1238"}), kExitOk);
  EXPECT_NE(out_.find("otter"), std::string::npos) << out_;
  EXPECT_EQ(run({"show", "otter"}), kExitOk);
  EXPECT_NE(out_.find("1,234 points lost: ring full. 1 stored of 1,235 logged."), std::string::npos) << out_;
  EXPECT_NE(out_.find("3 entries lost, of config, summary and the like: "), std::string::npos) << out_;
  EXPECT_EQ(run({"show", "otter", "--json"}), kExitOk);
  EXPECT_EQ(from_json(out_)->find("losses")->find("entries")->int_or("dropped", 0), 3);
}

TEST_F(LsCommandTest, AFilterAnOrderAndColumnsChooseWhatIsShown) {
  write_three_runs();
  EXPECT_EQ(run({"ls", "--where", "metrics.loss < 1 or acc", "--columns", "state,metrics.loss.min,created,duration"}),
            kExitOk);
  EXPECT_EQ(out_,
            "Project mnist\n"
            "RUN    state   metrics.loss.min  created                  duration\n"
            "heron  failed             1e-09  2023-11-14 23:13:20 UTC  45 s\n");
  EXPECT_EQ(run({"ls", "--sort", "points", "--columns", "points", "--limit", "2", "--offset", "1"}), kExitOk);
  EXPECT_EQ(out_,
            "Project mnist\n"
            "RUN    points\n"
            "heron       1\n"
            "otter       3\n");
  EXPECT_EQ(run({"ls", "--sort=-points", "--limit", "1", "--json", "--columns", "metrics.acc,config.none"}), kExitOk);
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok()) << out_;
  EXPECT_EQ(document->int_or("matched", 0), 3);
  EXPECT_EQ(document->int_or("left_out", 0), 2);
  const Value* columns = document->find("runs")->as_list()->front().find("columns");
  EXPECT_EQ(*columns->find("metrics.acc"), Value(0.91));
  EXPECT_EQ(*columns->find("config.none"), Value());
}

TEST_F(LsCommandTest, AMistakeInAFilterIsNamedAndOnATerminalPointedAt) {
  EXPECT_EQ(run({"ls", "--where", "config.größe < "}), kExitUsage);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_,
            "tracker: filter, column 16: the end where a value is needed (expected a number, \"text\", true, false, "
            "null, 90m, 2026-09-01, now-7d or a word)\n");
  console_.progress = true;
  EXPECT_EQ(run({"ls", "--sort", "created, höhe"}), kExitUsage);
  EXPECT_NE(err_.find("\n  created, höhe\n           ^\n"), std::string::npos) << err_;
}

TEST_F(LsCommandTest, ValuesThatCannotBeComparedAreNamed) {
  auto writer = builder_.writer(builder_.run("mnist", "otter"));
  writer.set(EventType::kConfig, "lr", "auto").finish();
  EXPECT_EQ(run({"ls", "--where", "config.lr < 1"}), kExitOk);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(masked(err_), "tracker: no runs that match in STORE\ntracker: config.lr is text in 1 run\n");
}

TEST_F(LsCommandTest, AStoreWithoutRunsSaysSo) {
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_EQ(masked(err_), "tracker: no runs in STORE\n");
  EXPECT_EQ(run({"ls", "--project", "x"}), kExitOk);
  EXPECT_EQ(masked(err_), "tracker: no runs of project x in STORE\n");
}

TEST_F(LsCommandTest, ADamagedDatabaseIsNamedBesideTheSoundRuns) {
  write_three_runs();
  auto broken = builder_.writer(builder_.run("mnist", "wreck"));
  broken.log("loss", 0, 1).finish();
  overwrite_start(broken.path(), "rubbish rubbish rubbish rubbish");
  console_.width = 120;
  EXPECT_EQ(run({"ls"}), kExitDamaged);
  EXPECT_NE(out_.find("mnist/otter"), std::string::npos);
  EXPECT_NE(out_.find("mnist/wreck"), std::string::npos);
  EXPECT_NE(err_.find(broken.path()), std::string::npos) << err_;
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
}

TEST_F(LsCommandTest, ADamagedRunFolderIsNamedBesideTheSoundRuns) {
  write_three_runs();
  const RunFolder wreck = builder_.run("mnist", "wreck");
  overwrite_start(wreck.path + "/run.json", "{{{{");
  EXPECT_EQ(run({"ls", "--json"}), kExitDamaged);
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->find("runs")->as_list()->size(), 3u);
  EXPECT_EQ(document->find("problems")->as_list()->size(), 1u);
}

TEST_F(LsCommandTest, ColoursAppearOnlyWhereTheConsoleHasThem) {
  write_three_runs();
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_EQ(out_.find('\x1b'), std::string::npos);
  console_.color = true;
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_NE(out_.find("\x1b[32mfinished"), std::string::npos);
}

TEST_F(LsCommandTest, ALongMetricNameIsCutInItsMiddleAndItsValueSeen) {
  const std::string name = "gradients/layer.12/attention/weight/of/the/second/head/norm";
  builder_.writer(builder_.run("mnist", "otter")).log(name, 7, 0.25).end(RunState::kFinished).finish();
  for (const std::vector<std::string>& command : {std::vector<std::string>{"show", "otter"}, {"tail", "otter"}}) {
    EXPECT_EQ(run(command), kExitOk);
    EXPECT_NE(out_.find("head/norm "), std::string::npos) << out_;
    EXPECT_NE(out_.find("gradients/"), std::string::npos) << out_;
    EXPECT_NE(out_.find("0.25"), std::string::npos) << out_;
    EXPECT_EQ(out_.find(name), std::string::npos) << out_;
  }
}

TEST_F(LsCommandTest, ALongMetricNameDoesNotFillTheTerminal) {
  builder_.writer(builder_.run("mnist", "otter")).log(std::string(1024, 'm'), 0, 1.0).end(RunState::kFinished).finish();
  console_.width = 200;
  EXPECT_EQ(run({"ls"}), kExitOk) << err_;
  EXPECT_EQ(out_.find(std::string(41, 'm')), std::string::npos) << out_;
}

// `verify` alone returns kExitDamaged for it: the account of the run holds the loss.
TEST_F(LsCommandTest, APartThatIsGoneIsNamedAndLeavesTheExitCode) {
  const RunFolder folder = builder_.run("mnist", "otter");
  WriterIdentity identity;
  std::string part_one;
  {
    auto writer = builder_.writer(folder);
    writer.log("loss", 0, 1.0).finish();
    identity = writer.identity();
    part_one = writer.path();
  }
  identity.part = 2;
  identity.before = parts_before(*(*WriterReader::open(part_one))->snapshot());
  auto part = WriterDb::create(folder.path, identity);
  ASSERT_TRUE(part.ok()) << part.status().to_string();
  Frame end{identity.writer, identity.before.seq + 1, {}, {}, {}, {}};
  end.events.push_back({EventType::kEnd, false, 0, kBuilderStartUs, encode_cbor(Value::Map{{"state", "finished"}})});
  ASSERT_TRUE((*part)->append({{end.seq, encode_frame(end), {}}}, true).ok() && (*part)->finish().ok());
  part->reset();
  remove_file(part_one);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"ls"}, {"show", "mnist/otter"}, {"export", "mnist/otter"}}) {
    EXPECT_EQ(run(command), kExitOk) << command.front();
    EXPECT_NE(err_.find("part 1 of 2 is missing; counted as lost: 1 point"), std::string::npos) << err_;
  }
  EXPECT_EQ(run({"verify"}), kExitDamaged);
}

// "recovered 0 points" is silence.
TEST_F(LsCommandTest, ARecoveryThatStoredNothingIsNotReported) {
  RecoveryReport report;
  report.recovered.resize(1);
  EXPECT_EQ(recovery_text(report), "");
  report.recovered[0].frames = 1;
  EXPECT_EQ(recovery_text(report), "");
  report.recovered[0].texts = 1;
  EXPECT_NE(recovery_text(report).find("recovered 1 text of "), std::string::npos);
}

// Bug: config, summary and metrics were offered whichever had the key, and the names of all fields followed.
TEST_F(LsCommandTest, AKeyAloneIsAnsweredWithTheFieldsThatHaveIt) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  otter.set(EventType::kConfig, "lr", 0.1).set(EventType::kSummary, "best_acc", 0.9).log("loss", 0, 0.5);
  otter.end(RunState::kFinished).finish();
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--where", "lr < 0.1"}, "filter, column 1: \"lr\" is no field; did you mean config.lr?"},
      {{"--sort=-best_acc"}, "sort order, column 2: \"best_acc\" is no field; did you mean summary.best_acc?"},
      {{"--where", "loss < 1"}, "filter, column 1: \"loss\" is no field; did you mean summary.loss or metrics.loss?"},
      {{"--columns", "best_ac"}, "columns, column 1: \"best_ac\" is no field; did you mean summary.best_acc?"},
      {{"--columns", "conifg.lr"}, "columns, column 1: \"conifg.lr\" is no field; did you mean config.lr?"}};
  for (const auto& [words, said] : cases) {
    std::vector<std::string> line{"ls"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(run(line), kExitUsage);
    EXPECT_EQ(err_, fmt::format("tracker: {}\n", said));
  }
}

// Bug: the column of the order was beside the same value in SUMMARY, and all else was cut.
TEST_F(LsCommandTest, AValueThatHasAColumnIsNotInTheSummaryToo) {
  auto otter = builder_.writer(builder_.run("mnist", "otter"));
  otter.set(EventType::kSummary, "best_acc", 0.9).log("loss", 0, 0.5).end(RunState::kFinished).finish();
  EXPECT_EQ(run({"ls", "--sort=-summary.best_acc"}), kExitOk);
  EXPECT_EQ(out_.find("best_acc 0.9"), std::string::npos) << out_;
  EXPECT_NE(out_.find(" loss 0.5\n"), std::string::npos) << out_;
  EXPECT_EQ(run({"ls", "--where", "metrics.loss < 1 and metrics.loss.min < 1"}), kExitOk);
  EXPECT_NE(out_.find("best_acc 0.9\n"), std::string::npos) << out_;
}

}  // namespace
}  // namespace tracker::internal
