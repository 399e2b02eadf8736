// SPDX-License-Identifier: MIT
// A writer's files in several parts: readers unite them, and count as lost what a part should have and does not. A
// reader that stays in a transaction cannot make the WAL grow without end. Method: parts made by hand, of both kinds; a
// small limit of the WAL, and SQLite itself as the reader, in another process.
#include "storage/database/writer_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "base/fs.h"
#include "storage/database/log_index.h"
#include "storage/frames/database_build.h"
#include "storage/frames/frames_file.h"
#include "storage/sqlite/sqlite.h"
#include "storage/store/store.h"
#include "storage/verify/verify.h"
#include "storage/writer/store_files.h"
#include "support/child.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kSmallLimit = 256u << 10;

// A process that stays in a read transaction on `path` until it gets a signal to end.
class ParkedReader {
 public:
  explicit ParkedReader(const std::string& path) {
    int ready[2], go[2];
    if (::pipe(ready) != 0 || ::pipe(go) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) ::_exit(park(path, ready[1], go[0]));
    char byte = 0;
    parked_ = ::read(ready[0], &byte, 1) == 1 && byte == 'y';
    go_ = go[1];
    for (const int fd : {ready[0], ready[1], go[0]}) ::close(fd);
  }
  bool parked() const { return parked_; }
  pid_t pid() const { return child_; }
  ~ParkedReader() {
    ::close(go_);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  static int park(const std::string& path, int ready, int go) {
    sqlite3* db = nullptr;
    char byte = 'n';
    if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
        sqlite3_exec(db, "BEGIN; SELECT count(*) FROM frames", nullptr, nullptr, nullptr) == SQLITE_OK)
      byte = 'y';
    if (::write(ready, &byte, 1) != 1) return 1;
    return static_cast<int>(::read(go, &byte, 1));
  }
  pid_t child_ = -1;
  int go_ = -1;
  bool parked_ = false;
};

class WriterPartsTest : public ::testing::Test {
 protected:
  void SetUp() override { set_wal_bytes_max_for_testing(kSmallLimit); }
  void TearDown() override { set_wal_bytes_max_for_testing(kWalBytesMax); }

  FrameRecord large(uint64_t seq) const { return record_of(test_frame(identity_, seq, 2, 500), {{7, seq}}); }
  void append(WriterDb* db, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t seq = db->last_seq() + 1;
      ASSERT_TRUE(db->append({large(seq)}, seq % 10 == 0).ok());
      stored_ = seq;
    }
  }
  std::string path() const { return db_path(folder_.path(), identity_); }
  uint64_t wal_bytes(int part) const {
    struct stat st{};
    return ::stat((part_path(path(), part) + "-wal").c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
  }
  void expect_whole() {
    const RunFolder run{identity_.run, folder_.path()};
    ASSERT_EQ(run.writer_dbs(), std::vector<std::string>{path()});
    EXPECT_EQ(stored_frames(path()), one_to(static_cast<int64_t>(stored_)));
    auto snapshot = (*WriterReader::open(path()))->snapshot();
    ASSERT_TRUE(snapshot.ok());
    EXPECT_EQ(snapshot->points, stored_ * 1000);
    ASSERT_EQ(snapshot->series.size(), 2u);
    EXPECT_EQ(snapshot->series[0].points, stored_ * 500);
    EXPECT_EQ(snapshot->series[0].def.name, "metric/1");
    EXPECT_EQ(snapshot->last_seq, stored_);
    EXPECT_TRUE(snapshot->damage.empty());
  }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
  uint64_t stored_ = 0;
};

TEST_F(WriterPartsTest, WithoutAParkedReaderThereIsOneFileWhateverItsSize) {
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 300);
  EXPECT_EQ((*db)->change(), PartChange::kNone);
  EXPECT_GT(stored_ * 2000, 2 * kSmallLimit);
  expect_whole();
}

