// SPDX-License-Identifier: MIT
// The writing side: what append() acknowledged is stored after any end of the process, nothing is stored twice, and
// finish() leaves a plain file. Method: a real database in a temporary folder, child processes that die.
#include "storage/database/writer_db.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/sqlite/sqlite.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

class WriterDbTest : public ::testing::Test {
 protected:
  std::unique_ptr<WriterDb> create() {
    auto db = WriterDb::create(folder_.path(), identity_);
    EXPECT_TRUE(db.ok()) << db.status().to_string();
    return db.ok() ? std::move(*db) : nullptr;
  }
  std::unique_ptr<WriterDb> reopen() {
    auto db = WriterDb::open_or_create(folder_.path(), identity_);
    EXPECT_TRUE(db.ok()) << db.status().to_string();
    return db.ok() ? std::move(*db) : nullptr;
  }
  WriterSnapshot snapshot() {
    auto reader = WriterReader::open(path());
    EXPECT_TRUE(reader.ok()) << reader.status().to_string();
    if (!reader.ok()) return {};
    auto snapshot = (*reader)->snapshot();
    EXPECT_TRUE(snapshot.ok()) << snapshot.status().to_string();
    return snapshot.ok() ? *snapshot : WriterSnapshot();
  }
  std::string path() const { return db_path(folder_.path(), identity_); }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
};

TEST_F(WriterDbTest, FramesAreThereAfterFinishAndTheFolderHoldsOneFile) {
  auto db = create();
  for (uint64_t seq = 1; seq <= 20; ++seq) ASSERT_TRUE(db->append({test_record(identity_, seq)}, seq % 10 == 0).ok());
  EXPECT_EQ(db->last_seq(), 20u);
  EXPECT_EQ(db->points_stored(), 120u);
  ASSERT_TRUE(db->finish().ok());
  EXPECT_EQ(*list_dir(folder_.path()), std::vector<std::string>{identity_.writer.hex() + ".db"});
  EXPECT_EQ(stored_frames(path()), one_to(20));
}

// Promise P3: `durable_seq` is the newest frame under an fsync.
TEST_F(WriterDbTest, TheDurableNumberIsThatOfTheNewestFrameUnderAnFsync) {
  auto db = create();
  ASSERT_TRUE(db->append({test_record(identity_, 1)}, false).ok());
  EXPECT_EQ(db->durable_seq(), 0u);
  ASSERT_TRUE(db->append({test_record(identity_, 2)}, true).ok());
  ASSERT_TRUE(db->append({test_record(identity_, 3)}, false).ok());
  EXPECT_EQ(db->durable_seq(), 2u);
  EXPECT_EQ(snapshot().durable_seq, 2u);
  db = reopen();
  EXPECT_EQ(db->durable_seq(), 2u);
  ASSERT_TRUE(db->finish().ok());
  EXPECT_EQ(snapshot().durable_seq, 3u);
}

// Promise P11: A database file has one writer.
TEST_F(WriterDbTest, ASecondCreateIsRefused) {
  auto db = create();
  EXPECT_EQ(WriterDb::create(folder_.path(), identity_).status().code(), Code::kExists);
}

TEST_F(WriterDbTest, TheIdentityIsReadBeforeTheFirstCommit) {
  auto db = create();
  const WriterSnapshot found = snapshot();
  EXPECT_EQ(found.identity.writer, identity_.writer);
  EXPECT_EQ(found.identity.run.uid, identity_.run.uid);
  EXPECT_EQ(found.last_seq, 0u);
}

TEST_F(WriterDbTest, ARepeatedAppendStoresNothingTwice) {
  auto db = create();
  const std::vector<FrameRecord> records = {test_record(identity_, 1), test_record(identity_, 2)};
  ASSERT_TRUE(db->append(records, false).ok());
  ASSERT_TRUE(db->append(records, true).ok());
  EXPECT_EQ(db->points_stored(), 12u);
  const WriterSnapshot found = snapshot();
  EXPECT_EQ(found.points, 12u);
  ASSERT_EQ(found.series.size(), 2u);
  EXPECT_EQ(found.series[0].points, 6u);
}

