// SPDX-License-Identifier: MIT
// The databases that connections of ours have open. SQLite keeps one entry for each device and inode of a process: its
// locks and the mapped index. Two kinds of entries are unusable: one that a forked child inherits has locks that only
// the parent holds, and descriptors that may be closed; that of a lost connection (sqlite_calls.h) has descriptors that
// other code closed. Where SQLite sees another device for such a file, it makes a new entry (docs/decisions/0039).
// Threads: any; safe after a fork() at any moment. Cost: a comparison for each open database.
#pragma once

#include <atomic>
#include <cstdint>

namespace tracker::internal {

// Limit: databases that a process has open at a fork. Beyond it: the child opens each file apart.
constexpr int kOpenDatabasesMax = 4096;

struct OpenDatabase {
  std::atomic<uint64_t> inode{0}, device{0};  // inode 0: this place is free
  std::atomic<uint64_t> generation{0};        // of the process that opened it
  std::atomic<bool> is_lost{false};
};

// For a new connection. nullptr: all places are used, and from the next fork() on every file counts as inherited.
OpenDatabase* add_open_database(uint64_t device, uint64_t inode);
// When the connection is closed. Does nothing for one that a parent process opened: SQLite's entry remains too.
void remove_open_database(OpenDatabase* database);
// How often an entry of this file has become unusable. The number changes only by a fork() or a lost connection.
uint64_t unusable_entries(uint64_t device, uint64_t inode);

}  // namespace tracker::internal
