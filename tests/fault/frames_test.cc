// SPDX-License-Identifier: MIT
// F17. A run on a file system where SQLite does not work: .frames files are read while they grow, become a database
// when the run ends, and no kill at any step loses or doubles a row. Method: TRACKER_STORE_FILES=frames, kill -9 at
// random instants, before each system call of the builder, and appends while the builder is stopped before each of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "storage/frames/database_build.h"
#include "storage/frames/frames_file.h"
#include "storage/writer/store_files.h"
#include "support/child.h"
#include "support/integrity.h"
#include "support/kill_at_call.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

struct Progress {
  std::atomic<int64_t> accepted;
  std::atomic<int> ready, stop;
};

std::vector<std::string> names_in(const Sandbox& sandbox) {
  auto names = list_dir(sandbox.store() + "/runs/p/r");
  std::vector<std::string> out;
  if (names.ok())
    for (const std::string& name : *names) out.push_back(name.substr(std::min(name.size(), name.find('.'))));
  return out;
}

void log_until_stopped(Progress* progress) {
  trk_run* run = open_run("r", "block");
  CHILD_CHECK(run != nullptr);
  for (int64_t step = 0; progress->stop.load() == 0; ++step) {
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
    progress->accepted = step + 1;
    if (step % 50 == 0) ::usleep(500);
    if (step == 2000) {
      CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
      progress->ready = 1;
    }
  }
  CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
}

void expect_rows(ReadRun& run, int64_t at_least, int64_t at_most) {
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::IsEmpty());
  const History rows = rows_of(run, "x");
  EXPECT_GE(static_cast<int64_t>(rows.size()), at_least);
  EXPECT_LE(static_cast<int64_t>(rows.size()), at_most);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.steps[i], static_cast<int64_t>(i));
    ASSERT_EQ(rows.bits[i], i * 3);
  }
}

class FramesTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("TRACKER_STORE_FILES", "frames", 1); }
  void TearDown() override { ::unsetenv("TRACKER_STORE_FILES"); }
  Sandbox sandbox_;
  Shared<Progress> progress_;
};

// Promise P11: On network and FUSE file systems frames are appended, fsynced before they are 1 s old, read without
// locks, and become a database.
TEST_F(FramesTest, ALiveRunIsReadWithoutLocksAndEndsAsAPlainDatabase) {
  const pid_t child = start_child([&] {
    log_until_stopped(&*progress_);
    return 0;
  });
  while (progress_->ready.load() == 0) sleep_ms(1);
  EXPECT_THAT(names_in(sandbox_), ::testing::UnorderedElementsAre(".json", ".frames"));
  auto store = Store::open(sandbox_.store());
  ASSERT_TRUE(store.ok());
  auto view = RunView::open(store->list_runs().at(0));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->state(), RunState::kRunning);
  EXPECT_GE((*view)->points(), 2000u);
  const uint64_t before = (*view)->points();
  for (int i = 0; i < 100 && (*view)->points() == before; ++i) {
    sleep_ms(20);
    ASSERT_TRUE((*view)->refresh().ok());
  }
  EXPECT_GT((*view)->points(), before);
  build_ended_frames(store->list_runs().at(0).path);
  EXPECT_THAT(names_in(sandbox_), ::testing::Contains(".frames")) << "no process builds while the writer lives";
  progress_->stop = 1;
  EXPECT_EQ(exit_code_of(wait_child(child)), 0);
  EXPECT_THAT(names_in(sandbox_), ::testing::UnorderedElementsAre(".json", ".db"));
  ASSERT_TRUE((*view)->refresh().ok());
  EXPECT_EQ((*view)->state(), RunState::kFinished);
  ReadRun run = recover_and_read(sandbox_.store());
  expect_rows(run, progress_->accepted, progress_->accepted);
  EXPECT_EQ(run.view->writers().at(0).identity.files, "frames");
}

