// SPDX-License-Identifier: MIT
#include "journal/ring/ring_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "base/fs.h"
#include "base/write_signals.h"
#include "codec/frame.h"
#include "model/records.h"

namespace tracker::internal {

Result<std::unique_ptr<RingFile>> RingFile::create(const std::string& dir, const Id128& writer, uint64_t data_bytes) {
  std::unique_ptr<RingFile> ring(new (std::nothrow) RingFile);
  if (!ring) return Status(Code::kLimit, "out of memory for a ring");
  ring->nonce_ = random_u64() & kNonceMask;
  ring->data_bytes_ = data_bytes;
  const size_t bytes = kRingHeaderBytes + data_bytes;
  void* base = MAP_FAILED;
  if (dir.empty()) {
    base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  } else {
    ring->path_ = join_path(dir, fmt::format("ring-{:016x}", ring->nonce_));
    auto fd = open_file(ring->path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!fd.ok()) return fd.status();
    const NoWriteSignals guard;
    // fallocate(2) itself, not posix_fallocate, which would fall back to writing each block.
    struct stat st;
    if (::fallocate(fd->get(), 0, 0, static_cast<off_t>(bytes)) != 0 || ::fstat(fd->get(), &st) != 0) {
      const Status status = Status::from_errno(errno, "cannot allocate", ring->path_);
      ring->unlink_file();
      return status;
    }
    ring->device_ = st.st_dev;
    ring->inode_ = st.st_ino;
    base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
  }
  if (base == MAP_FAILED) {
    const Status status = Status::from_errno(errno, "cannot map", ring->path_);
    ring->unlink_file();
    return status;
  }
  ::madvise(base, bytes, MADV_DONTFORK);  // a child never touches it, and must not keep its pages
  ring->header_ = new (base) RingHeader();
  ring->data_ = static_cast<char*>(base) + kRingHeaderBytes;
  RingHeader* header = ring->header_;
  header->version = kRingVersion;
  header->tick_kind = static_cast<uint32_t>(kTickKind);
  header->nonce = ring->nonce_;
  header->data_bytes = data_bytes;
  std::memcpy(header->writer, writer.bytes.data(), writer.bytes.size());
  header->ticks_per_ns = ticks_per_ns();
  header->anchors[0] = read_anchor();
  header->anchor_count.store(1, std::memory_order_relaxed);
  // Last: a ring without it was never used. (Not a fence: gcc's ThreadSanitizer refuses those.)
  std::atomic_ref<uint64_t>(header->magic).store(kRingMagic, std::memory_order_release);
  return ring;
}

RingFile::~RingFile() {
  if (header_ != nullptr) ::munmap(header_, kRingHeaderBytes + data_bytes_);
}

void RingFile::unlink_file() {
  if (!path_.empty()) remove_file(path_);
}

void RingFile::drop_data() { ::madvise(data_, data_bytes_, path_.empty() ? MADV_DONTNEED : MADV_REMOVE); }

bool RingFile::still_linked() const {
  if (path_.empty()) return true;
  struct stat st;
  return ::lstat(path_.c_str(), &st) == 0 && st.st_dev == device_ && st.st_ino == inode_;
}

Result<bool> holds_data(int fd, uint64_t from) {
  std::vector<char> part(64 << 10);
  const off_t end = static_cast<off_t>(kRingHeaderBytes + kRingFileBytesMax);
  for (off_t at = static_cast<off_t>(from); at < end;) {
    const off_t data = ::lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return false;  // a hole up to the end
    if (data > at) at = data;
    const ssize_t n = ::pread(fd, part.data(), part.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read a ring");
    if (n == 0) return false;
    if (std::any_of(part.begin(), part.begin() + n, [](char c) { return c != 0; })) return true;
    at += n;
  }
  return false;
}

void count_loss(RingHeader* header, uint32_t series, uint8_t reason, uint64_t count) {
  static_assert(kLossSlotsShared == 3 * kRingLossReasonLast, "one for each reason, of points, texts and entries");
  uint64_t key = static_cast<uint64_t>(series) << 8 | reason;
  for (size_t i = 0; i < kLossSlots; ++i) {
    // No slot of its own is left: counted, without saying which series.
    if (i == kLossSlots - kLossSlotsShared && is_of_points(series)) key = reason;
    LossSlot& slot = header->losses[i];
    uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == 0 && slot.key.compare_exchange_strong(found, key, std::memory_order_acq_rel)) found = key;
    if (found != key) continue;
    slot.count.fetch_add(count, std::memory_order_release);
    return;
  }
}

}  // namespace tracker::internal
