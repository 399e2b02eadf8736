// SPDX-License-Identifier: MIT
// Remembers the database and the write-ahead log of a live writer as it left them. No other process writes them, so
// another WAL file, or a file that became shorter, means that another program removed, replaced or cut it. SQLite does
// not notice that: it continues to write into a deleted WAL, or after the end of the cut file.
// Threads: one at a time. Cost: two system calls a check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/database/writer_locks.h"
#include "storage/log/part_change.h"

namespace tracker::internal {

constexpr uint64_t kWalKeepBytes = 16 << 20;  // for a log that was longer: SQLite's journal_size_limit

class PartFiles {
 public:
  // Call after a connection was opened and has read: the present files are those that SQLite has opened. A missing log
  // was removed.
  void opened(const std::string& db_path);
  // Call after a commit of ours: a connection keeps its log, and a commit makes no file shorter, except that SQLite
  // cuts a long log to kWalKeepBytes. A log that appeared or disappeared during the commit is not ours.
  void committed(const std::string& db_path);
  // Call after a checkpoint of ours, which may have shortened either file. `pages`: the bytes of the database by its
  // own count; 0: unknown.
  void checkpointed(const std::string& db_path, uint64_t pages = 0);
  // kNone where a file cannot be examined.
  PartChange change(const std::string& db_path) const;

 private:
  struct Log {
    FileId id;
    uint64_t bytes;
  };
  static std::optional<Log> log_at(const std::string& db_path);

  std::optional<FileId> wal_;
  uint64_t wal_bytes_ = 0, db_bytes_ = 0;
  bool log_is_gone_ = false;
};

}  // namespace tracker::internal
