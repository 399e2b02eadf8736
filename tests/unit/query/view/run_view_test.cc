// SPDX-License-Identifier: MIT
// Goal: a run is read whole while it is written, after it died, and beside damaged files.
// Method: stores built by hand; a child process that writes while this one reads; files overwritten with rubbish.
#include "query/view/run_view.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/ring/place.h"
#include "storage/store/run_folder.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

std::unique_ptr<RunView> open(const RunFolder& run) {
  auto view = RunView::open(run);
  EXPECT_TRUE(view.ok());
  return std::move(*view);
}

TEST(RunViewTest, WhatWritersSaidIsOneRun) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  auto writer = builder.writer(run);
  writer.set(EventType::kConfig, "", Value::Map{{"lr", 0.1}, {"optimizer", Value::Map{{"name", "adam"}}}});
  writer.set(EventType::kAttribute, "name", "second try").set(EventType::kAttribute, "tags", Value::List{"a", "b"});
  writer.log("train/loss", 0, 0.5).log("train/loss", 1, 0.25).set(EventType::kSummary, "best", 0.2);
  writer.end(RunState::kFailed, 1, "ValueError: x").finish();
  const auto view = open(run);
  EXPECT_EQ(view->name(), "second try");
  EXPECT_EQ(view->state(), RunState::kFailed);
  EXPECT_EQ(view->state_detail(), "exit code 1: ValueError: x");
  EXPECT_EQ(to_json(view->config()), R"({"lr":0.1,"optimizer":{"name":"adam"}})");
  EXPECT_EQ(to_json(view->summary()), R"({"train/loss":0.25,"best":0.2})");
  EXPECT_EQ(to_json(view->attribute("tags")), R"(["a","b"])");
  EXPECT_TRUE(view->attribute("notes").is_null());
  EXPECT_EQ(view->points(), 2u);
  EXPECT_TRUE(view->problems().empty());
  EXPECT_EQ(view->problem_code(), Code::kOk);
}

TEST(RunViewTest, AnEditorsLaterNameWins) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  builder.writer(run).set(EventType::kAttribute, "name", "old", 100).end(RunState::kFinished).finish();
  builder.writer(run, {.rank = 1}).set(EventType::kAttribute, "name", "new", 200).end(RunState::kFinished).finish();
  EXPECT_EQ(open(run)->name(), "new");
}

TEST(RunViewTest, ADamagedDatabaseIsNamedAndItsNeighbourIsRead) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  auto sound = builder.writer(run, {.attempt = 1});
  sound.log("loss", 0, 1).end(RunState::kFinished).finish();
  auto broken = builder.writer(run, {.attempt = 2});
  broken.log("loss", 1, 2).finish();
  overwrite_start(broken.path(), std::string(200, 'x'));
  const auto view = open(run);
  ASSERT_EQ(view->problems().size(), 1u);
  EXPECT_NE(view->problems()[0].find(broken.path()), std::string::npos) << view->problems()[0];
  EXPECT_EQ(view->problem_code(), Code::kCorrupt);
  EXPECT_EQ(view->history("loss")->steps, std::vector<int64_t>{0});
  EXPECT_EQ(view->state(), RunState::kFinished);
}

TEST(RunViewTest, ARunWithNothingButDamageOpensAndSaysSo) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  auto broken = builder.writer(run);
  broken.log("loss", 1, 2).finish();
  overwrite_start(broken.path(), "not a database at all, only text");
  const auto view = open(run);
  EXPECT_EQ(view->state(), RunState::kDamaged);
  EXPECT_NE(view->state_detail().find(broken.path()), std::string::npos) << view->state_detail();
  EXPECT_EQ(view->problems().size(), 1u);
}

TEST(RunViewTest, AProcessThatEndedWithoutAWordHasCrashed) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  auto writer = builder.writer(run, {.host = this_process().host});  // this machine before its last boot
  writer.log("loss", 0, 1).commit().heartbeat(realtime_us());
  EXPECT_EQ(open(run)->state(), RunState::kCrashed);
}

