// SPDX-License-Identifier: MIT
// A file of a live writer that somebody replaces again and again is put back each time, in at most an eleventh of the
// time, for each writes all of it; in between nothing is stored, and nothing is lost. Method: copies renamed over a
// database and a .frames file.
#include "storage/database/put_back.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/clock.h"
#include "storage/frames/frames_file.h"
#include "support/child.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

// By a copy, as rsync does.
void replace(const std::string& path) {
  std::filesystem::copy_file(path, path + "~");
  std::filesystem::rename(path + "~", path);
}

TEST(PutBackTest, AfterAPauseOfTenTimesAndNeverForAFileThatIsGone) {
  TempFolder folder;
  const std::string path = join_path(folder.path(), "file");
  PutBackPace pace;
  EXPECT_EQ(pace.begin(path).code(), Code::kIo);
  ASSERT_TRUE(write_file_atomic(path, "x").ok());
  ASSERT_TRUE(pace.begin(path).ok());
  sleep_ms(60);
  const int64_t ended = monotonic_ns();
  pace.end();
  while (!pace.begin(path).ok()) sleep_ms(5);
  EXPECT_GE(monotonic_ns() - ended, 600'000'000);
}

int64_t g_now_ns = 0;

TEST(PutBackTest, HoweverLongOneTookTheNextComesWithinSoMuch) {
  TempFolder folder;
  const std::string path = join_path(folder.path(), "file");
  ASSERT_TRUE(write_file_atomic(path, "x").ok());
  PutBackPace pace([] { return g_now_ns; });
  for (const int64_t took :
       {kPutBackIntervalNs / kPutBackRest - 1, kPutBackIntervalNs / kPutBackRest + 1, 10 * kPutBackIntervalNs}) {
    ASSERT_TRUE(pace.begin(path).ok());
    g_now_ns += took;
    pace.end();
    g_now_ns += std::min(kPutBackRest * took, kPutBackIntervalNs) - 1;
    EXPECT_EQ(pace.begin(path).code(), Code::kIo) << took;
    ++g_now_ns;
  }
  EXPECT_TRUE(pace.begin(path).ok());
}

template <typename Store>
void expect_each_put_back(Store* store, const std::string& path, const WriterIdentity& identity) {
  ASSERT_TRUE(store->append({test_record(identity, 1)}, true).ok());
  for (int times = 1; times <= 4; ++times) {
    replace(path);
    const auto seq = static_cast<uint64_t>(times) + 1;
    Status status(Code::kIo, "");
    for (int tries = 0; tries < 2000 && !status.ok(); ++tries) {
      status = store->append({test_record(identity, seq)}, true);
      if (status.ok()) break;
      EXPECT_NE(status.message().find("it is put back soon"), std::string::npos) << status.message();
      sleep_ms(5);
    }
    EXPECT_EQ(store->put_back(), times);
    EXPECT_EQ(store->last_seq(), seq);
  }
}

TEST(PutBackTest, ADatabaseThatIsReplacedAgainAndAgainIsPutBackEachTime) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  expect_each_put_back(db->get(), (*db)->path(), identity);
}

TEST(PutBackTest, AFramesFileThatIsReplacedAgainAndAgainIsPutBackEachTime) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto file = FramesFile::open_or_create(folder.path(), identity);
  ASSERT_TRUE(file.ok());
  expect_each_put_back(file->get(), (*file)->path(), identity);
}

FrameRecord large_record(const WriterIdentity& identity, uint64_t seq) {
  return record_of(test_frame(identity, seq, 2, 2000), {{7, seq}});
}

uint64_t bytes_of(const std::string& path) { return std::filesystem::file_size(path); }

// No file can be written behind `bytes`.
void shrink_at_a_full_disk(WriterDb* db, uint64_t bytes) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const signal_before = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{bytes, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  db->shrink();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, signal_before);
}

// Bug: what fitted was written, and the file was whole with its log alone, which people remove to make room.
TEST(PutBackTest, ACheckpointThatTheDiskHasNoRoomForWritesNothing) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  const std::string path = (*db)->path();
  uint64_t seq = 0;
  while (bytes_of(path + "-wal") < (2u << 20)) ASSERT_TRUE((*db)->append({large_record(identity, ++seq)}, false).ok());
  (*db)->shrink();
  const uint64_t before = bytes_of(path), stored = seq;
  while (bytes_of(path + "-wal") < (1u << 20)) ASSERT_TRUE((*db)->append({large_record(identity, ++seq)}, false).ok());
  shrink_at_a_full_disk(db->get(), before + (256u << 10));
  EXPECT_EQ(last_seq_without_wal(path), std::optional(stored));
  {
    auto alone = Sqlite::open(path, SqliteOpen::kReadImmutable, 0);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(*alone->query_text("PRAGMA quick_check(1)"), "ok");
  }
  (*db)->shrink();  // there is room again
  EXPECT_EQ(last_seq_without_wal(path), std::optional(seq));
}

