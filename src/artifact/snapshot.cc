// SPDX-License-Identifier: MIT
#include "artifact/snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/clock.h"

namespace tracker::internal {
namespace {

bool is_as_listed(const SourceStamp& stamp, const ListedFile& file) {
  return stamp.bytes == file.bytes && stamp.mtime_ns == file.mtime_ns;
}

// Of the file that is held open, or of the file with that name.
Result<SourceStamp> stamp_now(const std::string& folder, const std::string& path, const HeldFile* held) {
  if (held == nullptr) return stamp_source(folder, path);
  const auto opened = held->open();
  if (!opened.ok()) return opened.status();
  return opened->stamp;
}

int64_t age_ns(const SourceStamp& stamp) { return realtime_ns() - std::max(stamp.mtime_ns, stamp.ctime_ns); }

Status changed_status(const std::string& path, bool since_named) {
  if (since_named)
    return Status(Code::kBusy, fmt::format("{} has changed since it was added to the artifact", path),
                  "wait() for the artifact before the file is written again, or log it with copy=True");
  return Status(Code::kBusy, fmt::format("{} changes while it is read: {} tries", path, kSnapshotTriesMax),
                "nothing of it was stored");
}

}  // namespace

// The kernel grants a read lease only if no process has the file open for writing; the lease is released at once. A
// process that opens the file for writing in between waits for that moment, and we get a signal: not SIGIO, which would
// kill the process, but one that is ignored by default, and sent to this thread, which blocks it.
bool is_open_for_writing(const Fd& file) {
  const f_owner_ex owner{F_OWNER_TID, ::gettid()};
  if (::fcntl(file.get(), F_SETOWN_EX, &owner) != 0 || ::fcntl(file.get(), F_SETSIG, SIGURG) != 0) return false;
  if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  (void)::fcntl(file.get(), F_SETLEASE, F_UNLCK);
  return false;
}

void wait_for_tick(const SourceStamp& stamp) {
  const int64_t tick_ns = std::chrono::nanoseconds(kTimestampTick).count();
  const int64_t age = age_ns(stamp);
  if (age >= 0 && age < tick_ns) std::this_thread::sleep_for(std::chrono::nanoseconds(tick_ns - age));
}

Snapshooter::Snapshooter(const BlobStore& blobs, BlobBatch* batch, DigestCache* cache, SnapshotOptions options)
    : blobs_(blobs), batch_(batch), cache_(cache), options_(std::move(options)) {}

Status Snapshooter::check_room(uint64_t bytes) {
  if (options_.free_bytes_min == 0) return {};
  const uint64_t counted = bytes + kRoomAFileBytes;
  if (counted <= room_known_bytes_) {
    room_known_bytes_ -= counted;
    return {};
  }
  room_known_bytes_ = 0;
  const auto ask = [&] { return free_bytes(parent_path(blobs_.folder())); };
  const auto first = ask();
  if (!first) return {};
  uint64_t free = *first;
  const auto has_room = [&] { return free >= bytes && free - bytes >= options_.free_bytes_min; };
  // Incomplete copies of killed processes may have taken all the space.
  if (!has_room() && remove_dead_temporaries(blobs_) > 0) free = ask().value_or(0);
  if (has_room()) {
    room_known_bytes_ = std::min(kRoomAskedBytes, free - bytes - options_.free_bytes_min);
    return {};
  }
  return Status(Code::kLimit,
                fmt::format("{} has {} bytes free: a file of {} bytes would leave less than {}", blobs_.folder(), free,
                            bytes, options_.free_bytes_min),
                "metrics are stored all the same");
}

// A copy that is already in the store is hashed and renamed; it is not written again.
Result<Digest> Snapshooter::take_copy(const HeldFile& held, OpenedFile copy) {
  const uint64_t bytes = copy.stamp.bytes;
  TRACKER_RETURN_IF_ERROR(check_room(0));
  auto digest = copy_and_hash(copy, nullptr, bytes, held.copy);
  if (!digest.ok()) return digest;
  BlobBatch::Temporary file{std::move(copy.fd), held.copy};
  if (!held.copy.starts_with(blobs_.store_path() + "/")) {  // it was held for another store
    auto target = batch_->begin();
    if (!target.ok()) return target.status();
    copy.fd = std::move(file.fd);
    digest = copy_and_hash(copy, &target->fd, bytes, held.copy);
    file = std::move(*target);
    if (!digest.ok()) remove_file(file.path);
    if (!digest.ok()) return digest;
  }
  TRACKER_RETURN_IF_ERROR(batch_->add(std::move(file), *digest, bytes, options_.cancel));
  ++files_read_;
  bytes_read_ += bytes;
  return digest;
}

Result<Digest> Snapshooter::take(const std::string& folder, const ListedFile& expected, const HeldFile* held) {
  const std::string path = folder.empty() ? expected.path : join_path(folder, expected.path);
  if (held != nullptr && held->known && blobs_.keep(*held->known, expected.bytes)) return *held->known;
  if (held != nullptr && held->is_copy())
    if (auto copy = held->open(); copy.ok()) {
      auto digest = take_copy(*held, std::move(*copy));
      // The copy does not show the file's present content: an unchanged file is read once more, and then its digest is
      // remembered.
      const auto now = stamp_source(folder, expected.path);
      if (!digest.ok() || !now.ok() || !is_as_listed(*now, expected)) return digest;
      wait_for_tick(*now);
      (void)missing(folder, expected);
      return digest;
    }
  if (held != nullptr && !held->file.is_ours()) held = nullptr;
  auto stamp = stamp_now(folder, expected.path, held);
  if (!stamp.ok()) return stamp.status();
  if (!is_as_listed(*stamp, expected)) return changed_status(path, true);
  if (const auto known = cache_->find(*stamp); known && blobs_.keep(*known, stamp->bytes)) return *known;
  for (int attempt = 0; attempt < kSnapshotTriesMax; ++attempt) {
    bool changed = false;
    auto digest = read(folder, expected, held, &changed);
    if (!changed) return digest;
  }
  return changed_status(path, false);
}

Result<Digest> Snapshooter::read(const std::string& folder, const ListedFile& expected, const HeldFile* held,
                                 bool* changed) {
  const std::string path = folder.empty() ? expected.path : join_path(folder, expected.path);
  auto source = held != nullptr ? held->open() : open_source(folder, expected.path);
  if (!source.ok()) return source.status();
  wait_for_tick(source->stamp);
  const bool shows_writes = write_out(*source, path);
  struct stat st{};
  if (::fstat(source->fd.get(), &st) != 0) return Status::from_errno(errno, "cannot read", path);
  const SourceStamp before = SourceStamp::of(st);
  if (!is_as_listed(before, expected)) return changed_status(path, true);
  TRACKER_RETURN_IF_ERROR(check_room(before.bytes));
  // After the stamp: a write that starts later gives the file another stamp.
  const bool written_to = is_open_for_writing(source->fd);
  auto target = batch_->begin();
  if (!target.ok()) return target.status();
  auto digest = copy_and_hash(*source, &target->fd, before.bytes, path);
  bool differs = false;
  if (digest.ok() && written_to)
    if (const Status status = read_again(*source, *digest, before.bytes, path, &differs); !status.ok()) digest = status;
  const auto after = digest.ok() ? stamp_now(folder, expected.path, held) : Result<SourceStamp>(before);
  // A file that is renamed or removed while it is read has another ctime: if it is held open, that is not a change.
  const bool same = after.ok() && (held != nullptr ? is_as_listed(*after, expected) : *after == before);
  *changed = differs || digest.status().code() == Code::kBusy || (digest.ok() && !same);
  if (!digest.ok() || *changed) {
    remove_file(target->path);
    return digest;
  }
  TRACKER_RETURN_IF_ERROR(batch_->add(std::move(*target), *digest, before.bytes, options_.cancel));
  // A write that started long before the file was read would not be noticed later.
  const auto age_min = written_to ? std::chrono::nanoseconds(options_.dirty_age) : tick(before, path);
  if (shows_writes && age_ns(before) >= age_min.count()) cache_->put(before, *digest);
  ++files_read_;
  bytes_read_ += before.bytes;
  return digest;
}

Status Snapshooter::read_again(const OpenedFile& source, const Digest& digest, uint64_t bytes, const std::string& path,
                               bool* changed) {
  std::this_thread::sleep_for(kWriterPause);
  const auto again = copy_and_hash(source, nullptr, bytes, path);
  *changed = again.ok() ? *again != digest : again.status().code() == Code::kBusy;
  return again.ok() || *changed ? Status() : again.status();
}

Result<std::optional<Digest>> Snapshooter::missing(const std::string& folder, const ListedFile& expected,
                                                   const HeldFile* held) {
  const std::string path = folder.empty() ? expected.path : join_path(folder, expected.path);
  if (held != nullptr && held->known && blobs_.keep(*held->known, expected.bytes)) return std::optional<Digest>();
  const bool is_held = held != nullptr && (held->is_copy() || held->file.is_ours());
  auto source = is_held ? held->open() : open_source(folder, expected.path);
  if (!source.ok()) return source.status();
  const bool is_copy = is_held && held->is_copy();
  if (!is_copy && !is_as_listed(source->stamp, expected)) return changed_status(path, true);
  std::optional<Digest> digest = cache_->find(source->stamp);
  if (!digest) {
    const bool shows_writes = age_ns(source->stamp) >= tick(source->stamp, path).count() && write_out(*source, path) &&
                              !is_open_for_writing(source->fd);
    const auto read = copy_and_hash(*source, nullptr, source->stamp.bytes, path);
    if (!read.ok()) return read.status();
    const auto after = is_held ? Result<SourceStamp>(Status(Code::kBusy, "")) : stamp_source(folder, expected.path);
    if (shows_writes && after.ok() && *after == source->stamp) cache_->put(source->stamp, *read);
    digest = *read;
  }
  if (blobs_.keep(*digest, source->stamp.bytes)) digest.reset();
  return digest;
}

// All files of a device are on one file system.
const FsType& Snapshooter::fs_of(const SourceStamp& stamp, const std::string& path) {
  if (fs_device_ != stamp.device) fs_ = fs_type(path);
  fs_device_ = stamp.device;
  return fs_;
}

std::chrono::nanoseconds Snapshooter::tick(const SourceStamp& stamp, const std::string& path) {
  const FsKind kind = fs_of(stamp, path).kind;
  return kind == FsKind::kNetwork || kind == FsKind::kFuse ? std::chrono::nanoseconds(kNetworkTimestampTick)
                                                           : std::chrono::nanoseconds(kTimestampTick);
}

// Best effort: an error of the disk is reported when the file is read. Not on file servers: some set a file's time when
// they receive the bytes, and the file would seem to have changed.
bool Snapshooter::write_out(const OpenedFile& source, const std::string& path) {
  const FsType& fs = fs_of(source.stamp, path);
  if (fs.kind == FsKind::kTmpfs) return false;  // its pages are never clean
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (fs.kind == FsKind::kLocal && !fs.is_stacked && ::sync_file_range(source.fd.get(), 0, 0, kAll) == 0) return true;
  if (age_ns(source.stamp) >= std::chrono::nanoseconds(options_.dirty_age).count()) return true;
  return fs.is_stacked && source.stamp.bytes >= kSyncedSourceBytesMin && ::fdatasync(source.fd.get()) == 0;
}

bool Snapshooter::clone(const Fd& source, const Fd& target, const SourceStamp& stamp) {
  if (stamp.bytes == 0 || uncloned_device_ == stamp.device) return false;
  if (::ioctl(target.get(), FICLONE, source.get()) == 0) {
    ++files_cloned_;
    return true;
  }
  if (errno == EOPNOTSUPP || errno == EXDEV || errno == ENOTTY) uncloned_device_ = stamp.device;
  return false;
}

// For a clone, the clone is read: it no longer changes. By read(2): a mapping of a file that is truncated, or on a
// failing disk, kills the process.
Result<Digest> Snapshooter::copy_and_hash(const OpenedFile& source, const Fd* target, uint64_t bytes,
                                          const std::string& path) {
  const bool cloned = target != nullptr && clone(source.fd, *target, source.stamp);
  const bool copied = target != nullptr && !cloned;
  const int from = cloned ? target->get() : source.fd.get();
  if (buffer_.empty()) buffer_.resize(kSnapshotBufferBytes);
  if (bytes > kSnapshotBufferBytes) (void)::posix_fadvise(from, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (copied && bytes >= kAllocatedBytesMin && ::fallocate(target->get(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT))
    return Status::from_errno(errno, "cannot store a copy of", path);
  Sha256 hash;
  uint64_t done = 0;
  for (;;) {
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed))
      return Status(Code::kClosed, fmt::format("{} was given up", path));
    if (options_.between_reads_for_testing) options_.between_reads_for_testing();
    const ssize_t n = ::pread(from, buffer_.data(), buffer_.size(), static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", path);
    if (n == 0) break;
    const std::string_view read(buffer_.data(), static_cast<size_t>(n));
    hash.update(read);
    if (copied)
      if (const Status status = write_all(target->get(), read); !status.ok())
        return Status::from_errno(status.system_errno(), "cannot store a copy of", path);
    done += static_cast<uint64_t>(n);
    if (options_.read) options_.read(done);
    if (done > bytes) break;
  }
  if (done != bytes) return Status(Code::kBusy, fmt::format("{} has another size now", path));
  return hash.finish();
}

}  // namespace tracker::internal