// Bug: a flush of an idle process, just after its file was opened again, adopted frames that another process had stored
// under its next numbers; what it logged then counted as stored.
TEST_F(WriterDbTest, AnAppendWithoutFramesTakesNoForeignOnesForItsOwn) {
  auto other = create();
  ASSERT_TRUE(other->append({test_record(identity_, 1), test_record(identity_, 2)}, true).ok());
  ASSERT_TRUE(other->finish().ok());
  auto db = reopen();
  ASSERT_TRUE(db->append({}, true).ok());
  Frame mine = test_frame(identity_, 2);
  mine.events.push_back({EventType::kText, false, 0, 1, "mine"});
  EXPECT_FALSE(db->append({record_of(mine, {})}, true).ok());
  EXPECT_EQ(db->change(), PartChange::kForeignFrames);
}

// Promise P1: Ring space is released only by a commit or a record of the spill file, which carry the positions of the
// rings.
TEST_F(WriterDbTest, PositionsAreCommittedWithTheirFramesAndRetiredOnesGo) {
  auto db = create();
  ASSERT_TRUE(db->append({record_of(test_frame(identity_, 1), {{1, 10}, {~0ull, ~0ull - 1}})}, false).ok());
  ASSERT_TRUE(db->append({record_of(test_frame(identity_, 2), {{1, 20}})}, false).ok());
  const std::vector<RingPosition> expected = {{1, 20}, {~0ull, ~0ull - 1}};
  EXPECT_EQ(db->positions(), expected);
  ASSERT_TRUE(db->append({}, false, {~0ull}).ok());
  EXPECT_EQ(db->positions(), (std::vector<RingPosition>{{1, 20}}));
  db.reset();
  EXPECT_EQ(reopen()->positions(), (std::vector<RingPosition>{{1, 20}}));
}

TEST_F(WriterDbTest, AForeignOrDamagedFrameIsRefusedAndNothingOfTheCallIsStored) {
  auto db = create();
  WriterIdentity other = test_identity();
  EXPECT_EQ(db->append({test_record(identity_, 1), test_record(other, 2)}, false).code(), Code::kInvalid);
  FrameRecord damaged = test_record(identity_, 2);
  damaged.bytes[50] = static_cast<char>(damaged.bytes[50] ^ 1);
  EXPECT_EQ(db->append({test_record(identity_, 1), damaged}, false).code(), Code::kCorrupt);
  EXPECT_EQ(db->last_seq(), 0u);
  EXPECT_EQ(stored_frames(path()), one_to(0));
  EXPECT_TRUE(db->append({test_record(identity_, 1)}, false).ok());
}

TEST_F(WriterDbTest, AnAppendThatWasRefusedIsNotInTheStatisticsUntilItIsRepeated) {
  auto db = create();
  ASSERT_TRUE(db->append({test_record(identity_, 1)}, true).ok());
  WriterIdentity other = test_identity();
  EXPECT_EQ(db->append({test_record(identity_, 2), test_record(other, 3)}, true).code(), Code::kInvalid);
  {
    auto in_the_way = Sqlite::open(path(), SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(in_the_way->exec("BEGIN IMMEDIATE").ok());
    EXPECT_EQ(db->append({test_record(identity_, 2)}, true).code(), Code::kBusy);
    ASSERT_TRUE(in_the_way->exec("ROLLBACK").ok());
  }
  ASSERT_TRUE(db->append({test_record(identity_, 2)}, true).ok());
  ASSERT_TRUE(db->finish().ok());
  const WriterSnapshot found = snapshot();
  EXPECT_EQ(found.points, 12u);
  ASSERT_EQ(found.series.size(), 2u);
  EXPECT_EQ(found.series[0].points, 6u);
  EXPECT_NE(found.series[0].def.name, "");
}

TEST_F(WriterDbTest, CommittedFramesSurviveKillMinusNine) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto db = WriterDb::create(folder_.path(), identity_);
    for (uint64_t seq = 1; seq <= 50 && db.ok(); ++seq)
      if (!(*db)->append({test_record(identity_, seq)}, seq == 25).ok()) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(stored_frames(path()), one_to(50));
  auto db = reopen();
  EXPECT_EQ(db->last_seq(), 50u);
  EXPECT_EQ(db->points_stored(), 300u);
  EXPECT_EQ(db->positions(), (std::vector<RingPosition>{{7, 5000}}));
  ASSERT_TRUE(db->append({test_record(identity_, 51)}, false).ok());
  ASSERT_TRUE(db->finish().ok());
  const WriterSnapshot found = snapshot();
  EXPECT_EQ(found.series[0].points, 153u);
  EXPECT_EQ(found.series[0].step_max, 152);
  EXPECT_EQ(found.series[0].last_bits, bits_of(153.0));
}