TEST_F(WriterPartsTest, AParkedReaderMakesTheWriterLeaveThePartWhichIsWhole) {
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 10);
  {
    const ParkedReader reader(path());
    ASSERT_TRUE(reader.parked());
    while ((*db)->change() == PartChange::kNone) append(db->get(), 10);
    EXPECT_EQ((*db)->change(), PartChange::kPinned);
    EXPECT_LT(wal_bytes(1), 3 * kSmallLimit);
    auto next = identity_;
    next.part = 2;
    next.before = parts_before(*(*WriterReader::open(path()))->snapshot());
    auto second = WriterDb::create(folder_.path(), next);
    append(second->get(), 10);
    expect_whole();
    const int64_t begun = now_ns();
    checkpoint_part(path());
    EXPECT_GE(std::chrono::nanoseconds(now_ns() - begun), kCheckpointPartWait * 9 / 10);
    EXPECT_GT(wal_bytes(1), 0u);
  }
  checkpoint_part(path());
  EXPECT_EQ(wal_bytes(1), 0u);
  expect_whole();
}

TEST_F(WriterPartsTest, ALogThatAReaderHoldsIsWaitedForSoLongAndGivenBackTheNextTime) {
  set_wal_bytes_max_for_testing(kWalBytesMax);
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 10);
  const auto shrunk_in = [&] {
    const int64_t begun = now_ns();
    (*db)->shrink();
    return std::chrono::nanoseconds(now_ns() - begun);
  };
  std::chrono::nanoseconds least{INT64_MAX};
  {
    const ParkedReader reader(path());
    ASSERT_TRUE(reader.parked());
    while (wal_bytes(1) < (512u << 10)) append(db->get(), 10);
    const uint64_t before = wal_bytes(1);
    for (int i = 0; i < 5; ++i) least = std::min(least, shrunk_in());
    EXPECT_GE(wal_bytes(1), before);
  }
  EXPECT_GE(least, kShrinkWait);
  EXPECT_LT(least, kShrinkWait * 9 / 5) << "an append waits for 100 ms";
  (*db)->shrink();
  EXPECT_EQ(wal_bytes(1), 0u);
  expect_whole();
}

// A reader that ends within that time delays nothing. On a busy machine it may have ended before.
TEST_F(WriterPartsTest, AReaderThatGoesMeanwhileKeepsNoLog) {
  set_wal_bytes_max_for_testing(kWalBytesMax);
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 10);
  bool waited = false;
  for (int tries = 0; tries < 50 && !waited; ++tries) {
    const ParkedReader reader(path());
    ASSERT_TRUE(reader.parked());
    while (wal_bytes(1) < (512u << 10)) append(db->get(), 10);
    const pid_t killer = start_child([&] { return sleep_ms(10), ::kill(reader.pid(), SIGKILL); });
    const int64_t begun = now_ns();
    (*db)->shrink();
    waited = wal_bytes(1) == 0 && now_ns() - begun > 5'000'000;
    wait_child(killer);
  }
  EXPECT_TRUE(waited);
  expect_whole();
}

// --- parts that are made by hand

constexpr int64_t kConfigTimeUs = 77;

// The start of a part: the series, and the config.
Frame state_frame(const WriterIdentity& identity, uint64_t seq) {
  Frame out = event_frame(identity, seq, EventType::kConfig, Value::Map{{"key", "lr"}, {"value", 0.5}}, kConfigTimeUs);
  out.defs = {{1, ValueType::kFloat64, "metric/1"}, {2, ValueType::kFloat64, "metric/2"}};
  return out;
}

Frame text_frame(const WriterIdentity& identity, uint64_t seq) {
  Frame out = event_frame(identity, seq, EventType::kText, Value::Map{{"key", "t"}, {"text", "hello"}}, 5);
  out.losses.push_back({0, LossReason::kRingFull, 4});
  return out;
}

constexpr StoreFiles kAsDb = StoreFiles::kSqlite, kAsFrames = StoreFiles::kFrames;

// Each part: a frame of state, five frames of six points, a text and four dropped points: frames 1 to 7, 8 to 14, …
class PartsTest : public ::testing::TestWithParam<std::pair<StoreFiles, StoreFiles>> {
 protected:
  static constexpr uint64_t kFramesEach = 7, kPointsEach = 30;

