// SPDX-License-Identifier: MIT
// SQLite reads a database page by page, and a blob of a MiB is 256 pages, mostly adjacent in the file.
// Where a read goes on at the end of the one before it, more is read, and the next pages come from memory: a sixteenth
// of the system calls. Only within one call of SQLite's that goes on in an open transaction: no page changes meanwhile
// that it reads from the file, for readers hold their lock or their snapshot, whose pages a checkpoint leaves alone.
// Threads: each has its own.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace tracker::internal {

constexpr size_t kReadAheadBytes = 64 << 10;  // of a thread that reads, as long as it lives

class ReadAhead {
 public:
  // What is held is of no use any more: another call, or something was written.
  void forget() {
    fd_ = -1;
    begin_ = end_ = 0;
  }

  // As pread(2), by `read(fd, to, bytes, offset)` where the bytes are not held.
  template <typename Read>
  ssize_t pread(int fd, void* to, size_t bytes, off_t offset, Read&& read) {
    const bool goes_on = fd == fd_ && offset == next_;
    if (fd != fd_) begin_ = end_ = 0;
    fd_ = fd;
    next_ = offset + static_cast<off_t>(bytes);
    if (offset >= begin_ && next_ <= end_) {
      std::memcpy(to, bytes_.get() + (offset - begin_), bytes);
      return static_cast<ssize_t>(bytes);
    }
    window_ = goes_on ? std::min(2 * std::max(window_, bytes), kReadAheadBytes) : 0;
    if (window_ > bytes && room() && fill(fd, offset, bytes, read)) {
      std::memcpy(to, bytes_.get(), bytes);
      return static_cast<ssize_t>(bytes);
    }
    return read(fd, to, bytes, offset);
  }

 private:
  bool room() {
    if (bytes_ == nullptr) bytes_.reset(new (std::nothrow) char[kReadAheadBytes]);
    return bytes_ != nullptr;
  }

  // False: the end of the file or an error, which the caller learns of a read that asks for no more than it did.
  template <typename Read>
  bool fill(int fd, off_t offset, size_t least, Read&& read) {
    begin_ = end_ = 0;
    const ssize_t got = read(fd, static_cast<void*>(bytes_.get()), window_, offset);
    if (got < static_cast<ssize_t>(least)) {
      window_ = 0;  // what lies ahead fails: not met again for each page before it
      return false;
    }
    begin_ = offset;
    end_ = offset + got;
    return true;
  }

  int fd_ = -1;
  off_t next_ = 0;             // the end of the last read
  off_t begin_ = 0, end_ = 0;  // of what is held
  size_t window_ = 0;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace tracker::internal
