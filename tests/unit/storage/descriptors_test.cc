// SPDX-License-Identifier: MIT
// Goal: a connection of which other code has closed a descriptor is neither used nor closed again, and what is opened
// after it works. Method: another file gets the number of a descriptor of SQLite's. The last test fills the table of
// open databases.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/fs.h"
#include "storage/sqlite/open_databases.h"
#include "storage/sqlite/sqlite.h"
#include "storage/sqlite/sqlite_calls.h"
#include "support/child.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

constexpr int kTakenBusyMs = 100;
constexpr const char* kCountRows = "SELECT count(*) FROM t";

class DescriptorsTest : public ::testing::Test {
 protected:
  DescriptorsTest() {
    auto made = open(SqliteOpen::kCreate);
    EXPECT_TRUE(made.exec("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)").ok());
  }

  Sqlite open(SqliteOpen how = SqliteOpen::kWrite) {
    auto db = Sqlite::open(path_, how, kTakenBusyMs);
    EXPECT_TRUE(db.ok()) << db.status().message();
    return std::move(*db);
  }
  // The newest descriptor of a file; -1: none.
  static int descriptor_of(const std::string& path) {
    int newest = -1;
    for (int fd = 3; fd < 256; ++fd) {
      std::error_code error;
      if (std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error) == path) newest = fd;
    }
    return newest;
  }
  // As a program that closes `fd` and opens a file of its own.
  void take_over(int fd) {
    const int made = ::open(programs_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::write(made, "mine", 4), 4);
    ASSERT_EQ(::dup2(made, fd), fd);
    ::close(made);
  }
  void expect_left_alone(int fd) const {
    struct stat open{};
    struct stat named{};
    EXPECT_EQ(::fstat(fd, &open), 0) << "closed";
    EXPECT_EQ(::stat(programs_.c_str(), &named), 0);
    EXPECT_EQ(open.st_ino, named.st_ino);
    EXPECT_EQ(*read_file(programs_, 100), "mine");
  }

  TempFolder folder_;
  const std::string place_ = std::filesystem::canonical(folder_.path()).string();
  const std::string path_ = place_ + "/live.db", programs_ = place_ + "/programs";
};

TEST_F(DescriptorsTest, AConnectionThatFailsTheCheckIsNeitherUsedNorClosed) {
  int rows = 1;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const uint64_t lost = lost_sqlite_connections();
    Sqlite db = open();
    ASSERT_TRUE(db.exec("INSERT INTO t VALUES(2)").ok());
    ++rows;
    auto insert = db.prepare("INSERT INTO t VALUES(3)");
    ASSERT_TRUE(insert.ok());
    EXPECT_FALSE(db.is_lost());
    const int fd = descriptor_of(path_ + suffix);
    take_over(fd);
    EXPECT_EQ(insert->run().code(), Code::kIo) << suffix;
    EXPECT_EQ(db.checkpoint(Sqlite::Checkpoint::kPassive).code(), Code::kIo) << suffix;
    EXPECT_TRUE(db.is_lost());
    *insert = Statement();
    db.close();
    EXPECT_EQ(lost_sqlite_connections(), lost + 1);
    expect_left_alone(fd);

    Sqlite again = open();
    EXPECT_EQ(*again.query_int(kCountRows), rows) << suffix;
    EXPECT_TRUE(again.exec("INSERT INTO t VALUES(4)").ok()) << suffix;
    ++rows;
    // It has locks of its own, though the entry of the lost one claims that they are held: another process sees them.
    ASSERT_TRUE(again.exec("BEGIN IMMEDIATE").ok());
    EXPECT_EQ(exit_code_of(run_child([&] {
                auto other = Sqlite::open(path_, SqliteOpen::kWrite, 0);
                return other.ok() && other->exec("BEGIN IMMEDIATE").code() == Code::kBusy ? 0 : 1;
              })),
              0)
        << suffix;
    ASSERT_TRUE(again.exec("COMMIT").ok());
    again.close();
    expect_left_alone(fd);
    ::close(fd);
  }
}

// While one connection holds locks on the file, SQLite keeps the descriptor of another one that is closed, and gives it
// to the next.
TEST_F(DescriptorsTest, ADescriptorThatSqliteKeptIsCheckedBeforeItIsUsedAgain) {
  Sqlite first = open();
  ASSERT_EQ(*first.query_int(kCountRows), 1);
  open().close();
  const int kept = descriptor_of(path_);
  {
    Sqlite second = open();
    ASSERT_EQ(descriptor_of(path_), kept) << "it was not given on";
    ASSERT_EQ(*second.query_int(kCountRows), 1);
  }
  take_over(kept);
  {
    Sqlite third = open();
    EXPECT_EQ(third.exec("INSERT INTO t VALUES(2)").code(), Code::kIo);
  }
  expect_left_alone(kept);
  Sqlite fourth = open();
  EXPECT_EQ(*fourth.query_int(kCountRows), 1);
}

TEST_F(DescriptorsTest, ADatabaseThatLeavesWalModeIsNotLost) {
  const uint64_t lost = lost_sqlite_connections();
  Sqlite db = open();
  ASSERT_EQ(*db.query_int(kCountRows), 1);
  EXPECT_EQ(*db.set_journal_mode("DELETE"), "delete");
  EXPECT_EQ(*db.query_int(kCountRows), 1);
  EXPECT_TRUE(db.exec("INSERT INTO t VALUES(2)").ok());
  EXPECT_EQ(*db.set_journal_mode("WAL"), "wal");
  EXPECT_TRUE(db.exec("INSERT INTO t VALUES(3)").ok());
  EXPECT_FALSE(db.is_lost());
  db.close();
  EXPECT_EQ(lost_sqlite_connections(), lost);
}

// In a child of a process that had `count` databases open, of inodes 1 to `count`: the number for one of `inode`.
int entries_in_child(int count, uint64_t inode) {
  return exit_code_of(run_child([&] {
    for (int i = 0; i < count; ++i) add_open_database(1, static_cast<uint64_t>(i) + 1);
    CHILD_CHECK(unusable_entries(1, inode) == 0);
    return exit_code_of(run_child([&] { return static_cast<int>(unusable_entries(1, inode)); }));
  }));
}

TEST(OpenDatabasesTest, AChildKnowsThoseOfItsParentAndWhereThereWereTooManyTakesEveryFileForOne) {
  constexpr int kMany = kOpenDatabasesMax / 2;  // other tests of this program may have lost some
  constexpr uint64_t kItsOwn = 1'000'000;
  EXPECT_EQ(entries_in_child(kMany, kMany), 1);
  EXPECT_EQ(entries_in_child(kMany, kItsOwn), 0);
  EXPECT_EQ(entries_in_child(kOpenDatabasesMax + 1, kOpenDatabasesMax + 1), 1);
  EXPECT_EQ(entries_in_child(kOpenDatabasesMax + 1, kItsOwn), 1);
}

TEST(OpenDatabasesTest, WhatAChildClosesIsStillInherited) {
  OpenDatabase* const inherited = add_open_database(2, 1);
  EXPECT_EQ(exit_code_of(run_child([&] {
              CHILD_CHECK(unusable_entries(2, 1) == 1);
              remove_open_database(inherited);
              return static_cast<int>(unusable_entries(2, 1));
            })),
            1);
  remove_open_database(inherited);
  EXPECT_EQ(exit_code_of(run_child([&] { return static_cast<int>(unusable_entries(2, 1)); })), 0);
}

}  // namespace
}  // namespace tracker::internal