  std::string path() const { return db_path(folder_.path(), identity_); }
  std::string file(int part, StoreFiles kind) const {
    return part_path(kind == kAsFrames ? frames_path_of(path()) : path(), part);
  }
  WriterIdentity identity_of(int part) const {
    WriterIdentity out = identity_;
    out.part = part;
    out.before = before_;
    return out;
  }
  std::unique_ptr<WriterStore> open_part(int part, StoreFiles kind) {
    auto store = open_writer_store(folder_.path(), identity_of(part), kind);
    EXPECT_TRUE(store.ok()) << store.status().to_string();
    return std::move(*store);
  }
  std::vector<FrameRecord> frames_of_part() const {
    const uint64_t first = before_.seq + 1;
    std::vector<FrameRecord> out{record_of(state_frame(identity_, first), {{7, first}})};
    for (uint64_t i = 1; i <= 5; ++i)
      out.push_back(record_of(test_frame(identity_, first + i, 2, 3), {{7, first + i}}));
    out.push_back(record_of(text_frame(identity_, first + 6), {{7, first + 6}}));
    return out;
  }
  void make_part(int part, StoreFiles kind) {
    auto store = open_part(part, kind);
    ASSERT_TRUE(store->append(frames_of_part(), true).ok());
    store.reset();
    before_ = parts_before(snapshot());
  }
  // To part 2, the last one.
  void append_end() {
    const Value end = Value::Map{{"state", "finished"}};
    const FrameRecord record = record_of(event_frame(identity_, before_.seq + 1, EventType::kEnd, end));
    ASSERT_TRUE(open_part(2, GetParam().second)->append({record}, true).ok());
  }
  void remove_part(int part, StoreFiles kind) {
    for (const char* suffix : {"", "-wal", "-shm"}) remove_file(file(part, kind) + suffix);
  }
  WriterSnapshot snapshot() const {
    auto reader = WriterReader::open(path());
    EXPECT_TRUE(reader.ok()) << reader.status().to_string();
    auto out = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.value_or(WriterSnapshot());
  }
  // Parts 1 to `last`, of which `held` exist.
  void expect_held(int last, uint64_t held, const std::string& named) const {
    const auto all = static_cast<uint64_t>(last);
    const WriterSnapshot now = snapshot();
    EXPECT_EQ(now.parts, last);
    EXPECT_EQ(now.points, held * kPointsEach);
    EXPECT_EQ(now.frames, held * kFramesEach);
    EXPECT_EQ(now.last_seq, all * kFramesEach);
    EXPECT_EQ(now.texts(), held);
    EXPECT_EQ(now.end_of_log(), (LogPosition{all * kFramesEach, all * kPointsEach}));
    EXPECT_EQ(now.missing.points, (all - held) * kPointsEach);
    EXPECT_EQ(now.missing.texts, all - held);
    EXPECT_EQ(now.missing.dropped, (all - held) * 4);
    EXPECT_EQ(now.dropped, all * 4 + (all - held) * kPointsEach);
    EXPECT_EQ(now.texts_dropped, all - held);
    EXPECT_EQ(now.identity.part, 1);
    EXPECT_EQ(now.identity.before.seq, 0u);
    ASSERT_EQ(now.series.size(), 2u);
    EXPECT_EQ(now.series[0].def.name, "metric/1");
    EXPECT_EQ(now.series[0].points, held * kPointsEach / 2);
    ASSERT_EQ(now.positions.size(), 1u);
    EXPECT_EQ(now.positions[0].position, all * kFramesEach);
    ASSERT_FALSE(now.attributes.empty());
    EXPECT_EQ(now.attributes[0].key, "lr");
    EXPECT_EQ(now.attributes[0].time_us, kConfigTimeUs);
    if (named.empty()) {
      EXPECT_THAT(now.damage, ::testing::IsEmpty());
    } else {
      ASSERT_EQ(now.damage.size(), 1u);
      EXPECT_THAT(now.damage[0].what,
                  ::testing::AllOf(::testing::HasSubstr(named), ::testing::HasSubstr("counted as lost")));
    }
    auto reader = WriterReader::open(path());
    std::vector<LogDamage> damage;
    SeqVisitor visitor([](uint64_t) { return true; });
    LogPosition at;
    ASSERT_TRUE((*reader)->read(&at, now.end_of_log(), &visitor, &damage).ok());
    EXPECT_EQ(at, now.end_of_log());
    EXPECT_THAT(damage, ::testing::IsEmpty());
  }
  std::vector<std::string> findings() const {
    std::vector<std::string> out;
    for (const Finding& each : verify_runs({folder_.path()}, "", {}).findings)
      if (each.kind != "run-file") out.push_back(each.kind);
    return out;
  }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
  PartsBefore before_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, PartsTest,
                         ::testing::Values(std::pair(kAsDb, kAsDb), std::pair(kAsFrames, kAsFrames),
                                           std::pair(kAsDb, kAsFrames), std::pair(kAsFrames, kAsDb)),
                         [](const auto& kinds) {
                           return std::string(kinds.param.first == kAsDb ? "Db" : "Frames") +
                                  (kinds.param.second == kAsDb ? "Db" : "Frames");
                         });

