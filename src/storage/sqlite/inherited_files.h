// SPDX-License-Identifier: MIT
// The files that connections of ours had open when this process was forked. SQLite keeps one table of locks and of the
// mapped index for each device and inode, and a forked child inherits it with locks that only its parent has, and with
// descriptors that may be closed. Told another device for these files, a child's SQLite finds no such entry and makes
// one of its own (docs/decisions/0039); of any other file it is told the truth. Threads: any; safe after a fork()
// at any moment. Cost: in a forked child one comparison an inherited file, else a load.
#pragma once

#include <atomic>
#include <cstdint>

namespace tracker::internal {

constexpr int kInheritedFilesMax = 4096;  // with more, every file counts as inherited

// What a connection of ours has opened, by the number of its descriptor. Inode 0: nothing is known.
struct SqliteFile {
  std::atomic<uint64_t> device{0}, inode{0};
};

// Before the first connection of ours: what is open in this process is none of ours.
void begin_inheriting();
// Before `opened`, of `count`, is changed, and before the next function: lists it, once in a process, as its parent
// left it. `count` less than 0: not all of it is known.
void list_inherited(const SqliteFile* opened, int count);
// The forks since that file was open in a parent, 0: it was not. The same as long as a process lives.
uint64_t forks_since_open(uint64_t device, uint64_t inode);

}  // namespace tracker::internal
