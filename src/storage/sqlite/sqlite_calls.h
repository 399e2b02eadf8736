// SPDX-License-Identifier: MIT
// SQLite keeps descriptors of its own: for the database, its WAL and its index. Other code of the process may close
// them by mistake (os.closerange, a double close) and open its own files under the same numbers: SQLite would write
// pages into these files. So each connection of ours records what it opens and checks it before each transaction,
// checkpoint and close. A connection that fails the check is lost: it is neither used nor closed again
// (docs/decisions/0039). Other code may still close a descriptor between the check and the end of the transaction.
// For this, SQLite's calls of open, stat and fstat are replaced for the whole process. Connections of other code are
// not affected, except for the device of some files (open_databases.h). Threads: any; a SqliteFiles one at a time. Cost
// of a check: up to three fstat(2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "journal/ring/wipe_memory.h"
#include "storage/sqlite/open_databases.h"

struct stat;

namespace tracker::internal {

// The files that one connection has open.
class SqliteFiles {
 public:
  SqliteFiles() = default;
  SqliteFiles(const SqliteFiles&) = delete;
  SqliteFiles& operator=(const SqliteFiles&) = delete;
  ~SqliteFiles();
  // Around sqlite3_open_v2(). `path`: the name that SQLite uses for the database.
  void begin_open() { is_opening_ = true; }
  void end_open(const char* path);
  // Checks the descriptors. Returns false once other code has closed one; the connection is lost then.
  bool are_ours();
  bool are_lost() const { return is_lost_; }
  // Call after it has left WAL mode: SQLite itself may have closed WAL and index.
  void log_may_be_closed() { wal_.is_sure = shm_.is_sure = false; }

  // Called by the replaced system calls.
  void on_open(std::string_view path, int fd);
  void on_fstat(int fd, const struct stat& st);

 private:
  struct File {
    int fd = -1;
    bool is_sure = false;  // false: SQLite itself may have closed it, as after an opening that failed
    uint64_t device = 0, inode = 0;
    void take(int number, const struct stat& st);
    bool is_same() const;
  };
  void take_database(int fd, const struct stat& st);
  void lose();

  File database_, wal_, shm_;
  std::string path_;  // of the database
  OpenDatabase* listed_ = nullptr;
  bool is_opening_ = false, is_kept_one_ = false, is_lost_ = false;
};

// Held by a thread during one call of SQLite on a connection; not nested.
class SqliteCall {
 public:
  explicit SqliteCall(SqliteFiles* files);
  ~SqliteCall();
  SqliteCall(const SqliteCall&) = delete;
  SqliteCall& operator=(const SqliteCall&) = delete;

 private:
  const ForkGate gate_;
};

// Call before the first connection; further calls do nothing.
void replace_sqlite_calls();
// Of this process and those that it was forked from.
uint64_t lost_sqlite_connections();
// The error of a call on a lost connection.
Status closed_by_others(const std::string& path);

}  // namespace tracker::internal
