// SPDX-License-Identifier: MIT
// The reading side: live, crashed, copied and read-only databases return everything that was committed; what cannot be
// read is named and the rest is read. Method: real files; another process; folders and mounts without write permission.
#include "storage/writer/writer_reader.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "storage/sqlite/sqlite.h"
#include "support/conditions.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

class WriterReaderTest : public ::testing::Test {
 protected:
  std::unique_ptr<WriterDb> writer_with(uint64_t frames, bool durable = false) {
    auto db = WriterDb::create(folder_.path(), identity_);
    EXPECT_TRUE(db.ok()) << db.status().to_string();
    for (uint64_t seq = 1; seq <= frames; ++seq)
      EXPECT_TRUE((*db)->append({test_record(identity_, seq)}, durable).ok());
    return std::move(*db);
  }
  std::string path() const { return db_path(folder_.path(), identity_); }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
};

TEST_F(WriterReaderTest, ALiveDatabaseIsReadInItsWritersProcess) {
  auto db = writer_with(10);
  EXPECT_EQ(stored_frames(path()), one_to(10));
  ASSERT_TRUE(db->append({test_record(identity_, 11)}, false).ok());
  EXPECT_EQ(stored_frames(path()), one_to(11));
}

// Bug: about once in a hundred ends of runs a reader that polled reported that the -shm was not a regular file.
TEST_F(WriterReaderTest, ALogThatIsRemovedWhileItIsReadIsNoDamage) {
  const std::string path = folder_.path() + "/x.db";
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) {
      std::ofstream(path + "-shm").flush();
      ::unlink((path + "-shm").c_str());
    }
  });
  Status worst;
  for (int i = 0; i < 200'000 && worst.ok(); ++i) worst = check_log_files(path);
  over = true;
  other.join();
  EXPECT_TRUE(worst.ok()) << worst.to_string();
  ASSERT_EQ(::symlink("/etc/hostname", (path + "-wal").c_str()), 0);
  EXPECT_EQ(check_log_files(path).code(), Code::kCorrupt);
}