TEST_F(FramesTest, KilledAtRandomInstantsNothingIsLostOrDoubled) {
  std::mt19937_64 random(test_seed("frames"));
  for (int round = 0; round < test_count(10) && !HasFailure(); ++round) {
    Sandbox sandbox;
    Shared<Progress> progress;
    const pid_t child = start_child([&] {
      log_until_stopped(&*progress);
      return 0;
    });
    while (progress->ready.load() == 0) sleep_ms(1);
    ::usleep(static_cast<useconds_t>(random() % 300'000));
    if (round % 3 == 2) progress->stop = 1;  // into finish()
    ::usleep(static_cast<useconds_t>(random() % 5000));
    ::kill(child, SIGKILL);
    wait_child(child);
    ReadRun run = recover_and_read(sandbox.store());
    expect_rows(run, progress->accepted, progress->accepted + 1);
    EXPECT_THAT(names_in(sandbox), ::testing::UnorderedElementsAre(".json", ".db"));
    EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
    EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
  }
}

// The files of a run whose process has ended and whose journal is gone.
void make_ended_run(const Sandbox& sandbox) {
  EXPECT_EQ(exit_code_of(run_child([&] {
              trk_run* run = open_run("r");
              for (int64_t step = 0; step < 300; ++step)
                CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
              CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  for (const std::string& folder : sandbox.journal_folders()) std::filesystem::remove_all(folder);
}

// A frame with one event, after the last frame of `file`.
FrameRecord next_record(const WriterStore& file, const Id128& writer) {
  Frame frame;
  frame.writer = writer;
  frame.seq = file.last_seq() + 1;
  frame.events.push_back({EventType::kNote, false, 0, 1, encode_cbor(Value::Map{{"kind", "test"}})});
  return {frame.seq, encode_frame(frame), {}};
}

// Bug: what a writer that lives all the same had appended between the reading and the unlink was gone, and stored.
TEST_F(FramesTest, WhatItsWriterAppendsWhileADatabaseIsMadeOfItIsThereOrRefused) {
  make_ended_run(sandbox_);
  const std::string folder = sandbox_.store() + "/runs/p/r", copy = sandbox_.folder() + "/copy";
  std::filesystem::copy(folder, copy);
  int pauses = 0, stored = 0;
  for (int at = 0, stride = kSlowDown == 1 ? 1 : 23; !HasFailure(); at += stride, ++pauses) {
    SCOPED_TRACE("appended before system call " + std::to_string(at));
    std::filesystem::remove_all(folder);
    std::filesystem::copy(copy, folder);
    const std::string path = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs().at(0);
    const WriterIdentity writer = (*WriterReader::open(path))->identity();
    auto file = FramesFile::open_or_create(folder, writer);
    ASSERT_TRUE(file.ok());
    const FrameRecord record = next_record(**file, writer.writer);
    bool ok = false;
    const bool paused = paused_at_call(
        at, [&] { return build_database(path).ok() ? 0 : 1; }, [&] { ok = (*file)->append({record}, true).ok(); });
    const std::vector<std::string> files = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs();
    ASSERT_EQ(files.size(), 1u) << "one file a writer";
    const auto snapshot = (*WriterReader::open(files[0]))->snapshot();
    ASSERT_TRUE(snapshot.ok());
    EXPECT_EQ(snapshot->last_seq, ok ? record.seq : record.seq - 1);
    EXPECT_EQ(snapshot->points, 300u);
    stored += ok;
    if (!paused) break;
  }
  EXPECT_GT(pauses, kSlowDown == 1 ? 10 : 3) << "is ptrace allowed here?";
  EXPECT_GT(stored, 0);
  std::printf("appended before %d system calls, stored %d times\n", pauses, stored);
}

// The bug: a builder that was slower put its own in the place of one that held more by then.
TEST_F(FramesTest, ADatabaseThatHoldsMoreStaysWhereASlowerBuilderComesToItsEnd) {
  make_ended_run(sandbox_);
  const std::string folder = sandbox_.store() + "/runs/p/r", copy = sandbox_.folder() + "/copy";
  std::filesystem::copy(folder, copy);
  int pauses = 0;
  for (int at = 0, stride = kSlowDown == 1 ? 1 : 23; !HasFailure(); at += stride, ++pauses) {
    SCOPED_TRACE("built by another one before system call " + std::to_string(at));
    std::filesystem::remove_all(folder);
    std::filesystem::copy(copy, folder);
    const std::string path = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs().at(0);
    const WriterIdentity writer = (*WriterReader::open(path))->identity();
    bool added = false;
    const bool paused = paused_at_call(
        at, [&] { return build_database(path).ok() ? 0 : 1; },
        [&] {
          if (!path_exists(path)) return;  // the other one was done
          ASSERT_TRUE(build_database(path).ok());
          auto more = DatabaseBuild::copy_of(db_path_of(path), writer);
          ASSERT_TRUE(more.ok());
          ASSERT_TRUE((*more)->append({next_record(**more, writer.writer)}, true).ok());
          ASSERT_TRUE((*more)->finish().ok());
          added = true;
        });
    const std::vector<std::string> files = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs();
    ASSERT_EQ(files.size(), 1u) << "one file a writer";
    const auto snapshot = (*WriterReader::open(files[0]))->snapshot();
    ASSERT_TRUE(snapshot.ok());
    const auto before = (*WriterReader::open(copy + path.substr(folder.size())))->snapshot();
    EXPECT_EQ(snapshot->last_seq, before->last_seq + (added ? 1 : 0));
    EXPECT_EQ(snapshot->points, 300u);
    for (const std::string& name : names_in(sandbox_)) EXPECT_EQ(name.find(".new-"), std::string::npos) << name;
    if (!paused) break;
  }
  EXPECT_GT(pauses, kSlowDown == 1 ? 10 : 3) << "is ptrace allowed here?";
}

// Bug: it was overwritten if a recoverer had died after its first frame.
TEST_F(FramesTest, WhatARecovererHasAppendedIsNotWrittenOver) {
  make_ended_run(sandbox_);
  const std::string folder = sandbox_.store() + "/runs/p/r";
  const std::string path = Store::open(sandbox_.store())->list_runs().at(0).writer_dbs().at(0);
  const WriterIdentity identity = (*WriterReader::open(path))->identity();
  auto writer = FramesFile::open_or_create(folder, identity), recoverer = FramesFile::open_or_create(folder, identity);
  ASSERT_TRUE(writer.ok() && recoverer.ok());
  const FrameRecord record = next_record(**recoverer, identity.writer);
  ASSERT_TRUE((*recoverer)->append({record}, true).ok());
  EXPECT_FALSE((*writer)->append({record}, false).ok());
  EXPECT_EQ((*writer)->change(), PartChange::kForeignFrames);
  EXPECT_FALSE((*writer)->heartbeat(5).ok());
  const auto snapshot = (*WriterReader::open(path))->snapshot();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_THAT(snapshot->damage, ::testing::IsEmpty());
  EXPECT_EQ(snapshot->last_seq, record.seq);
}

// Bug: a recoverer's note anywhere in the file let a reader make a database of what was still written.
TEST_F(FramesTest, BehindARecoverersNoteALiveWriterGoesOnAndNobodyBuilds) {
  make_ended_run(sandbox_);
  const std::string folder = sandbox_.store() + "/runs/p/r";
  const RunFolder run = Store::open(sandbox_.store())->list_runs().at(0);
  WriterIdentity identity = (*WriterReader::open(run.writer_dbs().at(0)))->identity();
  std::filesystem::remove(run.writer_dbs().at(0));
  const WriterIdentity self = this_process();
  identity.pid = self.pid;
  identity.pid_start = self.pid_start;
  identity.journal_dir.clear();
  auto file = FramesFile::open_or_create(folder, identity);
  ASSERT_TRUE(file.ok());
  Frame note;
  note.writer = identity.writer;
  note.seq = 1;
  note.events.push_back({EventType::kNote, false, 0, 1, encode_cbor(Value::Map{{"kind", "recovered"}})});
  ASSERT_TRUE((*file)->append({{1, encode_frame(note), {}}}, true).ok());
  ASSERT_TRUE((*file)->append({next_record(**file, identity.writer)}, true).ok());
  build_ended_frames(run.path);
  EXPECT_THAT(run.writer_dbs(), ::testing::ElementsAre(::testing::EndsWith(".frames")));
}

TEST_F(FramesTest, ReadersBuildOfAFileOfTheirLimitAndNotOfOneByteMore) {
  make_ended_run(sandbox_);
  const RunFolder run = Store::open(sandbox_.store())->list_runs().at(0);
  const uint64_t bytes = std::filesystem::file_size(run.writer_dbs().at(0));
  ASSERT_LT(bytes, kBuildByReadersBytesMax);
  set_build_by_readers_bytes_max_for_testing(bytes - 1);
  build_ended_frames(run.path);
  EXPECT_THAT(run.writer_dbs(), ::testing::ElementsAre(::testing::EndsWith(".frames")));
  {
    ReadRun read = recover_and_read(sandbox_.store());
    expect_rows(read, 300, 300);
  }
  set_build_by_readers_bytes_max_for_testing(bytes);
  build_ended_frames(run.path);
  set_build_by_readers_bytes_max_for_testing(kBuildByReadersBytesMax);
  EXPECT_THAT(run.writer_dbs(), ::testing::ElementsAre(::testing::EndsWith(".db")));
  ReadRun read = recover_and_read(sandbox_.store());
  expect_rows(read, 300, 300);
}

TEST_F(FramesTest, ABuilderKilledBeforeAnySystemCallLeavesOneWholeRun) {
  make_ended_run(sandbox_);
  const std::string folder = sandbox_.store() + "/runs/p/r", copy = sandbox_.folder() + "/copy";
  std::filesystem::copy(folder, copy);
  int kills = 0, stride = kSlowDown == 1 ? 1 : 23;
  for (int at = 0; !HasFailure(); at += stride, ++kills) {
    SCOPED_TRACE("killed before system call " + std::to_string(at));
    std::filesystem::remove_all(folder);
    std::filesystem::copy(copy, folder);
    const RunFolder run = Store::open(sandbox_.store())->list_runs().at(0);
    ASSERT_EQ(run.writer_dbs().size(), 1u);
    const bool killed = killed_at_call(at, [&] { return build_database(run.writer_dbs()[0]).ok() ? 0 : 1; });
    ASSERT_EQ(run.writer_dbs().size(), 1u) << "one file a writer";
    {
      ReadRun read = recover_and_read(sandbox_.store());
      expect_rows(read, 300, 300);
    }
    build_ended_frames(run.path);
    ReadRun again = recover_and_read(sandbox_.store());
    expect_rows(again, 300, 300);
    EXPECT_THAT(names_in(sandbox_), ::testing::Not(::testing::Contains(".frames")));
    if (!killed) break;
  }
  EXPECT_GT(kills, kSlowDown == 1 ? 10 : 3) << "is ptrace allowed here?";
  std::printf("killed before %d system calls\n", kills);
}

TEST_F(FramesTest, CopiedWhileItIsWrittenItIsAWholeRunUpToSomeMoment) {
  const pid_t child = start_child([&] {
    log_until_stopped(&*progress_);
    return 0;
  });
  while (progress_->ready.load() == 0) sleep_ms(1);
  for (int i = 0; i < 10; ++i) {
    const std::string copy = sandbox_.folder() + "/copy" + std::to_string(i);
    std::filesystem::copy(sandbox_.store(), copy, std::filesystem::copy_options::recursive);
    ReadRun run;
    run.view = std::move(*RunView::open(Store::open(copy)->list_runs().at(0)));
    expect_rows(run, 2000, progress_->accepted);
    sleep_ms(37);
  }
  progress_->stop = 1;
  EXPECT_EQ(exit_code_of(wait_child(child)), 0);
}

TEST_F(FramesTest, AnotherProgramsValueOfTheVariableIsAnErrorOfInit) {
  ::setenv("TRACKER_STORE_FILES", "postgres", 1);
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  EXPECT_EQ(trk_init(&options, &run, &error), TRK_INVALID);
  EXPECT_THAT(error.message, ::testing::HasSubstr("TRACKER_STORE_FILES"));
}

}  // namespace
}  // namespace tracker::internal
