// SPDX-License-Identifier: MIT
// A second copy of SQLite in the writing process (Python's sqlite3, pandas) opens, reads and closes the live
// database; its close must not take the WAL with it. Method: a copy of libsqlite3 under another name is loaded, used
// between 200 commits, then kill -9.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/database/writer_locks.h"
#include "support/conditions.h"
#include "support/second_sqlite.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

// The child's exit codes; it ends by SIGKILL when all went well.
enum ChildExit { kNoSecondCopy = 3, kAppendFailed = 4, kReadFailed = 5, kLogTaken = 6 };

constexpr uint64_t kCommits = 200;

// Commits 200 frames while the second copy comes and goes, then dies. Returns the child's wait status.
int commit_beside_second_sqlite(const std::string& folder, const WriterIdentity& identity, bool with_locks) {
  const pid_t child = ::fork();
  if (child == 0) {
    set_writer_locks_enabled_for_testing(with_locks);
    SecondSqlite second;
    if (!second.load(folder)) ::_exit(kNoSecondCopy);
    auto db = WriterDb::create(folder, identity);
    const std::string log = db_path(folder, identity) + "-wal";
    const auto before = file_at(log);
    for (uint64_t seq = 1; seq <= kCommits; ++seq) {
      if (!db.ok() || !(*db)->append({test_record(identity, seq)}, seq % 10 == 0).ok()) ::_exit(kAppendFailed);
      if (!second.open_read_close((*db)->path())) ::_exit(kReadFailed);
    }
    if (file_at(log) != before) ::_exit(kLogTaken);
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

std::string integrity(const std::string& path) {
  sqlite3* db = nullptr;
  std::string out = "cannot open";
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    const auto take = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0];
      return 0;
    };
    sqlite3_exec(db, "PRAGMA integrity_check", take, &out, nullptr);
  }
  sqlite3_close(db);
  return out;
}

// Promise P11: A second SQLite copy in the process that opens and closes the live database loses nothing.
TEST(SecondSqliteTest, ASecondCopyThatClosesTheLiveDatabaseLosesNothing) {
  NEEDS(kLibraryCopies);
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  const int status = commit_beside_second_sqlite(folder.path(), identity, true);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  const std::string path = db_path(folder.path(), identity);
  EXPECT_EQ(stored_frames(path), one_to(kCommits));
  EXPECT_EQ(integrity(path), "ok");
}

// Shows that the test above can fail: the locks are needed. What is committed between a removal of the log and the
// check of it before the next commit would be lost by a kill.
TEST(SecondSqliteTest, WithoutTheLocksTheLogIsTakenAwayUnderTheWriter) {
  NEEDS(kLibraryCopies);
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  const int status = commit_beside_second_sqlite(folder.path(), identity, false);
  const size_t kept = stored_frames(db_path(folder.path(), identity)).size();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSecondCopy) FAIL() << "no second copy of SQLite";
  std::printf("without locks: %zu of %d commits kept, wait status %x\n", kept, static_cast<int>(kCommits), status);
  EXPECT_TRUE((WIFEXITED(status) && WEXITSTATUS(status) == kLogTaken) || kept < kCommits);
}

}  // namespace
}  // namespace tracker::internal
