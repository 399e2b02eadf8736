// SPDX-License-Identifier: MIT
// A log of everything that this process writes below a folder through libc, SQLite too, in order: write_log.cc takes
// the place of write, pwrite, ftruncate, fsync, fdatasync, rename, renameat2, link, unlink, mkdir and open with
// O_CREAT. What is written through a mapping is not seen: of our files that is the -shm of SQLite, which a power cut
// takes in any case.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tracker::internal {

// kSyncBegin and kSync are start and end of one fsync; nothing is between the two.
enum class WriteKind : uint8_t {
  kCreate,
  kFolder,
  kWrite,
  kTruncate,
  kSyncBegin,
  kSync,
  kRename,
  kLink,
  kUnlink,
  kMark
};

struct LoggedWrite {
  WriteKind kind = WriteKind::kMark;
  uint64_t at = 0;     // offset, new size, or the number of a mark
  uint64_t value = 0;  // of a mark
  int64_t time_ns = 0;
  std::string path;   // relative to the folder; empty for a mark
  std::string other;  // the new name
  std::string data;
};

// Begins the log of this process in a new file at `log`, which must not lie below `folder`. Before any thread is
// started; once a process.
void start_write_log(const std::string& folder, const std::string& log);
// A remark between the writes, such as what is acknowledged by now. Threads: any.
void mark_write_log(uint64_t number, uint64_t value);
std::vector<LoggedWrite> read_write_log(const std::string& log);

}  // namespace tracker::internal
