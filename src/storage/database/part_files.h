// SPDX-License-Identifier: MIT
// The database and the write-ahead log of a live writer as it left them. Nobody else writes them, so a log that is
// another file, or a file that is shorter than it was, was removed, replaced or cut by another program. SQLite does not
// see that: it writes on into a log without a name, or after the end of a file that was cut.
// Threads: one at a time. Cost: two system calls a check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/database/writer_locks.h"
#include "storage/log/part_change.h"

namespace tracker::internal {

constexpr uint64_t kWalKeepBytes = 16 << 20;  // of a log that has been longer: SQLite's journal_size_limit

class PartFiles {
 public:
  // After a connection was opened and has read: the files that are there now are those that SQLite has opened. A log
  // that is not there was removed.
  void opened(const std::string& db_path);
  // After a commit of ours: a connection keeps its log, and a commit makes no file shorter, but for SQLite's own cut of
  // a long log to kWalKeepBytes. A log that appeared or went during the commit is not ours.
  void committed(const std::string& db_path);
  // After a checkpoint of ours, which may have cut either file. `pages`: the bytes of the database by its own count; 0:
  // not known.
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