// Bug: a run that logs nothing looked at its files no more, and what it had stored went with the process.
TEST(PutBackTest, ARunThatIsIdleMissesItsLogWithItsNextSignOfLife) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE((*db)->append({test_record(identity, 1)}, true).ok());
  std::filesystem::remove((*db)->path() + "-wal");
  ASSERT_TRUE((*db)->heartbeat(1).ok());
  EXPECT_EQ((*db)->put_back(), 1);
  auto reader = WriterReader::open((*db)->path());
  ASSERT_TRUE(reader.ok());
  auto snapshot = (*reader)->snapshot();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ((*db)->last_seq(), 1u);
}

// Bug: a checkpoint that fails at the end of a disk has brought the newest number into the file by then, and not all
// that goes with it. With its log removed, to make room, the file was taken for one into which another process has
// brought all, and the log that only this process had open was given up.
TEST(PutBackTest, ALogIsNotGivenUpForAFileIntoWhichACheckpointBroughtHalf) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  const std::string path = (*db)->path(), wal = path + "-wal";
  uint64_t seq = 1;
  ASSERT_TRUE((*db)->append({large_record(identity, seq)}, true).ok());
  {
    // Room within the file: what is written there does not change its length, which would tell.
    auto other = Sqlite::open(path, SqliteOpen::kWrite, 100);
    ASSERT_TRUE(other.ok());
    ASSERT_TRUE(other->exec("CREATE TABLE room(x); INSERT INTO room VALUES(zeroblob(4000000)); DROP TABLE room").ok());
  }
  (*db)->shrink();
  ASSERT_EQ(bytes_of(wal), 0u);
  const uint64_t all = bytes_of(path);
  while (bytes_of(wal) < (3u << 20)) ASSERT_TRUE((*db)->append({large_record(identity, ++seq)}, false).ok());

  shrink_at_a_full_disk(db->get(), all - (1u << 20));
  ASSERT_GT(bytes_of(wal), 0u) << "the checkpoint has failed";
  ASSERT_EQ(bytes_of(path), all);
  ASSERT_EQ(last_seq_without_wal(path), std::optional(seq)) << "the newest number is in the file";

  std::filesystem::remove(wal);
  Status status(Code::kIo, "");
  for (int tries = 0; tries < 2000 && !status.ok(); ++tries) {
    status = (*db)->append({test_record(identity, seq + 1)}, true);
    if (!status.ok()) sleep_ms(5);
  }
  ASSERT_TRUE(status.ok()) << status.to_string();
  auto reader = WriterReader::open(path);
  ASSERT_TRUE(reader.ok());
  auto snapshot = (*reader)->snapshot();
  ASSERT_TRUE(snapshot.ok());
  auto plain = Sqlite::open(path, SqliteOpen::kRead, 100);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(*plain->query_text("PRAGMA quick_check(1)"), "ok");
  EXPECT_EQ(*plain->query_int("SELECT count(*) FROM frames"), static_cast<int64_t>(seq + 1));
}

// Bug: a log that is cut with more in it than SQLite has in memory can be put back by nobody, and the run stayed away
// from its file until its end.
TEST(PutBackTest, ALogThatIsCutBeyondWhatIsInMemoryIsGivenUpAndWhatIsLeftSaysHowMuch) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  const std::string wal = (*db)->path() + "-wal";
  ASSERT_TRUE((*db)->append({test_record(identity, 1)}, true).ok());
  (*db)->shrink();
  uint64_t seq = 1;
  while (bytes_of(wal) < (8u << 20)) ASSERT_TRUE((*db)->append({large_record(identity, ++seq)}, false).ok());
  std::filesystem::resize_file(wal, 0);
  for (int tries = 0; tries < 2000 && !(*db)->taken_back(); ++tries) {
    ASSERT_FALSE((*db)->append({test_record(identity, seq + 1)}, true).ok());
    sleep_ms(5);
  }
  ASSERT_TRUE((*db)->taken_back());
  db->reset();
  auto again = WriterDb::open_or_create(folder.path(), identity);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_LT((*again)->last_seq(), seq);
  EXPECT_TRUE((*again)->append({test_record(identity, seq + 1)}, true).ok());
}

}  // namespace
}  // namespace tracker::internal
