// SPDX-License-Identifier: MIT
// Keeps the WAL of a live database from being deleted by a second SQLite copy in this process (design 3): POSIX locks
// do not hold against one's own process, OFD locks on descriptors of our own do. Read locks on the shared range of
// the .db deny the exclusive lock that deletes the WAL; one on the "dead man's switch" of the -shm denies its
// truncation.
// Threads: one at a time; is_written_here() any. Cost: a few system calls.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/fs.h"
#include "base/lasting_fd.h"
#include "base/status.h"

namespace tracker::internal {

using FileId = std::pair<dev_t, ino_t>;
// A link is not the file that it names: readers and recovery refuse one.
std::optional<FileId> file_at(const std::string& path);

class WriterLocks {
 public:
  WriterLocks() = default;
  ~WriterLocks() { close(); }
  WriterLocks(const WriterLocks&) = delete;
  WriterLocks& operator=(const WriterLocks&) = delete;
  // Before SQLite opens the database, which is in WAL mode. Where a file system has no OFD locks nothing is locked
  // and no failure reported: the database is as safe as any other of SQLite's.
  Status acquire(const std::string& db_path);
  // The locks go, the descriptors stay: closing any descriptor of a file drops this process's POSIX locks on it,
  // SQLite's included.
  void release();
  // Only after SQLite has closed the database.
  void close();
  // Somebody closed a descriptor of ours: what it locked is not locked any more, nor is what SQLite has locked itself.
  bool is_closed_by_others() const;
  // Whether the file at the path of the .db is still the one that is open here, as far as can be seen.
  bool in_place() const;
  // It has no name any more, and no other file has its own; also where it is not open any more.
  bool removed() const;
  // Not open any more, and another file has its name.
  bool lost_to_another() const;
  void forget();  // close(), and what file it was
  const LastingFd& db() const { return db_; }

 private:
  void unlist();
  std::string path_;
  LastingFd db_;
  LastingFd shm_;
  std::optional<FileId> held_;    // that was open last
  std::optional<FileId> listed_;  // among those that are written here
};

// True for a database that this process writes now: nobody here may open and close it but through SQLite.
bool is_written_here(const std::string& db_path);

// Tests show that data is lost without them.
void set_writer_locks_enabled_for_testing(bool enabled);

}  // namespace tracker::internal
