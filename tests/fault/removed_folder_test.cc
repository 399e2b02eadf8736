// SPDX-License-Identifier: MIT
// A run whose folder, or whose whole store, is deleted while it is recorded continues in a new one: new rows are
// stored, lost ones counted, and the run ends in its own state. Method: the folder is removed between two flushes, for
// each kind of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "pipeline/writer.h"
#include "run/run.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/kill_at_call.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr int64_t kBefore = 1000, kAfter = 500;
constexpr int64_t kFlushMs = 20'000;

trk_metric* metric_of(trk_run* run, const char* name) {
  return trk_metric_open(run, name, TRK_NUL_TERMINATED, nullptr);
}

void log_steps(trk_metric* metric, int64_t from, int64_t to) {
  for (int64_t step = from; step < to; ++step) ASSERT_EQ(trk_metric_log_i64(metric, step * 3, step), TRK_OK);
}

void set_config(trk_run* run, const char* key, const char* text) {
  const trk_value value = trk_text(text);
  ASSERT_EQ(trk_config_set(run, key, TRK_NUL_TERMINATED, &value), TRK_OK);
}

void expect_ended_whole(const Sandbox& sandbox, int64_t removed) {
  ReadRun read = recover_and_read(sandbox.store());
  ASSERT_NE(read.view, nullptr);
  EXPECT_THAT(read.problems, ::testing::Each(::testing::HasSubstr("counted as lost")));
  EXPECT_EQ(read.runs, 1u);
  EXPECT_EQ(read.view->state(), RunState::kFinished);
  EXPECT_EQ(to_json(read.view->config()), R"({"lr":"0.1"})");
  EXPECT_EQ(to_json(read.view->attribute("group")), R"("g")");
  const History rows = rows_of(read, "x");
  ASSERT_EQ(rows.size(), static_cast<size_t>(kAfter));
  EXPECT_EQ(rows.steps[0], kBefore);
  EXPECT_EQ(rows_of(read, "only/after").size(), 1u);
  const LossAccount account = read.view->losses();
  EXPECT_EQ(account.dropped, static_cast<uint64_t>(removed));
  EXPECT_EQ(account.logged, account.stored + account.dropped);
  const auto report = verify_store(sandbox.store(), {});
  ASSERT_TRUE(report.ok());
  for (const Finding& finding : report->findings) EXPECT_STREQ(finding.kind.c_str(), "parts") << finding.what;
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

// Of all frames that the store holds, lowest first.
std::vector<uint64_t> numbers_in(const std::string& store) {
  std::vector<uint64_t> out;
  for (const RunFolder& run : Store::open(store)->list_runs())
    for (const std::string& path : run.writer_dbs()) {
      auto reader = WriterReader::open(path);
      if (!reader.ok()) continue;
      SeqVisitor visitor([&out](uint64_t number) {
        out.push_back(number);
        return true;
      });
      LogPosition at;
      EXPECT_TRUE((*reader)->read(&at, (*reader)->snapshot()->end_of_log(), &visitor).ok());
    }
  return out;
}

class RemovedFolderTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  trk_run* begin() {
    ::setenv("TRACKER_STORE_FILES", std::get<1>(GetParam()), 1);
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.project = "p";
    options.id = "r";
    options.group = "g";
    trk_run* run = nullptr;
    EXPECT_EQ(trk_init(&options, &run, nullptr), TRK_OK);
    set_config(run, "lr", "0.1");
    return run;
  }
  void remove() { remove_under_a_writer(sandbox_.store() + std::get<0>(GetParam())); }

  Sandbox sandbox_;
};

