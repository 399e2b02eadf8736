// SPDX-License-Identifier: MIT
// Prevents a second SQLite copy in this process from deleting the WAL of a live database (design 3): a process's POSIX
// locks do not conflict with each other, OFD locks on descriptors of our own do. Read locks on the shared range of the
// .db deny the exclusive lock that deletes the WAL; one on the "dead man's switch" of the -shm denies its truncation.
// Threads: one at a time; is_written_here() any. Cost: a few system calls.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/fs.h"
#include "base/guarded_fd.h"
#include "base/status.h"

namespace tracker::internal {

using FileId = std::pair<dev_t, ino_t>;
// nullopt for a symbolic link: readers and recovery refuse links.
std::optional<FileId> file_at(const std::string& path);

class WriterLocks {
 public:
  WriterLocks() = default;
  ~WriterLocks() { close(); }
  WriterLocks(const WriterLocks&) = delete;
  WriterLocks& operator=(const WriterLocks&) = delete;
  // Call before SQLite opens the database, which is in WAL mode. On a file system without OFD locks nothing is locked
  // and no failure reported: the database is as safe as any SQLite database.
  Status acquire(const std::string& db_path);
  // Releases the locks and keeps the descriptors: closing any descriptor of a file drops this process's POSIX locks on
  // it, SQLite's included.
  void release();
  // Only after SQLite has closed the database.
  void close();
  // Other code closed one of our descriptors: its locks are gone, and so are those of SQLite on that file.
  bool is_closed_by_others() const;
  // Whether the file at the path of the .db is still the one that is open here, as far as this can be determined.
  bool in_place() const;
  // It was deleted and no other file has its path; also if it is not open any more.
  bool removed() const;
  // It is not open any more, and another file has its path.
  bool lost_to_another() const;
  void forget();  // closes, and forgets which file it was
  const GuardedFd& db() const { return db_; }

 private:
  void unlist();
  std::string path_;
  GuardedFd db_;
  GuardedFd shm_;
  std::optional<FileId> held_;    // that was open last
  std::optional<FileId> listed_;  // among those that are written here
};

// True for a database that this process writes now: other code of this process may open and close it only through
// SQLite.
bool is_written_here(const std::string& db_path);

// For tests that show that data is lost without the locks.
void set_writer_locks_enabled_for_testing(bool enabled);

}  // namespace tracker::internal
