// SPDX-License-Identifier: MIT
// The database and the log of a live writer as it left them: nobody else writes them, so a log that is another file, or
// a file that is shorter than it was, tells that somebody has removed, replaced or overwritten it. SQLite does not see
// that: it goes on in a log without a name, or behind the end of a file that was cut.
// Threads: one at a time. Cost: two system calls a look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "storage/database/writer_locks.h"

namespace tracker::internal {

constexpr uint64_t kWalKeepBytes = 16 << 20;  // of a log that has been longer: SQLite's journal_size_limit

class OwnFiles {
 public:
  // Behind the opening of a connection, which has read: whatever lies there is what SQLite has opened. A log that is
  // not there any more was removed.
  void begin(const std::string& db_path);
  // Behind a commit of ours. What came or went while it ran is not taken for ours: a connection keeps its log, and a
  // commit does not make a file shorter but for SQLite's own cut of a long log, to kWalKeepBytes.
  void committed(const std::string& db_path);
  // Behind a checkpoint of ours, which may have cut either file. `done`: what it answered; `all`: whether that says
  // that the file has all of it. `pages`: the bytes of the database by its own count, for which the file has room
  // since before that began: a file that was cut meanwhile is not taken for ours.
  void checkpointed(const std::string& db_path, const Status& done = {}, bool all = false, uint64_t pages = 0);
  // One has failed: the file has some pages of the newest commits and lacks others, and which is the newest it says
  // itself in one of them.
  bool may_be_half() const { return half_; }
  // Not knowing is true: where none could be looked at.
  bool has_own_wal(const std::string& db_path) const;
  bool is_log_cut(const std::string& db_path) const;  // ours, and shorter than it was
  bool is_whole(const std::string& db_path) const;    // at least as long as it was

 private:
  struct Log {
    FileId id;
    uint64_t bytes;
  };
  static std::optional<Log> log_at(const std::string& db_path);

  std::optional<FileId> db_, wal_;
  uint64_t wal_bytes_ = 0;
  uint64_t db_bytes_ = 0;
  bool log_is_gone_ = false, half_ = false;
};

}  // namespace tracker::internal
