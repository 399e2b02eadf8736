// SPDX-License-Identifier: MIT
#include "storage/frames/frames_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/bytes.h"
#include "base/clock.h"
#include "storage/database/put_back.h"
#include "storage/database/writer_locks.h"
#include "storage/frames/database_build.h"
#include "storage/frames/frames_tail.h"
#include "storage/sqlite/sqlite_calls.h"

namespace tracker::internal {

namespace {

bool is_frames_of(const std::string& path, const Id128& writer) {
  const auto input = open_frames(path, O_RDONLY);
  return input.ok() && input->writer == writer;
}

// NFS and FUSE give an unlinked file that is open another name instead; a server that has forgotten it says ESTALE.
bool is_unlinked(int fd) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return errno == ESTALE;
  if (st.st_nlink == 0) return true;
  char target[PATH_MAX];
  const ssize_t n = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target, sizeof target);
  const std::string_view path(target, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(".nfs") || name.starts_with(".fuse_hidden");
}

}  // namespace

Result<std::unique_ptr<FramesFile>> FramesFile::open_or_create(const std::string& run_path,
                                                               const WriterIdentity& identity,
                                                               const FramesFileOptions& options) {
  const std::string path = join_path(run_path, identity.writer.hex() + ".frames");
  if (!path_exists(path)) {
    std::string start = frames_header(identity.writer);
    put_frames_record(identity.writer, start.size(), FramesKind::kIdentity, encode_cbor(identity.to_value()), &start);
    const Status created = create_file_exclusive(path, start, 0666);
    if (!created.ok() && created.code() != Code::kExists) return created;
  }
  std::unique_ptr<FramesFile> file(new FramesFile(path, identity.writer, options));
  TRACKER_RETURN_IF_ERROR(file->load());
  return file;
}

// What is there already. Damage is the readers' to report; its writer goes on behind the last sound record.
Status FramesFile::load() {
  auto input = open_frames(path_, O_RDWR);
  if (!input.ok()) return input.status();
  if (input->writer != writer_)
    return Status(Code::kCorrupt, fmt::format("{} belongs to writer {}", path_, input->writer.hex()));
  fd_ = LastingFd(std::move(input->fd));
  FileBytes bytes(fd_.get(), input->size);
  FramesVisitor visitor;
  visitor.entry = [this](const FramesEntry& entry) {
    auto added = add_entry(writer_, entry, &totals_);
    return added.ok() || added.status().code() == Code::kCorrupt ? Status() : added.status();
  };
  auto end = scan_frames(bytes, writer_, kFramesHeaderBytes, visitor);
  if (!end.ok()) return Status(end.status().code(), fmt::format("{}: {}", path_, end.status().message()));
  end_ = *end;
  torn_ = input->size > end_;
  TRACKER_RETURN_IF_ERROR(keep_damaged_tail(path_, fd_.get(), input->size, end_));
  if (torn_ && ::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0)
    return Status::from_errno(errno, "cannot cut the unfinished end off", path_);
  torn_ = false;
  if (::fsync(fd_.get()) != 0) return Status::from_errno(errno, "fsync failed", path_);
  durable_end_ = end_;
  durable_seq_ = totals_.last_seq;
  return {};
}

// `why` the file that has the name cannot be gone on with. Where ours has neither a descriptor nor a name any more
// nothing is left to copy from: removed() then, and what stands in its place is kept.
Status FramesFile::leave_closed_file(Status why) {
  if (!closed_by_others_) return why;
  const auto named = file_at(path_);
  if (named ? *named == *closed_by_others_ : why.system_errno() != ENOENT) return why;
  if (named) TRACKER_RETURN_IF_ERROR(set_other_file_aside(path_));
  removed_ = true;
  return why;
}

// The file as it must be before anything is appended to it.
Status FramesFile::ensure_open() {
  if (closed_) return Status(Code::kClosed, fmt::format("{} is closed", path_));
  if (fd_ && !fd_.is_ours()) {  // somebody closed it; what was not synced is written again
    closed_by_others_ = fd_.file();
    fd_.reset();
    doubtful_ = true;
  }
  if (!fd_) {
    auto input = open_frames(path_, O_RDWR);
    if (!input.ok()) return leave_closed_file(input.status());
    if (input->writer != writer_ || input->size < durable_end_)
      return leave_closed_file(Status(Code::kIo, fmt::format("{} was replaced or cut while it is written", path_)));
    fd_ = LastingFd(std::move(input->fd));
    closed_by_others_.reset();
  }
  // Written over itself: readers see no less meanwhile, and a process that is killed here has lost nothing.
  if (doubtful_) TRACKER_RETURN_IF_ERROR(write_at(durable_end_, unsynced_));
  if ((torn_ || doubtful_) && ::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0)
    return Status::from_errno(errno, "cannot cut a torn record off", path_);
  torn_ = doubtful_ = false;
  return {};
}