TEST_F(WriterDbTest, AFinishedDatabaseCanBeOpenedAgainForRecovery) {
  auto db = create();
  ASSERT_TRUE(db->append({test_record(identity_, 1)}, false).ok());
  ASSERT_TRUE(db->finish().ok());
  db = reopen();
  EXPECT_EQ(db->last_seq(), 1u);
  ASSERT_TRUE(db->append({test_record(identity_, 2)}, true).ok());
  ASSERT_TRUE(db->finish().ok());
  EXPECT_EQ(stored_frames(path()), one_to(2));
  EXPECT_EQ(list_dir(folder_.path())->size(), 1u);
}

TEST_F(WriterDbTest, AppendAfterFinishSaysClosed) {
  auto db = create();
  ASSERT_TRUE(db->finish().ok());
  EXPECT_EQ(db->append({test_record(identity_, 1)}, false).code(), Code::kClosed);
  EXPECT_EQ(db->heartbeat(1).code(), Code::kClosed);
}

TEST_F(WriterDbTest, AReaderInATransactionMakesFinishBusyAndTheDataIsSafe) {
  auto db = create();
  ASSERT_TRUE(db->append({test_record(identity_, 1)}, true).ok());
  auto reader = Sqlite::open(path(), SqliteOpen::kRead, 0);
  ASSERT_TRUE(reader.ok() && reader->exec("BEGIN; SELECT count(*) FROM frames").ok());
  ASSERT_TRUE(db->append({test_record(identity_, 2)}, false).ok());
  const Status status = db->finish(50);
  EXPECT_EQ(status.code(), Code::kBusy) << status.to_string();
  reader->close();
  EXPECT_EQ(stored_frames(path()), one_to(2));
  ASSERT_TRUE(reopen()->finish().ok());
  EXPECT_EQ(stored_frames(path()), one_to(2));
}

TEST_F(WriterDbTest, AnIdleForeignReaderLeavesWalModeButNoData) {
  auto db = create();
  ASSERT_TRUE(db->append({test_record(identity_, 1)}, true).ok());
  auto reader = Sqlite::open(path(), SqliteOpen::kRead, 0);
  ASSERT_TRUE(reader.ok() && reader->exec("SELECT count(*) FROM frames").ok());
  EXPECT_EQ(db->finish(50).code(), Code::kBusy);
  EXPECT_EQ(std::filesystem::file_size(path() + "-wal"), 0u);  // all of it is in the .db
  EXPECT_EQ(stored_frames(path()), one_to(1));
}

TEST_F(WriterDbTest, OurOwnOpenReaderDoesNotKeepFinishFromItsWork) {
  auto db = create();
  ASSERT_TRUE(db->append({test_record(identity_, 1)}, true).ok());
  auto reader = WriterReader::open(path());
  ASSERT_TRUE(reader.ok() && (*reader)->snapshot().ok());
  EXPECT_TRUE(db->finish().ok());
  EXPECT_EQ((*reader)->snapshot()->points, 6u);
}