TEST_F(WriterReaderTest, ALiveDatabaseIsReadFromAnotherProcess) {
  // The child writes and waits; the parent, which never had the file open, reads.
  int ready[2];
  int done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    auto db = writer_with(10);
    char byte = 'r';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    (void)!::read(done[0], &byte, 1);
    ::_exit(db->finish().ok() ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(stored_frames(path()), one_to(10));
  ::close(done[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(stored_frames(path()), one_to(10));
}

TEST_F(WriterReaderTest, SeriesAreCompletedFromFramesAfterTheStoredStatistics) {
  auto db = writer_with(1, true);
  for (uint64_t seq = 2; seq <= 5; ++seq) ASSERT_TRUE(db->append({test_record(identity_, seq)}, false).ok());
  auto reader = WriterReader::open(path());
  ASSERT_TRUE(reader.ok());
  auto live = (*reader)->snapshot();
  ASSERT_TRUE(live.ok());
  ASSERT_EQ(live->series.size(), 2u);
  const SeriesStats& s = live->series[1];
  EXPECT_EQ(s.def.name, "metric/2");
  EXPECT_EQ(s.points, 15u);
  EXPECT_EQ(s.step_max, 14);
  EXPECT_EQ(s.min, 2.0);
  EXPECT_EQ(s.max, 16.0);
  EXPECT_EQ(s.sum, 15 * 9.0);
  ASSERT_TRUE(db->finish().ok());
  auto done = (*reader)->snapshot();
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->series[1].points, 15u);
  EXPECT_EQ(done->series[1].sum, s.sum);
  EXPECT_EQ(done->series[1].last_bits, s.last_bits);
}

TEST_F(WriterReaderTest, FramesStartAfterTheGivenOneAndStopWhenTheVisitorHasEnough) {
  auto db = writer_with(10);
  auto reader = WriterReader::open(path());
  std::vector<uint64_t> seen;
  ASSERT_TRUE(visit_seqs(reader->get(), 3, [&](uint64_t seq) {
                seen.push_back(seq);
                return seq < 6;
              }).ok());
  EXPECT_EQ(seen, (std::vector<uint64_t>{4, 5, 6}));
}

TEST_F(WriterReaderTest, MoreThanABatchIsReadInOrder) {
  auto db = WriterDb::create(folder_.path(), identity_);
  ASSERT_TRUE(db.ok());
  for (uint64_t seq = 1; seq <= 30; ++seq) {
    Frame frame = test_frame(identity_, seq, 10, 10'000);
    ASSERT_TRUE((*db)->append({record_of(frame)}, false).ok());
  }
  EXPECT_EQ(stored_frames(path()), one_to(30));
}

TEST_F(WriterReaderTest, ADamagedFrameIsReportedAndTheRestIsRead) {
  ASSERT_TRUE(writer_with(5)->finish().ok());
  {
    auto db = Sqlite::open(path(), SqliteOpen::kWrite, 0);
    const char* sql = "UPDATE frames SET data=CAST(substr(data,1,40)||x'ff'||substr(data,42) AS BLOB) WHERE seq=3";
    ASSERT_TRUE(db->exec(sql).ok());
  }
  std::vector<LogDamage> damage;
  EXPECT_EQ(stored_frames(path(), &damage), (std::vector<int64_t>{1, 2, 4, 5}));
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_NE(damage[0].what.find(path()), std::string::npos);
  EXPECT_NE(damage[0].what.find("frame 3"), std::string::npos);
}

// Zeroed bytes of a page are rows without values to SQLite, and no error.
TEST_F(WriterReaderTest, AttributesWhoseTableIsDamagedAreReadFromTheLog) {
  {
    auto db = writer_with(3);
    Frame frame;
    frame.writer = identity_.writer;
    frame.seq = 4;
    for (const char* key : {"a", "b", "c"}) {
      const Value value = Value::Map{{"key", key}, {"value", std::string(100, key[0])}};
      frame.events.push_back({EventType::kConfig, false, 0, 1'000'000, encode_cbor(value)});
    }
    ASSERT_TRUE(db->append({record_of(frame)}, false).ok());
    ASSERT_TRUE(db->finish().ok());
  }
  const auto attributes = [&] {
    std::vector<std::string> out;
    auto reader = WriterReader::open(path());
    EXPECT_TRUE(reader.ok()) << reader.status().to_string();
    auto snapshot = (*reader)->snapshot();
    EXPECT_TRUE(snapshot.ok()) << snapshot.status().to_string();
    for (const Attribute& each : snapshot->attributes) out.push_back(each.key + *each.value.as_text());
    return std::pair(out, snapshot->damage);
  };
  const auto sound = attributes().first;
  EXPECT_EQ(sound.size(), 3u);
  EXPECT_TRUE(attributes().second.empty());
  std::string bytes = *read_file(path(), 1 << 20);
  const std::string text(100, 'b');
  size_t at = bytes.find(text);
  while (at != std::string::npos && bytes.substr(at - 7, 5) == "value") at = bytes.find(text, at + 1);
  ASSERT_NE(at, std::string::npos) << "in the table; in the log's frame the word is before it";
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(at - 40), bytes.begin() + static_cast<ptrdiff_t>(at + 100), '\0');
  std::ofstream(path(), std::ios::binary) << bytes;
  const auto expect_from_log = [&](const char* said) {
    const auto [kept, damage] = attributes();
    EXPECT_EQ(kept, sound);
    ASSERT_EQ(damage.size(), 1u);
    EXPECT_NE(damage[0].what.find(said), std::string::npos) << damage[0].what;
    EXPECT_NE(damage[0].what.find("read from the log"), std::string::npos) << damage[0].what;
  };
  expect_from_log("the small tables are not what was written");
  {  // as a process that died leaves it: row by row
    auto db = Sqlite::open(path(), SqliteOpen::kDetached, 0);
    ASSERT_TRUE(db->exec("DELETE FROM meta WHERE key='checksum'").ok());
  }
  expect_from_log("attributes is damaged");
}

TEST_F(WriterReaderTest, ACopiedFolderOfALiveRunIsRead) {
  auto db = writer_with(10);
  TempFolder copy;
  std::filesystem::copy(folder_.path(), copy.path(), std::filesystem::copy_options::recursive);
  EXPECT_EQ(stored_frames(db_path(copy.path(), identity_)), one_to(10));
}

TEST_F(WriterReaderTest, AMissingFileIsNotFoundAndNotMade) {
  EXPECT_EQ(WriterReader::open(path()).status().code(), Code::kNotFound);
  EXPECT_FALSE(path_exists(path()));
}

TEST_F(WriterReaderTest, AForeignFileIsCorruptAndNamed) {
  std::ofstream(path()) << "this is a text file, not a database at all";
  auto reader = WriterReader::open(path());
  EXPECT_EQ(reader.status().code(), Code::kCorrupt);
  EXPECT_NE(reader.status().message().find(path()), std::string::npos);
}

TEST_F(WriterReaderTest, AnotherProgramsDatabaseIsCorruptAndNotChanged) {
  {
    auto db = Sqlite::open(path(), SqliteOpen::kCreate, 0);
    ASSERT_TRUE(db->exec("CREATE TABLE meta(x)").ok());
  }
  const auto before = read_file(path(), 1 << 20);
  EXPECT_EQ(WriterReader::open(path()).status().code(), Code::kCorrupt);
  EXPECT_EQ(WriterDb::open_or_create(folder_.path(), identity_).status().code(), Code::kCorrupt);
  EXPECT_EQ(*read_file(path(), 1 << 20), *before);
}

// Promise P3: A file of a newer version is named and never written.
TEST_F(WriterReaderTest, ANewerVersionIsNamedAndNeverWritten) {
  ASSERT_TRUE(writer_with(2)->finish().ok());
  {
    auto db = Sqlite::open(path(), SqliteOpen::kWrite, 0);
    ASSERT_TRUE(db->exec("PRAGMA user_version=2").ok());
  }
  const auto before = read_file(path(), 1 << 20);
  auto reader = WriterReader::open(path());
  EXPECT_EQ(reader.status().code(), Code::kVersion);
  EXPECT_NE(reader.status().message().find(path()), std::string::npos);
  EXPECT_EQ(WriterDb::open_or_create(folder_.path(), identity_).status().code(), Code::kVersion);
  EXPECT_EQ(*read_file(path(), 1 << 20), *before);
}

// Runs `body` in a child that sees folder `path` mounted read-only; -1 where mounts are not allowed.
template <typename Body>
int on_read_only_mount(const std::string& path, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        ::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
      ::_exit(77);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? (WEXITSTATUS(status) == 77 ? -1 : WEXITSTATUS(status)) : 100;
}

// Promise P11: A finished run is read from read-only media.
TEST_F(WriterReaderTest, AFinishedRunOnReadOnlyMediaIsRead) {
  ASSERT_TRUE(writer_with(10)->finish().ok());
  const int result = on_read_only_mount(folder_.path(), [this] { return stored_frames(path()) == one_to(10) ? 0 : 1; });
  SKIP_WHERE(result == -1, kMounts);
  EXPECT_EQ(result, 0);
}

TEST_F(WriterReaderTest, ACrashedRunOnReadOnlyMediaIsReadWithItsWal) {
  { auto db = writer_with(10); }
  remove_file(path() + "-shm");
  ASSERT_GT(std::filesystem::file_size(path() + "-wal"), 0u);
  const int result = on_read_only_mount(folder_.path(), [this] {
    std::string notice;
    auto reader = WriterReader::open(path(), &notice);
    if (!reader.ok() || notice.empty()) return 2;
    return stored_frames(path()) == one_to(10) ? 0 : 3;
  });
  SKIP_WHERE(result == -1, kMounts);
  EXPECT_EQ(result, 0);
  EXPECT_FALSE(path_exists(path() + "-shm"));
}

TEST_F(WriterReaderTest, AWalDatabaseWithoutAWalOnReadOnlyMediaIsReadImmutable) {
  auto db = writer_with(10);
  auto idle = Sqlite::open(path(), SqliteOpen::kRead, 0);
  ASSERT_TRUE(idle->exec("SELECT count(*) FROM frames").ok());
  EXPECT_EQ(db->finish(50).code(), Code::kBusy);
  idle->close();
  remove_file(path() + "-shm");
  remove_file(path() + "-wal");
  const int result = on_read_only_mount(folder_.path(), [this] {
    std::string notice;
    if (!WriterReader::open(path(), &notice).ok()) return 2;
    if (notice.find("immutable") == std::string::npos) return 3;
    return stored_frames(path()) == one_to(10) ? 0 : 4;
  });
  SKIP_WHERE(result == -1, kMounts);
  EXPECT_EQ(result, 0);
}

TEST_F(WriterReaderTest, ReadingAFinishedRunLeavesTheFolderAsItWas) {
  ASSERT_TRUE(writer_with(3)->finish().ok());
  const auto before = read_file(path(), 1 << 20);
  EXPECT_EQ(stored_frames(path()), one_to(3));
  EXPECT_EQ(list_dir(folder_.path())->size(), 1u);
  EXPECT_EQ(*read_file(path(), 1 << 20), *before);
}

TEST_F(WriterReaderTest, AFinishedRunOnANetworkFileSystemIsReadWithoutLocks) {
  ASSERT_TRUE(writer_with(10)->finish().ok());
  auto locked = Sqlite::open(path(), SqliteOpen::kWrite, 0);  // as a lock server that never answers
  ASSERT_TRUE(locked.ok() && locked->exec("BEGIN EXCLUSIVE").ok());
  EXPECT_EQ(WriterReader::open(path()).status().code(), Code::kBusy);
  set_fs_type_for_testing(folder_.path(), 0x6969);  // NFS
  EXPECT_EQ(stored_frames(path()), one_to(10));
  set_fs_type_for_testing("", 0);
}

}  // namespace
}  // namespace tracker::internal