// Promise P5: A run whose folder or store is removed while it is recorded goes on in a new one; the lost points are
// counted.
TEST_P(RemovedFolderTest, TheRunGoesOnInANewOneAndCountsWhatWent) {
  ::testing::internal::CaptureStderr();
  trk_run* run = begin();
  trk_metric* x = metric_of(run, "x");
  log_steps(x, 0, kBefore);
  for (const char* text : {"one", "two"}) EXPECT_EQ(trk_log_text(run, "note", text, TRK_NUL_TERMINATED, 0), TRK_OK);
  ASSERT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  remove();
  log_steps(x, kBefore, kBefore + kAfter);
  EXPECT_EQ(trk_log_i64(run, "only/after", TRK_NUL_TERMINATED, 1, 0), TRK_OK);
  EXPECT_EQ(trk_log_text(run, "note", "three", TRK_NUL_TERMINATED, 1), TRK_OK);
  EXPECT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  const trk_status status = status_of(run);
  EXPECT_EQ(status.texts_logged, 3u);
  EXPECT_EQ(status.texts_stored, 1u);
  EXPECT_EQ(status.texts_dropped, 2u);
  EXPECT_EQ(status.points_stored, static_cast<uint64_t>(kAfter + 1));
  EXPECT_EQ(status.points_dropped, static_cast<uint64_t>(kBefore));
  EXPECT_EQ(status.points_pending, 0u);
  EXPECT_EQ(status.degraded, 0);
  EXPECT_THAT(status.last_error, ::testing::HasSubstr("1000 points and 2 texts that were stored are gone"));
  trk_series_status series = TRK_SERIES_STATUS_INIT;
  ASSERT_EQ(trk_get_series_status(run, "x", TRK_NUL_TERMINATED, &series), TRK_OK);
  EXPECT_EQ(series.points_dropped, static_cast<uint64_t>(kBefore));
  EXPECT_EQ(series.points_stored, static_cast<uint64_t>(kAfter));
  EXPECT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  trk_free(run);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::HasSubstr("1000 points and 2 texts that were stored are gone"));
  EXPECT_EQ(said.find("was removed"), said.rfind("was removed")) << "once";
  EXPECT_THAT(said, ::testing::HasSubstr("1,000 points and 2 texts lost"));
  expect_ended_whole(sandbox_, kBefore);
  const LossAccount::Texts texts = recover_and_read(sandbox_.store()).view->losses().texts;
  EXPECT_EQ(texts.stored, 1u);
  EXPECT_THAT(texts.by_reason,
              ::testing::ElementsAre(::testing::Pair("file removed or changed by another program", 2u)));
}

// Promise P3: The number of a frame is never given twice.
TEST_P(RemovedFolderTest, NoNumberOfAFrameThatWentIsGivenAgain) {
  trk_run* run = begin();
  trk_metric* x = metric_of(run, "x");
  for (int64_t at = 0; at < 5; ++at) {
    log_steps(x, at, at + 1);
    ASSERT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  }
  const std::vector<uint64_t> before = numbers_in(sandbox_.store());
  ASSERT_GE(before.size(), 5u);
  remove();
  log_steps(x, 5, 6);
  EXPECT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  EXPECT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  trk_free(run);
  const std::vector<uint64_t> after = numbers_in(sandbox_.store());
  ASSERT_THAT(after, ::testing::Not(::testing::IsEmpty()));
  EXPECT_GT(after.front(), before.back());
}

TEST_P(RemovedFolderTest, RemovedJustBeforeTheEndTheRunEndsAllTheSame) {
  trk_run* run = begin();
  trk_metric* x = metric_of(run, "x");
  log_steps(x, 0, kBefore);
  ASSERT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  log_steps(x, kBefore, kBefore + kAfter);
  EXPECT_EQ(trk_log_i64(run, "only/after", TRK_NUL_TERMINATED, 1, 0), TRK_OK);
  remove();
  EXPECT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  trk_free(run);
  ReadRun read = recover_and_read(sandbox_.store());
  ASSERT_NE(read.view, nullptr);
  EXPECT_EQ(read.view->state(), RunState::kFinished);
  const LossAccount account = read.view->losses();
  EXPECT_EQ(account.logged, static_cast<uint64_t>(kBefore + kAfter + 1));
  EXPECT_GE(account.dropped, static_cast<uint64_t>(kBefore));
}

