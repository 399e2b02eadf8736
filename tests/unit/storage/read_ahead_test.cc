// SPDX-License-Identifier: MIT
#include "storage/sqlite/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "storage/sqlite/sqlite.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kPage = 4096;

class ReadAheadTest : public ::testing::Test {
 protected:
  ReadAheadTest() {
    std::mt19937_64 random(7);
    for (char& byte : bytes_) byte = static_cast<char>(random());
    fd_ = ::open((folder_.path() + "/f").c_str(), O_RDWR | O_CREAT, 0600);
    write(0, bytes_);
  }
  ~ReadAheadTest() override { ::close(fd_); }

  void write(size_t at, const std::string& bytes) {
    ASSERT_EQ(::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)), static_cast<ssize_t>(bytes.size()));
  }
  // What one read of a page gives.
  std::string page(size_t number) {
    std::string out(kPage, '\0');
    const auto read = [this](int fd, void* to, size_t bytes, off_t offset) -> ssize_t {
      calls_.push_back(bytes);
      if (bytes > refused_from_) {
        errno = EIO;
        return -1;
      }
      return ::pread(fd, to, bytes, offset);
    };
    const ssize_t got = ahead_.pread(fd_, out.data(), kPage, static_cast<off_t>(number * kPage), read);
    if (got < 0) return "error";
    out.resize(static_cast<size_t>(got));
    return out;
  }
  std::string expected(size_t number) const { return bytes_.substr(number * kPage, kPage); }

  TempFolder folder_;
  std::string bytes_ = std::string(100 * kPage + 100, '\0');
  int fd_ = -1;
  ReadAhead ahead_;
  std::vector<size_t> calls_;
  size_t refused_from_ = SIZE_MAX;
};

TEST_F(ReadAheadTest, PagesThatFollowEachOtherComeFromFewReads) {
  for (size_t i = 0; i < 100; ++i) ASSERT_EQ(page(i), expected(i)) << i;
  EXPECT_LE(calls_.size(), 11u);
  for (const size_t bytes : calls_) EXPECT_LE(bytes, kReadAheadBytes);
}

TEST_F(ReadAheadTest, OthersAreReadAsTheyWereAskedFor) {
  for (const size_t i : {70, 3, 99, 42, 5, 4, 3, 2, 50, 48}) ASSERT_EQ(page(i), expected(i)) << i;
  EXPECT_EQ(calls_, std::vector<size_t>(10, kPage));
}

TEST_F(ReadAheadTest, InAnyOrderTheyAreThoseOfTheFile) {
  std::mt19937_64 random(8);
  size_t at = 0;
  for (int i = 0; i < 2000; ++i) {
    at = random() % 3 == 0 ? random() % 100 : (at + random() % 3) % 100;
    ASSERT_EQ(page(at), expected(at)) << i;
  }
  EXPECT_LT(calls_.size(), 2000u);
}

TEST_F(ReadAheadTest, TheFileEndsWhereItEnds) {
  for (size_t i = 90; i < 100; ++i) ASSERT_EQ(page(i), expected(i));
  EXPECT_EQ(page(100), bytes_.substr(100 * kPage));
  EXPECT_EQ(page(101), "");
}

TEST_F(ReadAheadTest, AReadThatFailsForWhatWasNotAskedForIsMadeAsAsked) {
  refused_from_ = 2 * kPage;
  for (size_t i = 0; i < 100; ++i) ASSERT_EQ(page(i), expected(i)) << i;
  refused_from_ = 0;
  EXPECT_EQ(page(7), "error");
  EXPECT_EQ(page(8), "error");
}

TEST_F(ReadAheadTest, WhatWasHeldBeforeIsNotServedBehindForget) {
  for (size_t i = 0; i < 4; ++i) page(i);
  write(4 * kPage, std::string(2 * kPage, 'n'));
  EXPECT_EQ(page(4), expected(4));  // within a call of SQLite's, no page changes that it reads
  ahead_.forget();
  EXPECT_EQ(page(5), std::string(kPage, 'n'));
}

// Of this process, read(2) and its kin.
uint64_t read_calls() {
  std::ifstream io("/proc/self/io");
  uint64_t calls = 0;
  for (std::string word; io >> word;)
    if (word == "syscr:") io >> calls;
  return calls;
}

void make_large(const std::string& path, const std::string& large) {
  auto db = Sqlite::open(path, SqliteOpen::kCreate, 100);
  ASSERT_TRUE(db.ok() && db->exec("CREATE TABLE t(x)").ok());
  auto insert = db->prepare("INSERT INTO t VALUES(?)");
  ASSERT_TRUE(insert.ok() && insert->bind_blob(large).run().ok());
}

std::string read_large(const std::string& path, size_t bytes) {
  std::string out(bytes, '\0');
  auto db = Sqlite::open(path, SqliteOpen::kRead, 100);
  auto blob = db.ok() ? db->open_blob("t", "x", 1) : Result<Blob>(db.status());
  return blob.ok() && blob->read(0, bytes, out.data()).ok() ? out : "";
}

TEST(ReadAheadOfSqliteTest, ALargeBlobTakesFewSystemCalls) {
  TempFolder folder;
  const std::string path = folder.path() + "/a.db";
  const std::string large(4 << 20, 'x');
  make_large(path, large);
  const uint64_t before = read_calls();
  SKIP_WHERE(before == 0, kCallsCounted);
  EXPECT_TRUE(read_large(path, large.size()) == large);
  EXPECT_LT(read_calls() - before, 300u) << "of 1,024 pages";
}

// Its memory goes with the thread's own destructors, before handlers of exit().
TEST(ReadAheadOfSqliteTest, AHandlerOfExitMayReadWhatTheProgramHasRead) {
  static std::string path, large;
  TempFolder folder;
  path = folder.path() + "/a.db";
  large.assign(1 << 20, 'x');
  make_large(path, large);
  const int status = run_child([] {
    std::atexit([] { ::_exit(read_large(path, large.size()) == large ? 7 : 1); });
    CHILD_CHECK(read_large(path, large.size()) == large);
    std::exit(0);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 7);
}

}  // namespace
}  // namespace tracker::internal
