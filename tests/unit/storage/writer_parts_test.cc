// SPDX-License-Identifier: MIT
// A reader that parks in a transaction cannot make the WAL grow without end: the writer goes on in another file, and
// readers see one log. Method: a small limit, and SQLite itself as the reader, in another process.
#include "storage/database/writer_parts.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/fs.h"
#include "storage/sqlite/sqlite.h"
#include "storage/store/store.h"
#include "support/child.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kSmallLimit = 256u << 10;

// A process that sits in a read transaction on `path` until it is told to go.
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
  EXPECT_EQ((*db)->parts(), 1);
  EXPECT_GT(stored_ * 2000, 2 * kSmallLimit);
  expect_whole();
}

TEST_F(WriterPartsTest, BehindAParkedReaderTheWriterGoesOnInAnotherFile) {
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 10);
  {
    const ParkedReader reader(path());
    ASSERT_TRUE(reader.parked());
    append(db->get(), 300);
    EXPECT_EQ((*db)->parts(), 2);
    EXPECT_LT(wal_bytes(1), 3 * kSmallLimit);
    EXPECT_LT(wal_bytes(2), 3 * kSmallLimit);
    expect_whole();
    const ParkedReader second(part_path(path(), 2));
    ASSERT_TRUE(second.parked());
    append(db->get(), 300);
    EXPECT_EQ((*db)->parts(), 3);
    expect_whole();
  }
  EXPECT_EQ((*WriterReader::open(path()))->snapshot()->parts, 3);
  ASSERT_TRUE((*db)->finish().ok());
  for (int part = 1; part <= 3; ++part) EXPECT_FALSE(path_exists(part_path(path(), part) + "-wal")) << part;
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

// A reader that goes within that time holds nothing up. On a busy machine it may have gone before.
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

TEST_F(WriterPartsTest, ANewerSecondPartIsRefusedByItsNameAndNotTouched) {
  {
    auto db = WriterDb::create(folder_.path(), identity_);
    append(db->get(), 10);
    const ParkedReader reader(path());
    append(db->get(), 300);
    ASSERT_EQ((*db)->parts(), 2);
    ASSERT_TRUE((*db)->finish().ok());
  }
  const std::string second = part_path(path(), 2);
  ASSERT_TRUE(Sqlite::open(second, SqliteOpen::kWrite, 1000)->exec("PRAGMA user_version=2").ok());
  const auto before = read_file(second, 64u << 20);
  const auto names = [&second](const Status& status) {
    return status.code() == Code::kVersion && status.message().find(second) != std::string::npos;
  };
  auto reader = WriterReader::open(path());
  const Status read = reader.ok() ? (*reader)->snapshot().status() : reader.status();
  EXPECT_TRUE(names(read)) << read.to_string();
  const Status written = WriterDb::open_or_create(folder_.path(), identity_).status();
  EXPECT_TRUE(names(written)) << written.to_string();
  EXPECT_EQ(read_file(second, 64u << 20).value_or(""), before.value_or("-"));
}

TEST_F(WriterPartsTest, ADeadWritersLastPartIsWrittenOn) {
  {
    auto db = WriterDb::create(folder_.path(), identity_);
    append(db->get(), 10);
    const ParkedReader reader(path());
    append(db->get(), 300);
    ASSERT_EQ((*db)->parts(), 2);
  }
  auto db = WriterDb::open_or_create(folder_.path(), identity_);
  ASSERT_TRUE(db.ok());
  EXPECT_EQ((*db)->parts(), 2);
  EXPECT_EQ((*db)->last_seq(), stored_);
  ASSERT_EQ((*db)->positions().size(), 1u);
  EXPECT_EQ((*db)->positions()[0].position, stored_);
  append(db->get(), 5);
  ASSERT_TRUE((*db)->finish().ok());
  expect_whole();
}

TEST_F(WriterPartsTest, CountsThatCannotBeInOnePartTakeNothingFromTheOthers) {
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 10);
  {
    const ParkedReader reader(path());
    ASSERT_TRUE(reader.parked());
    append(db->get(), 300);
    ASSERT_EQ((*db)->parts(), 2);
  }
  db->reset();
  for (const int part : {1, 2}) {
    auto harm = Sqlite::open(part_path(path(), part), SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(harm->exec("UPDATE meta SET value=-1 WHERE key='points'").ok());
    harm->close();
    EXPECT_EQ(stored_frames(path()), one_to(static_cast<int64_t>(stored_))) << part;
    auto reader = WriterReader::open(path());
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->snapshot()->points, stored_ * 1000) << part;
    EXPECT_TRUE((*reader)->place_of(5).ok());
  }
  auto again = WriterDb::open_or_create(folder_.path(), identity_);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ((*again)->last_seq(), stored_);
  append(again->get(), 1);
  ASSERT_TRUE((*again)->finish().ok());
  again->reset();
  auto snapshot = (*WriterReader::open(path()))->snapshot();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot->points, stored_ * 1000);
  EXPECT_EQ(stored_frames(path()), one_to(static_cast<int64_t>(stored_)));
}