TEST_P(RemovedFolderTest, RemovedTwiceEverythingThatWentIsCounted) {
  trk_run* run = begin();
  trk_metric* x = metric_of(run, "x");
  for (int64_t at = 0; at < kBefore; at += kBefore / 2) {
    log_steps(x, at, at + kBefore / 2);
    ASSERT_EQ(trk_flush(run, kFlushMs), TRK_OK);
    remove();
  }
  log_steps(x, kBefore, kBefore + kAfter);
  EXPECT_EQ(trk_log_i64(run, "only/after", TRK_NUL_TERMINATED, 1, 0), TRK_OK);
  EXPECT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  trk_free(run);
  expect_ended_whole(sandbox_, kBefore);
}

std::string nested_name(int i) { return "layers/" + std::to_string(i); }

// The run's config and the like were in one frame: one above 64 MiB was refused, by each new file again.
TEST_P(RemovedFolderTest, WhatWasSaidOfTheRunIsSaidAgainInFramesOfBoundedSize) {
  constexpr int kCount = 2 * kSeriesAFrame + 50;
  const std::string large(kBytesAFrame, 'c');
  trk_run* run = begin();
  for (int i = 0; i < kCount; ++i)
    ASSERT_EQ(trk_log_i64(run, nested_name(i).c_str(), TRK_NUL_TERMINATED, i, 0), TRK_OK);
  ASSERT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  for (const char* key : {"a", "b", "c"}) {
    set_config(run, key, large.c_str());
    ASSERT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  }
  remove();
  ASSERT_EQ(trk_log_i64(run, nested_name(0).c_str(), TRK_NUL_TERMINATED, 7, 1), TRK_OK);
  ASSERT_EQ(trk_log_i64(run, nested_name(kCount - 1).c_str(), TRK_NUL_TERMINATED, 8, 1), TRK_OK);
  ASSERT_EQ(trk_flush(run, kFlushMs), TRK_OK);
  const std::string path = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs().at(0);
  const std::vector<LookedAt> frames = frames_of(path);
  size_t defined = 0;
  for (const LookedAt& frame : frames) {
    defined += frame.definitions;
    EXPECT_LE(frame.definitions, kSeriesAFrame);
    EXPECT_LT(frame.event_bytes, 2 * kBytesAFrame + 4096);
  }
  EXPECT_EQ(defined, static_cast<size_t>(kCount));
  (void)trk_finish(run, 0, nullptr);  // what a busy machine does not build in two seconds the next command builds
  trk_free(run);
  ReadRun read = recover_and_read(sandbox_.store());
  ASSERT_NE(read.view, nullptr);
  EXPECT_THAT(read.problems, ::testing::Each(::testing::HasSubstr("counted as lost")));
  EXPECT_EQ(read.view->state(), RunState::kFinished);
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(*read.view->config().find(key), Value(large)) << key;
  EXPECT_EQ(to_json(*read.view->config().find("lr")), R"("0.1")");
  EXPECT_EQ(rows_of(read, nested_name(kCount - 1)).size(), 1u);
  const LossAccount account = read.view->losses();
  EXPECT_EQ(account.dropped, static_cast<uint64_t>(kCount));
  EXPECT_EQ(account.logged, account.stored + account.dropped);
  const auto report = verify_store(sandbox_.store(), {});
  ASSERT_TRUE(report.ok());
  for (const Finding& finding : report->findings) EXPECT_STREQ(finding.kind.c_str(), "parts") << finding.what;
}