Status FramesFile::write_at(uint64_t at, std::string_view bytes) {
  if (!fd_.is_ours()) return closed_by_others(path_);  // since ensure_open(): encoding takes milliseconds
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status::from_errno(n < 0 ? errno : EIO, "cannot write", path_);
    at += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// Whoever took this process for dead has appended to the file, or made a database of it and unlinked it. Asked before
// an append, so that nothing of theirs is written over, and behind it: what was written into a file that has lost its
// name is not stored. A builder looks at the length of the file once more behind its unlink (build_database()), so of
// the two one always sees the other.
Status FramesFile::look_for_others(uint64_t end) {
  if (!fd_.is_ours()) return closed_by_others(path_);
  if (is_unlinked(fd_.get())) TRACKER_RETURN_IF_ERROR(lose_file());
  struct stat st{};
  if (::fstat(fd_.get(), &st) != 0) return {};
  const auto size = static_cast<uint64_t>(st.st_size);
  if (size < end)  // the bytes are gone; a recoverer goes on behind what is left of them, and counts
    return Status(Code::kCorrupt, path_ + " was cut or overwritten while it is written, and what it held behind byte " +
                                      std::to_string(size) + " is gone; what was logged since stays in the journal");
  if (size == end) return {};
  taken_over_ = true;
  return Status(Code::kBusy, fmt::format("another process has appended to {}", path_));
}

Status FramesFile::write_records(const std::string& records) {
  if (records.empty()) return {};
  TRACKER_RETURN_IF_ERROR(look_for_others(end_));
  const Status status = write_at(end_, records);
  if (!status.ok()) {
    torn_ = ::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0;
    if (torn_) {
      // A stale handle never works again; a new one may, but what was not synced went with the old one.
      doubtful_ = true;
      fd_.reset();
    }
    return status;
  }
  const int put_backs = put_backs_;
  TRACKER_RETURN_IF_ERROR(look_for_others(end_ + records.size()));
  if (put_backs_ != put_backs) return Status(Code::kIo, path_ + " was put back, without what was just appended");
  end_ += records.size();
  unsynced_ += records;
  return {};
}

// Another file has its name, which a copy of ours takes: ok where that worked.
Status FramesFile::take_place() {
  TRACKER_RETURN_IF_ERROR(put_back_pace_.begin(path_));
  const Status status = put_frames_back(fd_.get(), end_, path_, is_frames_of(path_, writer_));
  put_back_pace_.end();
  TRACKER_RETURN_IF_ERROR(status);
  auto input = open_frames(path_, O_RDWR);
  if (!input.ok()) return input.status();
  fd_ = LastingFd(std::move(input->fd));
  durable_end_ = end_;
  durable_seq_ = totals_.last_seq;
  unsynced_.clear();
  ++put_backs_;
  return {};
}

// Another file has its name, or none. Ok: ours has it again. What may be copied later stays open.
Status FramesFile::lose_file() {
  Status status = fd_.is_ours() ? take_place() : Status(Code::kIo, path_ + " was replaced while it is written");
  if (status.ok() || (path_exists(path_) && fd_.is_ours() && status.system_errno() != ESTALE)) return status;
  doubtful_ = true;
  removed_ = is_unlinked(fd_.get());
  fd_.reset();
  return status;
}

Status FramesFile::sync() {
  struct stat open{};
  struct stat named{};
  if (::fstat(fd_.get(), &open) != 0 || ::lstat(path_.c_str(), &named) != 0 || open.st_ino != named.st_ino ||
      open.st_dev != named.st_dev)
    TRACKER_RETURN_IF_ERROR(lose_file());
  if (::fsync(fd_.get()) != 0) {
    const int error = errno;
    doubtful_ = true;
    fd_.reset();
    return Status::from_errno(error, "fsync failed", path_);
  }
  durable_end_ = end_;
  durable_seq_ = totals_.last_seq;
  unsynced_.clear();
  return {};
}

Status FramesFile::append_batch(std::span<const FrameRecord* const> frames, bool durable,
                                const std::vector<uint64_t>& retired) {
  TRACKER_RETURN_IF_ERROR(ensure_open());
  TRACKER_RETURN_IF_ERROR(look_for_others(end_));
  std::string records;
  const auto put = [&](FramesKind kind, std::string_view body) {
    put_frames_record(writer_, end_ + records.size(), kind, body, &records);
  };
  FramesTotals after = totals_;
  for (const FrameRecord* frame : frames) {
    if (frame->seq <= after.last_seq) continue;
    const std::string body = frame_body(*frame);
    auto added = add_entry(writer_, {FramesKind::kFrame, 0, body}, &after);
    if (!added.ok()) return added.status();
    if (!*added || after.last_seq != frame->seq)
      return Status(Code::kInvalid, fmt::format("{}: frame {} says it is another", path_, frame->seq));
    put(FramesKind::kFrame, body);
  }
  if (!retired.empty()) {
    put(FramesKind::kRetired, retired_body(retired));
    drop_positions(retired, &after.positions);
  }
  TRACKER_RETURN_IF_ERROR(write_records(records));
  totals_ = std::move(after);
  return durable || unsynced_.size() > kUnsyncedBytesMax ? sync() : Status();
}

Status FramesFile::heartbeat(int64_t now_us) {
  TRACKER_RETURN_IF_ERROR(ensure_open());
  ByteWriter body;
  body.i64(now_us);
  std::string record;
  put_frames_record(writer_, end_, FramesKind::kHeartbeat, body.buffer(), &record);
  TRACKER_RETURN_IF_ERROR(write_records(record));
  totals_.heartbeat_us = now_us;
  return {};
}

Status FramesFile::finish(int) {
  TRACKER_RETURN_IF_ERROR(append_batch({}, true));
  closed_ = true;
  fd_.reset();
  if (end_ <= options_.build_bytes_max) (void)build_database(path_).ok();
  return {};
}

}  // namespace tracker::internal
