// SPDX-License-Identifier: MIT
#include "storage/frames/frames_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/database_build.h"
#include "storage/sqlite/sqlite_calls.h"

namespace tracker::internal {

namespace {

// NFS and FUSE rename an open file that is unlinked; a server that has forgotten it reports ESTALE.
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
  const std::string path =
      part_path(join_path(run_path, identity.writer.hex() + ".frames"), static_cast<int>(identity.part));
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

// Reads the existing records. Readers report damage; the writer appends after the last valid record.
Status FramesFile::load() {
  auto input = open_frames(path_, O_RDWR);
  if (!input.ok()) return input.status();
  if (input->writer != writer_)
    return Status(Code::kCorrupt, fmt::format("{} belongs to writer {}", path_, input->writer.hex()));
  fd_ = GuardedFd(std::move(input->fd));
  file_ = fd_.file();
  FileBytes bytes(fd_.get(), input->size);
  FramesVisitor visitor;
  visitor.entry = [this](const FramesEntry& entry) {
    auto added = add_entry(writer_, entry, &totals_);
    return added.ok() || added.status().code() == Code::kCorrupt ? Status() : added.status();
  };
  auto end = scan_frames(bytes, writer_, kFramesHeaderBytes, visitor);
  if (!end.ok()) return Status(end.status().code(), fmt::format("{}: {}", path_, end.status().message()));
  end_ = *end;
  if (input->size > end_ && ::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0)
    return Status::from_errno(errno, "cannot cut the unfinished end off", path_);
  if (::fsync(fd_.get()) != 0) return Status::from_errno(errno, "fsync failed", path_);
  durable_seq_ = totals_.last_seq;
  if (totals_.identity) before_ = totals_.identity->before;
  loaded_ = true;
  return {};
}

// This part is not touched again.
Status FramesFile::leave(PartChange why) {
  change_ = why;
  return Status(Code::kIo, fmt::format("{} {}", path_, part_change_text(why)));
}

// Makes sure that the file is open and as this writer left it; called before an append.
Status FramesFile::ensure_open() {
  if (closed_) return Status(Code::kClosed, fmt::format("{} is closed", path_));
  if (change_ != PartChange::kNone) return leave(change_);
  if (!fd_.is_ours()) {  // other code of this process has closed the descriptor
    fd_.reset();
    auto input = open_frames(path_, O_RDWR);
    if (!input.ok()) return input.status().system_errno() == ENOENT ? leave(PartChange::kRemoved) : input.status();
    GuardedFd again(std::move(input->fd));
    if (again.file() != file_) return leave(PartChange::kReplaced);
    fd_ = std::move(again);
  }
  if (torn_ && ::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0)
    return Status::from_errno(errno, "cannot cut a torn record off", path_);
  torn_ = false;
  return check_file(end_);
}

// Checked before an append, so that nothing of another process is overwritten, and after it: what was written to a
// deleted file is not stored. A builder reads the length of the file once more after its unlink (build_database()), so
// either the writer sees the unlink or the builder sees the append.
Status FramesFile::check_file(uint64_t end) {
  if (!fd_.is_ours()) return closed_by_others(path_);
  if (is_unlinked(fd_.get())) return leave(path_exists(path_) ? PartChange::kReplaced : PartChange::kRemoved);
  struct stat st{};
  if (::fstat(fd_.get(), &st) != 0) return {};
  const auto size = static_cast<uint64_t>(st.st_size);
  if (size == end) return {};
  return leave(size < end ? PartChange::kCut : PartChange::kForeignFrames);
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

Status FramesFile::write_records(const std::string& records) {
  if (records.empty()) return {};
  const Status status = write_at(end_, records);
  if (!status.ok()) {
    torn_ = ::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0;
    return status;
  }
  TRACKER_RETURN_IF_ERROR(check_file(end_ + records.size()));
  end_ += records.size();
  return {};
}

Status FramesFile::sync() {
  struct stat open{};
  struct stat named{};
  if (::fstat(fd_.get(), &open) != 0 || ::lstat(path_.c_str(), &named) != 0 || open.st_ino != named.st_ino ||
      open.st_dev != named.st_dev)
    return path_exists(path_) ? leave(PartChange::kReplaced) : Status(Code::kIo, path_ + " was moved away");
  if (::fsync(fd_.get()) != 0) {
    const Status why = Status::from_errno(errno, "fsync failed", path_);
    (void)leave(PartChange::kSyncFailed).ok();
    return why;
  }
  durable_seq_ = totals_.last_seq;
  unsynced_.clear();
  unsynced_bytes_ = 0;
  return {};
}

// A frame of the file with the number of one to be stored is ours only if it equals that one byte by byte: then an
// earlier append succeeded although it returned an error.
Status FramesFile::check_loaded(std::span<const FrameRecord* const> frames) {
  if (!std::exchange(loaded_, false) || frames.empty() || frames.front()->seq > totals_.last_seq) return {};
  bool ours = frames.back()->seq >= totals_.last_seq;
  FileBytes bytes(fd_.get(), end_);
  FramesVisitor visitor;
  visitor.entry = [&](const FramesEntry& entry) {
    if (entry.kind != FramesKind::kFrame) return Status();
    const auto body = read_frame_body(entry.body);
    const auto view = body.ok() ? FrameView::parse(body->frame) : Result<FrameView>(body.status());
    if (!view.ok() || view->seq() < frames.front()->seq) return Status();
    const auto same = std::find_if(frames.begin(), frames.end(),
                                   [&view](const FrameRecord* frame) { return frame->seq == view->seq(); });
    ours = ours && same != frames.end() && body->frame == std::string_view((*same)->bytes);
    return Status();
  };
  auto end = scan_frames(bytes, writer_, kFramesHeaderBytes, visitor);
  if (!end.ok()) return end.status();
  return ours ? Status() : leave(PartChange::kForeignFrames);
}

Status FramesFile::append_batch(std::span<const FrameRecord* const> frames, bool durable,
                                const std::vector<uint64_t>& retired) {
  TRACKER_RETURN_IF_ERROR(ensure_open());
  TRACKER_RETURN_IF_ERROR(check_loaded(frames));
  std::string records;
  const auto put = [&](FramesKind kind, std::string_view body) {
    put_frames_record(writer_, end_ + records.size(), kind, body, &records);
  };
  FramesTotals after = totals_;
  std::vector<FrameRecord> added_frames;
  for (const FrameRecord* frame : frames) {
    if (frame->seq <= after.last_seq) continue;
    const std::string body = frame_body(*frame);
    auto added = add_entry(writer_, {FramesKind::kFrame, 0, body}, &after);
    if (!added.ok()) return added.status();
    if (!*added || after.last_seq != frame->seq)
      return Status(Code::kInvalid, fmt::format("{}: frame {} says it is another", path_, frame->seq));
    put(FramesKind::kFrame, body);
    added_frames.push_back(*frame);
  }
  if (!retired.empty()) {
    put(FramesKind::kRetired, retired_body(retired));
    drop_positions(retired, &after.positions);
  }
  TRACKER_RETURN_IF_ERROR(write_records(records));
  totals_ = std::move(after);
  for (FrameRecord& frame : added_frames) {
    unsynced_bytes_ += frame.bytes.size();
    unsynced_.push_back(std::move(frame));
  }
  return durable || unsynced_bytes_ > kUnsyncedBytesMax ? sync() : Status();
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
