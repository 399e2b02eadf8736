// SPDX-License-Identifier: MIT
// One ring file mapped into this process: a header page and the data, allocated in full so that a full tmpfs is an
// error here and never a SIGBUS later. Threads: construction and destruction by one; the fields' writers are named in
// ring_format.h.
#pragma once

#include <memory>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "journal/ring/ring_format.h"

namespace tracker::internal {

class RingFile {
 public:
  // Creates <dir>/ring-<nonce> with `data_bytes` (a power of two >= 4096); empty `dir`: private anonymous memory.
  static Result<std::unique_ptr<RingFile>> create(const std::string& dir, const Id128& writer, uint64_t data_bytes);
  ~RingFile();  // unmaps; the file stays until unlink_file()
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;

  RingHeader* header() { return header_; }
  char* data() { return data_; }
  uint64_t data_bytes() const { return data_bytes_; }
  uint64_t nonce() const { return nonce_; }
  const std::string& path() const { return path_; }
  void unlink_file();
  // Returns the memory after the header to the system; its records then read as zeros.
  void drop_data();
  // False when the file was unlinked or replaced under us (a logout or a job's epilogue cleans /dev/shm).
  bool still_linked() const;

  uint64_t drained = 0;                      // up to here the drain thread has read; written by it alone
  uint64_t losses_drained[kLossSlots] = {};  // counts already reported in frames
  uint64_t losses_released[kLossSlots] =
      {};  // of these, in frames that are committed or spilled; under the journal's files_mutex_
  uint64_t points_read = 0, texts_read = 0;

 private:
  RingFile() = default;
  RingHeader* header_ = nullptr;
  char* data_ = nullptr;
  uint64_t data_bytes_ = 0;
  uint64_t nonce_ = 0;
  uint64_t device_ = 0, inode_ = 0;
  std::string path_;
};

// Whether there is a byte that is not zero after `from`, up to the most that a ring file has. Holes are skipped. Cost:
// reads what is there of it.
Result<bool> holds_data(int fd, uint64_t from);

// Counts `count` dropped points of (series, reason) in the ring's header. Threads: any. No allocation.
void count_loss(RingHeader* header, uint32_t series, uint8_t reason, uint64_t count);

}  // namespace tracker::internal
