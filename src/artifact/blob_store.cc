// SPDX-License-Identifier: MIT
#include "artifact/blob_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/ids.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kBlobMode = 0444;
constexpr size_t kComparedBytes = 128 << 10;  // read of each file at a time

// Less than `size` only at the end of the file, or if it cannot be read.
size_t read_at(const Fd& file, off_t at, char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(file.get(), out + done, size - done, at + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

// The number of the batch that made a file: the first 8 of the 16 digits at the end of its name.
std::string_view batch_of(std::string_view path) { return path.substr(path.size() - 16, 8); }

}  // namespace

BlobStore::BlobStore(const std::string& store_path)
    : folder_(join_path(join_path(store_path, kBlobsFolder), "sha256")) {}

std::string BlobStore::path_of(const Digest& digest) const {
  const std::string hex = digest.hex();
  return fmt::format("{}/{}/{}", folder_, std::string_view(hex).substr(0, 2), std::string_view(hex).substr(2));
}

Result<Fd> BlobStore::open(const Digest& digest) const {
  const std::string path = path_of(digest);
  auto fd = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok()) {
    if (fd.status().code() != Code::kNotFound) return fd.status();
    return Status(Code::kNotFound, fmt::format("the store has no blob {}", digest.hex()),
                  "`tracker artifact verify` names what is missing");
  }
  struct stat st{};
  if (::fstat(fd->get(), &st) != 0 || !S_ISREG(st.st_mode))
    return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
  return fd;
}

bool BlobStore::is_younger(const Digest& digest, uint64_t bytes, std::chrono::seconds age) const {
  struct stat st{};
  return ::lstat(path_of(digest).c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
         static_cast<uint64_t>(st.st_size) == bytes && realtime_ns() / 1'000'000'000 - st.st_mtime < age.count();
}

bool BlobStore::keep(const Digest& digest, uint64_t bytes) const {
  if (is_younger(digest, bytes, kBlobTouchAge)) return true;
  // Another user's blob cannot be touched: the caller writes its own in its place.
  return is_younger(digest, bytes, std::chrono::seconds::max()) &&
         ::utimensat(AT_FDCWD, path_of(digest).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

// By read(2): reading a mapping of a file on a failing disk kills the process.
Result<bool> BlobStore::holds(const Digest& digest, const Fd& file, const std::atomic<bool>* cancel) const {
  const auto blob = open(digest);
  struct stat st{};
  if (!blob.ok() || ::fstat(file.get(), &st) != 0) return false;
  std::vector<char> ours(kComparedBytes), theirs(kComparedBytes);
  for (off_t at = 0; at < st.st_size;) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
      return Status(Code::kClosed, "the artifact was given up");
    const size_t n = read_at(file, at, theirs.data(), theirs.size());
    if (n == 0 || read_at(*blob, at, ours.data(), n) != n || std::memcmp(ours.data(), theirs.data(), n) != 0)
      return false;
    at += static_cast<off_t>(n);
  }
  return true;
}

// Not all file systems except local ones pass syncfs(2) on to the machine with the bytes.
std::vector<Leftover> dead_temporaries(const BlobStore& store) {
  const NameLeases held(store.lock_folder());
  const auto age = held.are_known() ? kBlobLeftoverAge : kAgeWithoutLocks;
  std::vector<Leftover> out;
  for (const std::string& folder : {store.lock_folder(), store.folder()})
    for (Leftover& leftover : list_leftovers(folder, age.count()))
      if (!held.holds(batch_of(leftover.path))) out.push_back(std::move(leftover));
  return out;
}

size_t remove_dead_temporaries(const BlobStore& store) {
  const std::vector<Leftover> dead = dead_temporaries(store);
  for (const Leftover& leftover : dead) remove_file(leftover.path);
  return dead.size();
}

BlobBatch::BlobBatch(const BlobStore& store) : store_(store), number_(static_cast<uint32_t>(random_u64())) {
  const FsKind kind = fs_kind(store.folder());
  is_local_ = kind == FsKind::kLocal || kind == FsKind::kTmpfs;
}

BlobBatch::~BlobBatch() {
  for (const Staged& staged : staged_) remove_file(staged.file.path);
}

Result<BlobBatch::Temporary> BlobBatch::begin() {
  if (!has_folder_) {
    TRACKER_RETURN_IF_ERROR(make_dirs(store_.folder()));
    // A small file may wait for hours while a large one is copied.
    held_ = NameLease(store_.lock_folder(), fmt::format("{:08x}", number_));
    // Else a job that is killed and requeued again and again would fill the disk with incomplete copies.
    (void)remove_dead_temporaries(store_);
  }
  has_folder_ = true;
  Temporary out;
  out.path = join_path(store_.folder(), fmt::format("blob.tmp-{:08x}{:08x}", number_, next_name_++));
  auto fd = open_file(out.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return fd.status();
  out.fd = std::move(*fd);
  return out;
}

Status BlobBatch::add(Temporary file, const Digest& digest, uint64_t bytes, const std::atomic<bool>* cancel) {
  if (store_.keep(digest, bytes)) {
    // The file that was just read is right; of the existing blob only the size is known.
    const auto same = store_.holds(digest, file.fd, cancel);
    if (!same.ok() || *same) {
      remove_file(file.path);
      return same.ok() ? Status() : same.status();
    }
  }
  if (::fchmod(file.fd.get(), kBlobMode) != 0) {
    const Status status = Status::from_errno(errno, "cannot store", file.path);
    remove_file(file.path);
    return status;
  }
  // So that the fsyncs of commit() find little left to do.
  if (bytes >= kEarlyWriteBytesMin) (void)::sync_file_range(file.fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  if (is_local_ && staged_.size() >= kSyncedByOneMin) file.fd.reset();
  staged_.push_back({std::move(file), digest});
  staged_bytes_ += bytes;
  const size_t files_max = is_local_ ? kBlobsABatch : kOpenBlobsABatch;
  return staged_.size() >= files_max || staged_bytes_ >= kBlobBytesABatch ? name_staged() : Status();
}

// By rename: another user's blob that could not be touched, or a damaged one, is replaced; one that appeared meanwhile
// has the same bytes.
Status BlobBatch::place(const Staged& staged) {
  const std::string path = store_.path_of(staged.digest);
  const std::string folder = parent_path(path);
  if (folders_.insert(folder).second) TRACKER_RETURN_IF_ERROR(make_dirs(folder));
  if (::rename(staged.file.path.c_str(), path.c_str()) == 0) return {};
  return Status::from_errno(errno, "cannot name the blob", path);
}

Status BlobBatch::name_staged() {
  Status status;
  const bool by_one = is_local_ && staged_.size() >= kSyncedByOneMin;
  for (const Staged& staged : staged_) {
    if (by_one || !status.ok()) break;
    if (::fsync(staged.file.fd.get()) != 0) status = Status::from_errno(errno, "cannot store", staged.file.path);
  }
  if (status.ok() && by_one && ::syncfs(staged_.front().file.fd.get()) != 0)
    status = Status::from_errno(errno, "cannot store", staged_.front().file.path);
  size_t placed = 0;
  while (status.ok() && placed < staged_.size()) {
    status = place(staged_[placed]);
    placed += status.ok() ? 1 : 0;
  }
  staged_.erase(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(placed));
  if (status.ok()) staged_bytes_ = 0;
  return status;
}

Status BlobBatch::commit() {
  TRACKER_RETURN_IF_ERROR(name_staged());
  for (const std::string& folder : folders_) sync_path(folder);
  if (!folders_.empty()) sync_path(store_.folder());
  folders_.clear();
  return {};
}

}  // namespace tracker::internal
