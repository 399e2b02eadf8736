// SPDX-License-Identifier: MIT
// Goal: of SQLite's descriptors so many are looked at before each use, and a forked child knows so many files that its
// parent had open; beyond both nothing worse happens than is said. Method: children whose descriptors are taken up to
// the bound, and a list of files that is passed on by hand.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "storage/sqlite/inherited_files.h"
#include "storage/sqlite/sqlite.h"
#include "storage/sqlite/sqlite_calls.h"
#include "support/child.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

constexpr const char* kCountRows = "SELECT count(*) FROM t";

void make_database(const std::string& path, int rows) {
  auto made = Sqlite::open(path, SqliteOpen::kCreate, 100);
  ASSERT_TRUE(made.ok() && made->exec("CREATE TABLE t(x)").ok());
  for (int i = 0; i < rows; ++i) ASSERT_TRUE(made->exec("INSERT INTO t VALUES(1)").ok());
}

void take_descriptors_below(int number) {
  const int first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHILD_CHECK(first >= 0 && first < number);
  int newest = first;
  while (newest + 1 < number) newest = ::dup(newest);
  CHILD_CHECK(newest == number - 1);
}

bool allow_descriptors(int count) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return false;
  const auto wanted = static_cast<rlim_t>(count);
  const rlimit more{wanted, std::max(now.rlim_max, wanted)};
  return ::setrlimit(RLIMIT_NOFILE, &more) == 0;
}

// A connection to a database of one row, whose descriptor is number `at` and then belongs to one of two rows.
struct Asked {
  bool is_answered = false;
  int64_t rows = 0;
  uint64_t lost = 0;
};
Asked ask_through(int at, const std::string& one_row, const std::string& two_rows) {
  take_descriptors_below(at);
  auto db = Sqlite::open(one_row, SqliteOpen::kRead, 100);
  CHILD_CHECK(db.ok() && *db->query_int(kCountRows) == 1);
  CHILD_CHECK(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(at)).string() == one_row);
  CHILD_CHECK(::close(at) == 0 && ::open(two_rows.c_str(), O_RDONLY | O_CLOEXEC) == at);
  const auto rows = db->query_int(kCountRows);
  return {rows.ok(), rows.ok() ? *rows : 0, sqlite_descriptors_lost()};
}

TEST(DescriptorsTest, SoManyAreLookedAtByTheirNumberAndOthersUsedAsTheyAre) {
  TempFolder folder;
  const std::string place = std::filesystem::canonical(folder.path()).string();
  const std::string one_row = place + "/one.db", two_rows = place + "/two.db";
  make_database(one_row, 1);
  make_database(two_rows, 2);
  // Where this process may not have so many, a smaller bound stands for it.
  for (const int bound : {200, kGuardedDescriptorsMax}) {
    const auto body = [&](int at) {
      return exit_code_of(run_child([&] {
        if (!allow_descriptors(bound + 16)) return bound == kGuardedDescriptorsMax ? 1 : 2;
        CHILD_CHECK(set_guarded_descriptors_for_testing(bound) == kGuardedDescriptorsMax);
        const Asked asked = ask_through(at, one_row, two_rows);
        if (at < bound) return !asked.is_answered && asked.lost > 0 ? 0 : 3;
        return asked.is_answered && asked.rows == 2 && asked.lost == 0 ? 0 : 4;
      }));
    };
    for (const int at : {bound - 1, bound}) {
      const int code = body(at);
      EXPECT_TRUE(code == 0 || code == 1) << code << " at " << at << " of " << bound;
    }
  }
}

// What a child of a process that had `count` files open, of inodes 1 to `count`, is told of one of `inode`.
int told_of(int count, uint64_t inode) {
  return exit_code_of(run_child([&] {
    begin_inheriting();  // of this program's own connections it has none
    const auto opened = std::make_unique<SqliteFile[]>(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) opened[i].device = 1, opened[i].inode = static_cast<uint64_t>(i) + 1;
    return exit_code_of(run_child([&] {
      list_inherited(opened.get(), count);
      return static_cast<int>(forks_since_open(1, inode));
    }));
  }));
}

TEST(DescriptorsTest, AChildKnowsSoManyFilesOfItsParentAndOfMoreTakesEveryOneForOne) {
  constexpr uint64_t kItsOwn = 1'000'000;
  EXPECT_EQ(told_of(kInheritedFilesMax, kInheritedFilesMax), 1);
  EXPECT_EQ(told_of(kInheritedFilesMax, kItsOwn), 0);
  EXPECT_EQ(told_of(kInheritedFilesMax + 1, kInheritedFilesMax + 1), 1);
  EXPECT_EQ(told_of(kInheritedFilesMax + 1, kItsOwn), 1);
}

}  // namespace
}  // namespace tracker::internal