TEST_F(WriterDbTest, ADatabaseThatWasRemovedIsNoticedByTheNextDurableAppend) {
  auto db = create();
  ASSERT_TRUE(db->append({test_record(identity_, 1)}, true).ok());
  remove_file(path());
  EXPECT_EQ(db->append({test_record(identity_, 2)}, true).code(), Code::kIo);
}

TEST_F(WriterDbTest, ConfigIsKeptByPathAndALaterMapReplacesWhatStoodBelow) {
  auto db = create();
  const auto config = [&](uint64_t seq, const char* key, Value value) {
    const Value payload = Value::Map{{"key", key}, {"value", std::move(value)}};
    return record_of(event_frame(identity_, seq, EventType::kConfig, payload, static_cast<int64_t>(seq)));
  };
  const Value both = Value::Map{{"lr", 0.1}, {"opt", Value::Map{{"name", "adam"}, {"beta", 0.9}}}};
  ASSERT_TRUE(db->append({config(1, "", both)}, false).ok());
  ASSERT_TRUE(db->append({config(2, "", Value::Map{{"opt", Value::Map{{"beta", 0.5}}}})}, false).ok());
  ASSERT_TRUE(db->append({config(3, "lr", 0.2)}, false).ok());
  std::vector<std::string> keys;
  for (const Attribute& a : snapshot().attributes) keys.push_back(a.key + "=" + to_json(a.value));
  EXPECT_EQ(keys, (std::vector<std::string>{"lr=0.2", "opt/name=\"adam\"", "opt/beta=0.5"}));
  ASSERT_TRUE(db->append({config(4, "opt", "sgd")}, false).ok());
  keys.clear();
  for (const Attribute& a : snapshot().attributes) keys.push_back(a.key + "=" + to_json(a.value));
  EXPECT_EQ(keys, (std::vector<std::string>{"lr=0.2", "opt=\"sgd\""}));
}

// Regression: they were treated as paths, as config is, and a key removed those below it.
TEST_F(WriterDbTest, KeysOfSummaryAndAttributesHideNothingBelowThem) {
  auto db = create();
  uint64_t seq = 0;
  for (const EventType type : {EventType::kSummary, EventType::kAttribute})
    for (const char* key : {"acc/top5", "acc"}) {
      const Value payload = Value::Map{{"key", key}, {"value", int64_t{1}}};
      ++seq;
      const Frame frame = event_frame(identity_, seq, type, payload, static_cast<int64_t>(seq));
      ASSERT_TRUE(db->append({record_of(frame)}, false).ok());
    }
  std::vector<std::string> keys;
  for (const Attribute& a : snapshot().attributes) keys.push_back(a.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"acc/top5", "acc", "acc/top5", "acc"}));
}

TEST_F(WriterDbTest, EndRecoveredNoteTextsAndLossesAreInTheSnapshot) {
  auto db = create();
  Frame loss;
  loss.writer = identity_.writer;
  loss.seq = 6;
  loss.losses = {{1, LossReason::kRingFull, 3}, {1, LossReason::kRingFull, 4}, {0, LossReason::kTooLarge, 1}};
  const auto event = [&](uint64_t seq, EventType type, const Value& payload) {
    return record_of(event_frame(identity_, seq, type, payload, 99));
  };
  const Value end = Value::Map{{"state", "failed"}, {"exit_code", 3}, {"reason", "x"}};
  ASSERT_TRUE(
      db->append({test_record(identity_, 1), event(2, EventType::kText, Value::Map{{"key", "say"}, {"text", "a"}}),
                  event(3, EventType::kText, Value::Map{{"key", "say"}, {"text", "b"}}),
                  event(4, EventType::kNote, Value::Map{{"kind", "recovered"}, {"points", 5}}),
                  event(5, EventType::kEnd, end), record_of(loss)},
                 false)
          .ok());
  ASSERT_TRUE(db->heartbeat(1234).ok());
  const WriterSnapshot found = snapshot();
  ASSERT_EQ(found.attributes.size(), 1u);
  EXPECT_EQ(found.attributes[0].type, EventType::kText);
  EXPECT_EQ(found.attributes[0].value, Value(2));
  ASSERT_TRUE(found.end.has_value());
  EXPECT_EQ(found.end->state, RunState::kFailed);
  EXPECT_EQ(found.end->exit_code, 3);
  EXPECT_EQ(found.end->time_us, 99);
  ASSERT_TRUE(found.recovered.has_value());
  EXPECT_EQ(found.recovered->int_or("points", 0), 5);
  EXPECT_EQ(found.dropped, 8u);
  EXPECT_EQ(found.series[0].dropped, 7u);
  EXPECT_EQ(found.heartbeat_us, 1234);
}