TEST_F(WriterPartsTest, APartIsNotMadeOfTablesThatLagBehindTheFrames) {
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 30);
  auto connection = Sqlite::open(path(), SqliteOpen::kWrite, 100);
  EXPECT_EQ(create_part(*connection, path(), 2, identity_).code(), Code::kInvalid);
  EXPECT_EQ(count_parts(path()), 1);
}

TEST_F(WriterPartsTest, APartThatWasBegunAndNeverUsedChangesNothing) {
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 30);
  ASSERT_TRUE((*db)->finish().ok());  // so that the rows of its series are up to date
  auto connection = Sqlite::open(path(), SqliteOpen::kWrite, 100);
  ASSERT_TRUE(create_part(*connection, path(), 2, identity_).ok());  // then the writer was killed
  connection->close();
  auto again = WriterDb::open_or_create(folder_.path(), identity_);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  append(again->get(), 5);
  expect_whole();
}

TEST_F(WriterPartsTest, ALaterPartWithoutTheFirstOneIsNamed) {
  auto db = WriterDb::create(folder_.path(), identity_);
  append(db->get(), 30);
  ASSERT_TRUE((*db)->finish().ok());
  ASSERT_EQ(::rename(path().c_str(), part_path(path(), 2).c_str()), 0);
  const RunFolder run{identity_.run, folder_.path()};
  ASSERT_EQ(run.writer_dbs(), std::vector<std::string>{path()});
  EXPECT_EQ(WriterReader::open(path()).status().code(), Code::kNotFound);
}

// A reader that stopped in front of the hole said nothing, and a recovery wrote on under numbers that are taken.
TEST_F(WriterPartsTest, APartThatIsMissingBetweenOthersIsNamedAndNotWrittenOver) {
  {
    auto db = WriterDb::create(folder_.path(), identity_);
    append(db->get(), 30);
    ASSERT_TRUE((*db)->finish().ok());
  }
  for (int part = 2; part <= 4; ++part) {
    auto last = Sqlite::open(part_path(path(), part - 1), SqliteOpen::kWrite, 100);
    ASSERT_TRUE(create_part(*last, path(), part, identity_).ok());
  }
  EXPECT_TRUE(missing_parts(folder_.path()).empty());
  remove_file(part_path(path(), 2));
  const auto missing = missing_parts(folder_.path());
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].db_path, path());
  EXPECT_EQ(missing[0].numbers, std::vector<int>{2});
  EXPECT_EQ(missing[0].last, 4);
  EXPECT_EQ(WriterDb::open_or_create(folder_.path(), identity_).status().code(), Code::kCorrupt);
  remove_file(path());
  EXPECT_NE(missing_parts(folder_.path()).at(0).text().find("parts 1, 2 of 4 are missing"), std::string::npos);
  EXPECT_EQ(WriterDb::open_or_create(folder_.path(), identity_).status().code(), Code::kCorrupt);
  EXPECT_FALSE(path_exists(path()));
}

// SQLite would take the log for that of the new file, whose pages it then overwrites.
TEST_F(WriterPartsTest, ALogWhoseDatabaseIsGoneIsNotTakenForThatOfANewOne) {
  for (int round = 0; round < 2; ++round) {
    auto db = WriterDb::open_or_create(folder_.path(), identity_);
    append(db->get(), 30);
    db->reset();
    ASSERT_GT(wal_bytes(1), 0u);
    remove_file(path());
  }
  auto db = WriterDb::open_or_create(folder_.path(), identity_);
  ASSERT_TRUE(db.ok()) << db.status().to_string();
  EXPECT_EQ((*db)->last_seq(), 0u);
  append(db->get(), 5);
  expect_whole();
  ASSERT_TRUE((*db)->finish().ok());
  expect_whole();
  const auto names = list_dir(folder_.path()).value_or({});
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const std::string& name) { return name.find(".orphan-") != std::string::npos; }),
            2)
      << "each is kept";
}

TEST(PartNumbersTest, FilesBeyondTheLastNumberAreNoParts) {
  TempFolder folder;
  const std::string path = join_path(folder.path(), Id128::random().hex() + ".db");
  for (int part = 1; part < kPartsMax; ++part)
    ASSERT_TRUE(create_file_exclusive(part_path(path, part), "", 0666, false).ok());
  EXPECT_EQ(count_parts(path), kPartsMax - 1);
  ASSERT_TRUE(create_file_exclusive(part_path(path, kPartsMax + 1), "", 0666, false).ok());
  EXPECT_TRUE(missing_parts(folder.path()).empty()) << "the last one is not missing";
  ASSERT_TRUE(create_file_exclusive(part_path(path, kPartsMax), "", 0666, false).ok());
  EXPECT_EQ(count_parts(path), kPartsMax);
  remove_file(part_path(path, kPartsMax - 1));
  ASSERT_EQ(missing_parts(folder.path()).size(), 1u);
  EXPECT_EQ(missing_parts(folder.path())[0].last, kPartsMax);
}

}  // namespace
}  // namespace tracker::internal
