// SPDX-License-Identifier: MIT
// A disk that fails or is slow, for everything in this process that goes through libc, SQLite too: faulty_disk.cc takes
// the place of write, pwrite, ftruncate, fsync, fdatasync, syncfs, readdir, unlink and of open with O_CREAT, counts
// some other calls and answers statfs. Needs no mount and no root.
#pragma once

#include <atomic>
#include <string>

namespace tracker::internal {

struct FaultyDisk {
  std::atomic<int> write_errno{0};  // of each write, and of each file that is to be made
  std::atomic<int> fsync_errno{0};
  std::atomic<int> wal_sync_errno{0};  // of each fdatasync of a WAL alone
  std::atomic<int> readdir_errno{0};   // of each reading of an open folder
  std::atomic<int> fsync_ms{0};        // how long each fsync takes
  std::atomic<int> write_ms{0};        // and each write
  std::atomic<int> short_writes{0};    // so many writes take half of what they are given; the next one fails
  // From 0 on: so many writes, truncations and fsyncs go well. Before the next one the process kills itself, or with
  // an errno here writes and fsyncs fail by it from then on.
  std::atomic<int> writes_left{-1};
  std::atomic<int> errno_then{0};
  std::atomic<bool> dies_with_a_ring{false};  // the process kills itself after the next unlink of a ring
  std::atomic<int> faults{0};                 // what was made to fail
  std::atomic<int> fsyncs{0};                 // syncfs among them
  std::atomic<int> wal_fsyncs{0};             // fsync alone: SQLite calls fdatasync
  std::atomic<int> syncfs{0};
  std::atomic<int> begun_early{0};   // sync_file_range: the disk starts, no thread waits for it
  std::atomic<int> allocations{0};   // fallocate
  std::atomic<int> room_asked{0};    // statfs, which also returns the kind of file system
  std::atomic<int> free_blocks{-1};  // from 0 on: what it answers is free to this user
};
FaultyDisk& faulty_disk();
// Ends failing writes, fsyncs and a full disk, also those that a write of another thread is about to begin.
void heal_disk();
// Only files below `folder` are concerned. Before any thread is started.
void set_faulty_folder(const std::string& folder);

}  // namespace tracker::internal