TEST_F(WriterDbTest, TheLargestStepOfTextsAndMediaIsInTheSnapshotAndNoOtherEventsIs) {
  auto db = create();
  EXPECT_FALSE(snapshot().step_max.has_value());
  uint64_t seq = 0;
  for (const auto& [type, step] :
       {std::pair{EventType::kText, int64_t{-7}}, std::pair{EventType::kMedia, int64_t{40}},
        std::pair{EventType::kText, int64_t{12}}, std::pair{EventType::kAlert, int64_t{99}}}) {
    ++seq;
    Frame frame = event_frame(identity_, seq, type, Value::Map{{"key", "say"}, {"title", "t"}}, 1);
    frame.events[0].has_step = true;
    frame.events[0].step = step;
    ASSERT_TRUE(db->append({record_of(frame)}, false).ok());
    EXPECT_EQ(snapshot().step_max, seq == 1 ? -7 : 40);
  }
}

// Names wait for the rows of their series, usually seconds. kNamesHeldBytesMax: 262,144 of them took 30 MiB.
TEST_F(WriterDbTest, VeryManyNewNamesAreWrittenWithoutWaitingForTheirTime) {
  auto db = create();
  const auto append_names = [&](uint64_t seq, uint32_t first, size_t bytes) {
    Frame frame;
    frame.writer = identity_.writer;
    frame.seq = seq;
    for (uint32_t id = first; bytes > 0; ++id, bytes -= 512)
      frame.defs.push_back({id, ValueType::kFloat64, std::to_string(id) + std::string(512 - 4, 'n')});
    return db->append({record_of(frame, {})}, false).ok();
  };
  const auto rows = [&] {
    return Sqlite::open(path(), SqliteOpen::kRead, 0)->query_text("SELECT count(*) FROM series");
  };
  ASSERT_TRUE(append_names(1, 1000, 512));  // the first append writes the rows
  ASSERT_TRUE(append_names(2, 1001, 512 * 1000));
  EXPECT_EQ(*rows(), "1");
  ASSERT_TRUE(append_names(3, 2001, 512 * 100));
  EXPECT_EQ(*rows(), "1101");
  ASSERT_TRUE(db->finish().ok());
  EXPECT_EQ(snapshot().series.size(), 1101u);
}

TEST_F(WriterDbTest, ALongRunKeepsItsWalBounded) {
  auto db = create();
  const Frame big = test_frame(identity_, 1, 4, 4000);
  for (uint64_t seq = 1; seq <= 800; ++seq) {
    Frame frame = big;
    frame.seq = seq;
    if (seq > 1) frame.defs.clear();
    ASSERT_TRUE(db->append({record_of(frame)}, false).ok());
  }
  const auto wal = std::filesystem::file_size(path() + "-wal");
  EXPECT_LT(wal, 80u << 20);
  ASSERT_TRUE(db->finish().ok());
  EXPECT_EQ(stored_frames(path()), one_to(800));
}

}  // namespace
}  // namespace tracker::internal
