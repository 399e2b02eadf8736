// SPDX-License-Identifier: MIT
// Goal: what a forked child opens does not depend on what SQLite had open in its parent. Method: a parent with a
// connection that reads, and a child that opens the same database again, with its descriptors unchanged or closed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "storage/sqlite/sqlite.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

constexpr int kBusyMs = 100;
constexpr const char* kCount = "SELECT count(*) FROM t";

enum ForkedExit { kAllWell = 0, kCannotOpen = 3, kCannotRead = 4, kOtherRows = 5, kTooSlow = 6 };

// A child says that it has reached its point and waits there.
class ChildSteps {
 public:
  ChildSteps() {
    if (::pipe2(began_, O_CLOEXEC) != 0 || ::pipe2(go_on_, O_CLOEXEC) != 0) std::abort();
  }
  ~ChildSteps() {
    for (const int fd : {began_[0], began_[1], go_on_[0], go_on_[1]}) ::close(fd);
  }
  bool reached() const { return ::write(began_[1], "b", 1) == 1 && read_one(go_on_[0]); }
  bool wait_for_child() const { return read_one(began_[0]); }
  bool let_go() const { return ::write(go_on_[1], "g", 1) == 1; }

 private:
  static bool read_one(int fd) {
    char byte = 0;
    return ::read(fd, &byte, 1) == 1;
  }
  int began_[2], go_on_[2];
};

class ForkedSqliteTest : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = Sqlite::open(path_, SqliteOpen::kCreate, kBusyMs);
    ASSERT_TRUE(writer.ok());
    writer_ = std::move(*writer);
    ASSERT_TRUE(writer_.exec("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)").ok());
    auto reader = Sqlite::open(path_, SqliteOpen::kRead, kBusyMs);
    ASSERT_TRUE(reader.ok());
    reader_ = std::move(*reader);
    ASSERT_TRUE(reader_.exec("BEGIN").ok());
    ASSERT_EQ(*reader_.query_int(kCount), 1);
  }

  // By a process of its own: this one's SQLite has no entry for it.
  static bool made_by_a_child(const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto made = Sqlite::open(path, SqliteOpen::kCreate, kBusyMs);
      ::_exit(made.ok() && made->exec("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)").ok() ? 0
                                                                                                                  : 1);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0;
  }

  TempFolder folder_;
  std::string path_ = folder_.path() + "/live.db";
  Sqlite writer_, reader_;
};

// Bug: the child found its parent's entry in SQLite's table of locks, took no lock of its own, and the pages that it
// read could be overwritten.
// Promise P8: A forked child that reads or records, also a daemon that closed all descriptors, has locks of its own.
TEST_F(ForkedSqliteTest, AReaderInAChildKeepsTheWriterFromResettingTheWal) {
  const ChildSteps steps;
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = Sqlite::open(path_, SqliteOpen::kRead, kBusyMs);
    if (!own.ok() || !own->exec("BEGIN").ok()) ::_exit(kCannotOpen);
    auto rows = own->query_int(kCount);
    if (!rows.ok() || *rows != 1) ::_exit(kCannotRead);
    if (!steps.reached()) ::_exit(kCannotRead);
    rows = own->query_int(kCount);
    ::_exit(rows.ok() && *rows == 1 ? kAllWell : kOtherRows);
  }
  ASSERT_TRUE(steps.wait_for_child());
  ASSERT_TRUE(reader_.exec("COMMIT").ok());
  ASSERT_TRUE(writer_.exec("INSERT INTO t VALUES(2)").ok());
  EXPECT_EQ(writer_.checkpoint(Sqlite::Checkpoint::kTruncate).code(), Code::kBusy);
  ASSERT_TRUE(steps.let_go());
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kAllWell);
  EXPECT_TRUE(writer_.checkpoint(Sqlite::Checkpoint::kTruncate).ok());
}