// What is in the rings at the kill comes after positions of the deleted file.
TEST_P(RemovedFolderTest, KilledAfterwardsNothingIsLostOrThereTwice) {
  const pid_t child = start_child([this] {
    trk_run* run = begin();
    trk_metric* x = metric_of(run, "x");
    log_steps(x, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    remove();
    log_steps(x, kBefore, kBefore + 1);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    log_steps(x, kBefore + 1, kBefore + kAfter);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  wait_child(child);
  ReadRun read = recover_and_read(sandbox_.store());
  ASSERT_NE(read.view, nullptr);
  EXPECT_THAT(read.problems, ::testing::Each(::testing::HasSubstr("counted as lost")));
  EXPECT_EQ(read.view->state(), RunState::kCrashed);
  const History rows = rows_of(read, "x");
  ASSERT_EQ(rows.size(), static_cast<size_t>(kAfter));
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows.steps[i], kBefore + static_cast<int64_t>(i));
  EXPECT_EQ(read.view->losses().dropped, static_cast<uint64_t>(kBefore));
}

INSTANTIATE_TEST_SUITE_P(Of, RemovedFolderTest,
                         ::testing::Combine(::testing::Values("/runs/p/r", ""), ::testing::Values("sqlite", "frames")),
                         [](const auto& test) {
                           const std::string what = *std::get<0>(test.param) == 0 ? "store" : "run";
                           return what + "_" + std::get<1>(test.param);
                         });

class RemovedRunTest : public RemovedFolderTest {
 protected:
  // What is left of a killed process's run: at least `rows_min` rows, each step once, up to `last`.
  ReadRun recovered(pid_t child, size_t rows_min, int64_t last) {
    wait_child(child);
    ReadRun read = recover_and_read(sandbox_.store());
    EXPECT_NE(read.view, nullptr);
    if (read.view == nullptr) return read;
    EXPECT_THAT(read.problems, ::testing::Each(::testing::HasSubstr("counted as lost")));
    const History rows = rows_of(read, "x");
    EXPECT_GE(rows.size(), rows_min);
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows.steps[i] != last + 1 - static_cast<int64_t>(rows.size() - i)) {
        ADD_FAILURE() << "row " << i << " of " << rows.size() << " has step " << rows.steps[i];
        break;
      }
    return read;
  }
};

// Of a ring in a later lap only the newest bytes are left: they are read from where it was released.
TEST_P(RemovedRunTest, KilledBeforeItWasNoticedWhatTheRingsHoldIsRecoveredAndTheRestCounted) {
  const int64_t batches = 30;
  const pid_t child = start_child([&] {
    trk_run* run = begin();
    trk_metric* x = metric_of(run, "x");
    for (int64_t at = 0; at < batches * kBefore; at += kBefore) {
      log_steps(x, at, at + kBefore);
      CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    }
    remove();
    log_steps(x, batches * kBefore, batches * kBefore + kAfter);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  const ReadRun read = recovered(child, kAfter, batches * kBefore + kAfter - 1);
  ASSERT_NE(read.view, nullptr);
  const LossAccount account = read.view->losses();
  EXPECT_EQ(account.logged, static_cast<uint64_t>(batches * kBefore + kAfter));
  EXPECT_EQ(account.logged, account.stored + account.dropped);
  EXPECT_THAT(sandbox_.journal_folders(), ::testing::IsEmpty());
}

TEST_P(RemovedRunTest, ARecovererWithoutTheDatabaseGivesNoNumberThatTheProcessGave) {
  wait_child(start_child([&] {
    trk_run* run = begin();
    trk_metric* x = metric_of(run, "x");
    for (int64_t at = 0; at < 5; ++at) {
      log_steps(x, at, at + 1);
      CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    }
    ::kill(::getpid(), SIGKILL);
    return 0;
  }));
  const std::vector<uint64_t> before = numbers_in(sandbox_.store());
  ASSERT_GE(before.size(), 5u);
  remove();
  recover_and_read(sandbox_.store());
  const std::vector<uint64_t> after = numbers_in(sandbox_.store());
  ASSERT_THAT(after, ::testing::Not(::testing::IsEmpty()));
  EXPECT_GT(after.front(), before.back());
}

// A recoverer that dies after its first commit leaves a file that no longer shows that another one was before it.
TEST_P(RemovedRunTest, ARecovererThatIsKilledLeavesWhatWentToBeCountedOnce) {
  const int64_t batches = 30;
  wait_child(start_child([&] {
    trk_run* run = begin();
    trk_metric* x = metric_of(run, "x");
    for (int64_t at = 0; at < batches * kBefore; at += kBefore) {
      log_steps(x, at, at + kBefore);
      CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    }
    remove();
    ::kill(::getpid(), SIGKILL);
    return 0;
  }));
  const auto recursive = std::filesystem::copy_options::recursive;
  const std::string kept = sandbox_.folder() + "/journals";
  std::filesystem::copy(sandbox_.journals(), kept, recursive);
  const int stride = 13 * kSlowDown;
  bool killed = true;
  for (int at = 0; killed && !HasFailure(); at += stride) {
    SCOPED_TRACE("killed before system call " + std::to_string(at));
    remove();
    std::filesystem::remove_all(sandbox_.journals());
    std::filesystem::copy(kept, sandbox_.journals(), recursive);
    ::chmod(sandbox_.journals().c_str(), 0700);
    killed = killed_at_call(
        at, [&] { return recover_dead_writers(*Store::open(sandbox_.store())).problems.empty() ? 0 : 1; });
    ReadRun read = recover_and_read(sandbox_.store());
    ASSERT_NE(read.view, nullptr);
    EXPECT_THAT(read.problems, ::testing::IsEmpty());
    const LossAccount account = read.view->losses();
    EXPECT_EQ(account.stored + account.dropped, static_cast<uint64_t>(batches * kBefore));
    EXPECT_EQ(rows_of(read, "x").size(), account.stored);
  }
}

// A folder that was moved out of the store is like a removed one, but the process waits for it: what it logs is
// spilled.
TEST_P(RemovedRunTest, WhatWasSpilledWhileTheFolderWasAwayIsRecoveredIntoANewOne) {
  constexpr int64_t kBatches = 20;
  const pid_t child = start_child([&] {
    trk_run* run = begin();
    trk_metric* x = metric_of(run, "x");
    log_steps(x, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    std::filesystem::rename(sandbox_.store() + std::get<0>(GetParam()), sandbox_.store() + ".away");
    for (int64_t batch = 1; batch <= kBatches; ++batch) {
      log_steps(x, batch * kBefore, (batch + 1) * kBefore);
      sleep_ms(100);
    }
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  // A .frames file is checked at each fsync only: up to a second's rows went into the moved one.
  const int64_t in_the_other = std::string(std::get<1>(GetParam())) == "frames" ? kBatches / 2 + 3 : 1;
  recovered(child, static_cast<size_t>((kBatches + 1 - in_the_other) * kBefore), (kBatches + 1) * kBefore - 1);
}

TEST_P(RemovedRunTest, AFolderMovedWithinItsProjectIsFoundByWhatItHolds) {
  const pid_t child = start_child([&] {
    trk_run* run = begin();
    log_steps(metric_of(run, "x"), 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    log_steps(metric_of(run, "x"), kBefore, kBefore + kAfter);
    std::filesystem::rename(sandbox_.store() + "/runs/p/r", sandbox_.store() + "/runs/p/r-moved");
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  const ReadRun read = recovered(child, kBefore + kAfter, kBefore + kAfter - 1);
  EXPECT_EQ(read.runs, 1u);
}

// The journal names the deleted store; the database, in the one that was made in its place, is the writer's.
TEST_P(RemovedRunTest, KilledAfterItWentOnInAStoreThatAnotherMadeAnewNothingIsLeftBehind) {
  const pid_t child = start_child([&] {
    trk_run* run = begin();
    trk_metric* x = metric_of(run, "x");
    log_steps(x, 0, kBefore);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    remove_under_a_writer(sandbox_.store());
    CHILD_CHECK(Store::open_or_create(sandbox_.store()).ok());
    log_steps(x, kBefore, kBefore + 1);
    CHILD_CHECK(trk_flush(run, kFlushMs) == TRK_OK);
    log_steps(x, kBefore + 1, kBefore + kAfter);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  const ReadRun read = recovered(child, kAfter, kBefore + kAfter - 1);
  ASSERT_NE(read.view, nullptr);
  EXPECT_EQ(read.view->losses().dropped, static_cast<uint64_t>(kBefore));
  EXPECT_THAT(sandbox_.journal_folders(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Of, RemovedRunTest,
                         ::testing::Combine(::testing::Values("/runs/p/r"), ::testing::Values("sqlite", "frames")),
                         [](const auto& test) { return std::string(std::get<1>(test.param)); });

}  // namespace
}  // namespace tracker::internal