TEST(RunViewTest, AWriterWhoseJournalIsHeldIsRunning) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  WriterIdentity identity = this_process();
  identity.writer = Id128::random();
  identity.run = run.identity;
  identity.journal_dir = store_journal_root(store_path_of(run.path)) + "/" + identity.writer.hex();
  ASSERT_TRUE(make_dirs(identity.journal_dir).ok());
  ASSERT_TRUE(write_file_atomic(identity.journal_dir + "/lock", "").ok());
  identity.started_us = kBuilderStartUs;  // long ago: the lock counts, not the heartbeat
  WriterBuilder writer(run, identity);
  writer.log("loss", 0, 1).commit();
  EXPECT_EQ(open(run)->state(), RunState::kRunning);
  EXPECT_EQ(open(run)->liveness()[0], Liveness::kLive);
}

// What a run says of the place is bytes that may have come from anywhere.
TEST(RunViewTest, AJournalThatARunNamesOutsideOurOwnFoldersIsNotLookedAt) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  TempFolder journal;
  ASSERT_TRUE(write_file_atomic(journal.path() + "/lock", "").ok());
  WriterIdentity identity = this_process();
  identity.writer = Id128::random();
  identity.run = run.identity;
  identity.journal_dir = journal.path();
  WriterBuilder writer(run, identity);
  writer.log("loss", 0, 1).commit();
  EXPECT_EQ(open(run)->liveness()[0], Liveness::kDead);
}

TEST(RunViewTest, AWriterElsewhereIsRunningWhileItsHeartbeatIsFresh) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  auto writer = builder.writer(run);
  writer.log("loss", 0, 1).commit();
  EXPECT_EQ(open(run)->state(), RunState::kLostContact);
  writer.heartbeat(realtime_us());
  EXPECT_EQ(open(run)->state(), RunState::kRunning);
}

TEST(RunViewTest, RefreshSeesWhatWasCommittedSinceAndNotBefore) {
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  auto writer = builder.writer(run);
  writer.log("loss", 0, 1).commit();
  const auto view = open(run);
  writer.log("loss", 1, 2).commit();
  EXPECT_EQ(view->history("loss")->size(), 1u);
  ASSERT_TRUE(view->refresh().ok());
  EXPECT_EQ(view->history("loss")->size(), 2u);
  builder.writer(run, {.attempt = 2}).log("loss", 2, 3).finish();
  ASSERT_TRUE(view->refresh().ok());
  EXPECT_EQ(view->history("loss")->size(), 3u);
}

// The child commits frames of ten rows each as fast as it can; whatever the parent sees is whole frames without gaps,
// and the counts of the snapshot agree with the rows.
TEST(RunViewTest, ALiveRunIsReadExactlyWhileAnotherProcessWrites) {
  constexpr int kFrames = 200, kRows = 10;
  StoreBuilder builder;
  const RunFolder run = builder.run("mnist", "otter");
  const pid_t child = ::fork();
  if (child == 0) {
    auto writer = builder.writer(run);
    for (int frame = 0; frame < kFrames; ++frame) {
      for (int row = 0; row < kRows; ++row) writer.log("loss", frame * kRows + row, frame * kRows + row);
      writer.commit();
    }
    writer.finish();
    ::_exit(0);
  }
  int status = 0;
  bool ended = false;
  size_t rows = 0;
  while (rows < size_t{kFrames} * kRows) {
    ASSERT_FALSE(ended) << "the child ended and only " << rows << " rows are there";
    ended = ::waitpid(child, &status, WNOHANG) == child;
    const auto view = open(run);
    ASSERT_TRUE(view->problems().empty()) << view->problems()[0];
    if (view->metrics().empty()) continue;
    const auto history = view->history("loss");
    ASSERT_TRUE(history.ok()) << history.status().to_string();
    ASSERT_EQ(history->size(), view->metrics()[0].points);
    ASSERT_EQ(history->size() % kRows, 0u);
    ASSERT_GE(history->size(), rows);
    rows = history->size();
    for (size_t i = 0; i < rows; ++i) ASSERT_EQ(history->steps[i], static_cast<int64_t>(i));
  }
  if (!ended) {
    ASSERT_EQ(::waitpid(child, &status, 0), child);
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tracker::internal