// Promise P5: Readers unite the parts of a writer's files and count as lost what a missing or unreadable part held.
TEST_P(PartsTest, AreReadAsOneLog) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  expect_held(2, 2, "");
  EXPECT_EQ(stored_frames(path()), one_to(14));
  EXPECT_EQ(stored_frames(file(2, GetParam().second)), one_to(14)) << "by the path of any part";
  EXPECT_THAT((RunFolder{identity_.run, folder_.path()}.writer_dbs()),
              ::testing::ElementsAre(file(1, GetParam().first)));
  EXPECT_THAT(findings(), ::testing::IsEmpty());
}

TEST_P(PartsTest, AReaderStopsAndGoesOnAtEveryFrameOfEveryPart) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  auto reader = WriterReader::open(path());
  const LogPosition end = (*reader)->snapshot()->end_of_log();
  std::vector<int64_t> seen;
  SeqVisitor one([&seen](uint64_t seq) { return seen.push_back(static_cast<int64_t>(seq)), false; });
  LogPosition at;
  while (at.seq < end.seq) {
    ASSERT_TRUE((*reader)->read(&at, end, &one).ok());
    EXPECT_EQ(at.seq, seen.size());
    EXPECT_EQ((*reader)->place_of(at.seq)->points, at.points) << at.seq;
  }
  EXPECT_EQ(seen, one_to(14));
  EXPECT_EQ(at, end);
}

TEST_P(PartsTest, AMissingFirstPartIsCountedAsLost) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  remove_part(1, GetParam().first);
  expect_held(2, 1, identity_.writer.hex() + ": part 1 of 2 is missing; counted as lost: 30 points and 1 text");
  EXPECT_EQ(stored_frames(path()), (std::vector<int64_t>{8, 9, 10, 11, 12, 13, 14}));
  EXPECT_THAT((RunFolder{identity_.run, folder_.path()}.writer_dbs()),
              ::testing::ElementsAre(file(2, GetParam().second)));
  EXPECT_THAT(findings(), ::testing::ElementsAre("parts"));
}

TEST_P(PartsTest, ALossThatTheAccountHoldsIsReportedAndIsNoProblem) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  remove_part(1, GetParam().first);
  EXPECT_EQ(snapshot().damage.at(0).code, Code::kOk);
  EXPECT_THAT(snapshot().losses, ::testing::Contains(Loss{kTextLosses, LossReason::kFileChanged, 1}));
  std::ofstream(file(1, kAsDb)) << "no database";
  EXPECT_EQ(snapshot().damage.at(0).code, Code::kCorrupt) << "it can be replaced by a copy";
}

TEST_P(PartsTest, PartsThatTheWriterHasLeftBecomeDatabasesWhenItHasEnded) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  build_ended_frames(folder_.path());
  EXPECT_EQ(path_exists(file(1, kAsFrames)), GetParam().first == kAsFrames && GetParam().second == kAsFrames);
  append_end();
  build_ended_frames(folder_.path());
  EXPECT_FALSE(path_exists(file(1, kAsFrames)));
  EXPECT_EQ(stored_frames(path()), one_to(15));
  EXPECT_THAT(findings(), ::testing::IsEmpty());
}

TEST_P(PartsTest, AMissingMiddlePartIsCountedAsLost) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  make_part(3, GetParam().first);
  auto reader = WriterReader::open(path());
  remove_part(2, GetParam().second);
  expect_held(3, 2, "part 2 of 3 is missing; counted as lost: 30 points");
  EXPECT_EQ((*reader)->snapshot()->points, 2 * kPointsEach) << "also by a reader that was open";
  EXPECT_THAT(findings(), ::testing::ElementsAre("parts"));
}

TEST_P(PartsTest, WhatIsMissingIsCountedInTheNextPartToo) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  remove_part(1, GetParam().first);
  before_ = parts_before(snapshot());
  make_part(3, GetParam().first);
  expect_held(3, 2, "part 1 of 3 is missing; counted as lost: 30 points");
}