// Bug: a connection of the program's own had another entry in that table than ours. SQLite let both write at once, and
// the end of the one dropped the locks of the other.
// Promise P8: In a forked child the program's own SQLite and ours keep each other's locks.
TEST_F(ForkedSqliteTest, AProgramsOwnConnectionInAChildLeavesTheLocksOfOurs) {
  const std::string other = folder_.path() + "/other.db";  // unknown to the parent's SQLite
  ASSERT_TRUE(made_by_a_child(other));
  const ChildSteps steps;
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = Sqlite::open(other, SqliteOpen::kRead, kBusyMs);
    if (!own.ok() || !own->exec("BEGIN").ok() || !own->query_int(kCount).ok()) ::_exit(kCannotOpen);
    sqlite3* programs = nullptr;
    if (sqlite3_open(other.c_str(), &programs) != SQLITE_OK) ::_exit(kCannotOpen);
    if (sqlite3_exec(programs, kCount, nullptr, nullptr, nullptr) != SQLITE_OK) ::_exit(kCannotRead);
    if (sqlite3_close(programs) != SQLITE_OK) ::_exit(kCannotRead);
    if (!steps.reached()) ::_exit(kCannotRead);
    const auto rows = own->query_int(kCount);
    ::_exit(rows.ok() && *rows == 1 ? kAllWell : kOtherRows);
  }
  ASSERT_TRUE(steps.wait_for_child());
  auto writer = Sqlite::open(other, SqliteOpen::kWrite, kBusyMs);
  ASSERT_TRUE(writer.ok() && writer->exec("INSERT INTO t VALUES(2)").ok());
  EXPECT_EQ(writer->checkpoint(Sqlite::Checkpoint::kTruncate).code(), Code::kBusy);
  ASSERT_TRUE(steps.let_go());
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kAllWell);
}

// Bug: all files that a child opened were given another device, so SQLite did not see that an inherited connection of
// the child and a new one are of the same file, and closing one dropped the locks of the other.
TEST_F(ForkedSqliteTest, ADatabaseOfTheProgramKeepsItsLocksWhenAChildClosesWhatItInherited) {
  const std::string other = folder_.path() + "/programs.db";
  sqlite3* inherited = nullptr;
  ASSERT_EQ(sqlite3_open(other.c_str(), &inherited), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(inherited, "CREATE TABLE t(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  const ChildSteps steps;
  const pid_t child = ::fork();
  if (child == 0) {
    sqlite3* own = nullptr;
    if (sqlite3_open(other.c_str(), &own) != SQLITE_OK) ::_exit(kCannotOpen);
    if (sqlite3_exec(own, "BEGIN IMMEDIATE; INSERT INTO t VALUES(1)", nullptr, nullptr, nullptr) != SQLITE_OK)
      ::_exit(kCannotRead);
    (void)sqlite3_close(inherited);
    if (!steps.reached()) ::_exit(kCannotRead);
    ::_exit(sqlite3_exec(own, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK ? kAllWell : kOtherRows);
  }
  ASSERT_TRUE(steps.wait_for_child());
  EXPECT_EQ(sqlite3_exec(inherited, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_BUSY);
  ASSERT_TRUE(steps.let_go());
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kAllWell);
  sqlite3_close(inherited);
}

// Bug: the index that the child found in that table had no descriptor any more, and SQLite tried for 10 s to lock it.
TEST_F(ForkedSqliteTest, AChildThatHasClosedAllDescriptorsReadsAtOnce) {
  ASSERT_TRUE(reader_.exec("COMMIT").ok());
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 3; fd < 256; ++fd) ::close(fd);
    const auto begin = std::chrono::steady_clock::now();
    auto own = Sqlite::open(path_, SqliteOpen::kRead, kBusyMs);
    if (!own.ok()) ::_exit(kCannotOpen);
    const auto rows = own->query_int(kCount);
    if (!rows.ok() || *rows != 1) ::_exit(kCannotRead);
    ::_exit(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2) ? kAllWell : kTooSlow);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kAllWell);
}

TEST_F(ForkedSqliteTest, AChildOfAChildReadsAtOnceToo) {
  ASSERT_TRUE(reader_.exec("COMMIT").ok());
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = Sqlite::open(path_, SqliteOpen::kRead, kBusyMs);
    if (!own.ok() || !own->query_int(kCount).ok()) ::_exit(kCannotOpen);
    const pid_t second = ::fork();
    if (second == 0) {
      for (int fd = 3; fd < 256; ++fd) ::close(fd);
      auto last = Sqlite::open(path_, SqliteOpen::kRead, kBusyMs);
      ::_exit(last.ok() && last->query_int(kCount).ok() ? kAllWell : kCannotRead);
    }
    int status = 0;
    ::waitpid(second, &status, 0);
    ::_exit(WEXITSTATUS(status));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kAllWell);
}

}  // namespace
}  // namespace tracker::internal