TEST_P(PartsTest, AnUnreadablePartIsCountedAsLost) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  remove_part(1, GetParam().first);
  std::ofstream(file(1, GetParam().first)) << std::string(10'000, 'n');
  expect_held(2, 1, file(1, GetParam().first));
}

TEST_P(PartsTest, AnUnreadableLastPartLeavesTheOthers) {
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  remove_part(2, GetParam().second);
  std::ofstream(file(2, GetParam().second)) << std::string(10'000, 'n');
  const WriterSnapshot now = snapshot();
  EXPECT_EQ(now.points, kPointsEach);
  EXPECT_EQ(now.parts, 2);
  ASSERT_EQ(now.damage.size(), 1u);
  EXPECT_THAT(now.damage[0].what, ::testing::HasSubstr(file(2, GetParam().second)));
  EXPECT_EQ(stored_frames(path()), one_to(7));
}

// After a failed fsync the frames above the durable number are in the next part, too.
TEST_P(PartsTest, ANumberThatIsInTwoPartsCountsOnce) {
  make_part(1, GetParam().first);
  before_ = {4, 18, 0, 0, 18};
  auto store = open_part(2, GetParam().second);
  std::vector<FrameRecord> again = {record_of(test_frame(identity_, 5, 2, 3), {{7, 5}}),
                                    record_of(test_frame(identity_, 6, 2, 3), {{7, 6}}),
                                    record_of(text_frame(identity_, 7), {{7, 7}})};
  again.push_back(record_of(state_frame(identity_, 8), {{7, 8}}));
  const WriterSnapshot before = snapshot();
  EXPECT_EQ(before.last_seq, 7u) << "the part has no frame yet";
  EXPECT_EQ(before.points, kPointsEach);
  ASSERT_TRUE(store->append(again, true).ok());
  store.reset();
  const WriterSnapshot now = snapshot();
  EXPECT_EQ(now.points, kPointsEach);
  EXPECT_EQ(now.frames, 8u);
  EXPECT_EQ(now.texts(), 1u);
  EXPECT_EQ(now.dropped, 4u);
  EXPECT_EQ(now.series.at(0).points, kPointsEach / 2);
  EXPECT_THAT(now.damage, ::testing::IsEmpty());
  EXPECT_EQ(stored_frames(path()), one_to(8));
  auto reader = WriterReader::open(path());
  LogPosition at;
  SeqVisitor visitor([](uint64_t) { return true; });
  ASSERT_TRUE((*reader)->read(&at, now.end_of_log(), &visitor).ok());
  EXPECT_EQ(at, now.end_of_log());
  EXPECT_EQ((*reader)->place_of(5)->points, 24u);
  EXPECT_EQ(*(*reader)->log_index(), nullptr);
  EXPECT_THAT(findings(), ::testing::IsEmpty());
}

TEST_P(PartsTest, APartWithoutFramesChangesNothing) {
  make_part(1, GetParam().first);
  (void)open_part(2, GetParam().second);
  const WriterSnapshot now = snapshot();
  EXPECT_EQ(now.points, kPointsEach);
  EXPECT_EQ(now.attributes.size(), 2u);
  EXPECT_EQ(now.positions.size(), 1u);
  EXPECT_THAT(now.damage, ::testing::IsEmpty());
  EXPECT_EQ(stored_frames(path()), one_to(7));
  EXPECT_THAT(findings(), ::testing::IsEmpty());
}

TEST_P(PartsTest, AFileThatIsNotThePartOfItsNameIsNotRead) {
  if (GetParam().first != GetParam().second) return;
  make_part(1, GetParam().first);
  make_part(2, GetParam().second);
  if (GetParam().first == kAsDb) checkpoint_part(file(2, kAsDb));
  remove_part(1, GetParam().first);
  std::ofstream(file(1, GetParam().first)) << *read_file(file(2, GetParam().second), 64u << 20);
  expect_held(2, 1, "says that it is part 2");
}

TEST_P(PartsTest, AFramesFileWhoseFramesTheNextPartRepeatsStaysOne) {
  make_part(1, GetParam().first);
  before_.seq -= 1;
  make_part(2, GetParam().second);
  if (GetParam().second == kAsFrames) append_end();
  build_ended_frames(folder_.path());
  EXPECT_EQ(path_exists(file(1, kAsFrames)), GetParam().first == kAsFrames);
  EXPECT_FALSE(path_exists(file(2, kAsFrames)));
  EXPECT_TRUE(path_exists(file(2, kAsDb)));
  EXPECT_EQ(snapshot().left_frames_files, GetParam().first == kAsFrames ? 1 : 0);
  EXPECT_EQ(snapshot().points, 2 * kPointsEach);
}

class DatabasePartsTest : public PartsTest {};
INSTANTIATE_TEST_SUITE_P(Db, DatabasePartsTest, ::testing::Values(std::pair(kAsDb, kAsDb)));

TEST_P(DatabasePartsTest, TheirPiecesAreThoseOfOneLog) {
  make_part(1, kAsDb);
  make_part(2, kAsDb);
  auto reader = WriterReader::open(path());
  const LogPosition end = (*reader)->snapshot()->end_of_log();
  auto look = (*reader)->log_index();
  ASSERT_TRUE(look.ok() && *look != nullptr);
  auto pieces = (*look)->pieces(end);
  ASSERT_TRUE(pieces.ok()) << pieces.status().to_string();
  ASSERT_EQ(pieces->size(), 2u);
  EXPECT_EQ((*pieces)[0].part, 1);
  EXPECT_EQ((*pieces)[1].part, 2);
  EXPECT_EQ((*pieces)[1].begin, (LogPosition{7, kPointsEach}));
  EXPECT_EQ((*pieces)[1].end, end);
}

TEST_P(DatabasePartsTest, ANewerSecondPartIsRefusedByItsName) {
  make_part(1, kAsDb);
  make_part(2, kAsDb);
  const std::string second = file(2, kAsDb);
  ASSERT_TRUE(Sqlite::open(second, SqliteOpen::kWrite, 1000)->exec("PRAGMA user_version=2").ok());
  const Status read = WriterReader::open(path()).status();
  EXPECT_EQ(read.code(), Code::kVersion);
  EXPECT_THAT(read.message(), ::testing::HasSubstr(second));
}

TEST_P(DatabasePartsTest, CountsThatCannotBeInOnePartTakeNothingFromTheOthers) {
  make_part(1, kAsDb);
  make_part(2, kAsDb);
  for (const int part : {1, 2}) {
    auto harm = Sqlite::open(file(part, kAsDb), SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(harm->exec("UPDATE meta SET value=-1 WHERE key='points'").ok());
    harm->close();
    EXPECT_EQ(stored_frames(path()), one_to(14)) << part;
    auto reader = WriterReader::open(path());
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->snapshot()->points, 2 * kPointsEach) << part;
    EXPECT_TRUE((*reader)->place_of(5).ok());
  }
}

// A part that was rolled back, as by another program that restored a copy.
TEST_P(DatabasePartsTest, WhatAPartHasLostIsCounted) {
  make_part(1, kAsDb);
  make_part(2, kAsDb);
  auto harm = Sqlite::open(file(1, kAsDb), SqliteOpen::kWrite, 1000);
  ASSERT_TRUE(harm->exec("UPDATE series SET points=points-3").ok());
  harm->close();
  const WriterSnapshot now = snapshot();
  EXPECT_EQ(now.missing.points, 6u);
  ASSERT_EQ(now.damage.size(), 1u);
  EXPECT_THAT(now.damage[0].what, ::testing::HasSubstr("counted as lost: 6 points"));
}

TEST(PartNumbersTest, NamesSayWhichPartAFileIs) {
  const std::string writer = Id128::random().hex();
  EXPECT_EQ(part_number(writer + ".db"), 1);
  EXPECT_EQ(part_number(writer + "-2.frames"), 2);
  for (const char* end : {"-0.db", "-1.db", "-02.db", "-2.db-wal", "-x.db", ".dbx"})
    EXPECT_EQ(part_number(writer + end), 0) << end;
  EXPECT_EQ(part_number(writer + "-" + std::to_string(kPartsMax) + ".db"), kPartsMax);
  EXPECT_EQ(part_number(writer + "-" + std::to_string(kPartsMax + 1) + ".db"), 0);
  EXPECT_EQ(part_path("/r/" + writer + ".db", 3), "/r/" + writer + "-3.db");
  EXPECT_EQ(first_part_path("/r/" + writer + "-3.frames"), "/r/" + writer + ".frames");
}

}  // namespace
}  // namespace tracker::internal
