// SPDX-License-Identifier: MIT
#include "run/services/media_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "artifact/artifact_store.h"
#include "artifact/digest.h"
#include "artifact/snapshot.h"
#include "base/fs.h"
#include "base/ids.h"
#include "model/media.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kMediaMode = 0644;  // by the umask
constexpr size_t kBufferBytes = 1 << 20;

uint64_t default_room(const std::string& path) {
  struct statvfs st{};
  if (::statvfs(path.c_str(), &st) != 0) return 0;
  return std::min(kArtifactFreeBytesMin, uint64_t{st.f_blocks} * st.f_frsize / kArtifactFreeShare);
}

// A folder below the run's own, which is never made here: where it was removed the writer makes it again.
Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) share_with_group(path);
  else if (errno != EEXIST) return Status::from_errno(errno, "cannot make the folder", path);
  return {};
}

Status too_large(uint64_t bytes) {
  return Status(Code::kLimit, fmt::format("{} bytes are more than a medium may have ({})", bytes, kMediaBytesMax));
}

Status check_extension(std::string_view extension) {
  if (is_media_extension(extension)) return {};
  return Status(Code::kInvalid, fmt::format("\"{}\" is no extension of media; png, jpg, gif, webp, svg, wav, mp3, ogg, "
                                            "flac, mp4, webm, mov, html, md, txt, json, csv, npy and bin are",
                                            extension.substr(0, 32)));
}

// Copies what is left of `from` and hashes it. kLimit: it has more bytes than it said.
Result<MediaFile> copy(int from, int to) {
  std::string buffer(kBufferBytes, '\0');
  Sha256 hash;
  MediaFile out;
  for (;;) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", "the medium");
    if (n == 0) break;
    const std::string_view part(buffer.data(), static_cast<size_t>(n));
    out.bytes += part.size();
    if (out.bytes > kMediaBytesMax) return too_large(out.bytes);
    hash.update(part);
    TRACKER_RETURN_IF_ERROR(write_all(to, part));
  }
  out.digest = hash.finish().hex();
  return out;
}

}  // namespace

Status MediaFolder::check_room(uint64_t bytes) const {
  if (bytes > kMediaBytesMax) return too_large(bytes);
  const uint64_t keep = free_bytes_min_ != 0 ? free_bytes_min_ : default_room(run_dir_);
  const auto free = free_bytes(run_dir_);
  if (free && (*free < bytes || *free - bytes < keep))
    return Status(
        Code::kLimit,
        fmt::format("the disk of {} has {} bytes free: {} more would leave less than {}", run_dir_, *free, bytes, keep),
        "metrics are stored all the same");
  if (take_ && !take_(bytes))
    return Status(Code::kLimit, "the store has reached max_disk", "tracker rm and tracker gc --max-disk make room");
  return {};
}

bool MediaFolder::has(const MediaFile& file) const {
  struct stat st{};
  const std::string path = join_path(run_dir_, media_file_name(file.digest, file.extension));
  return ::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && static_cast<uint64_t>(st.st_size) == file.bytes;
}

Result<MediaFile> MediaFolder::place(std::string_view extension, const Fill& fill, bool is_synced) const {
  const std::string folder = join_path(run_dir_, kMediaFolder);
  TRACKER_RETURN_IF_ERROR(make_folder(folder));
  const std::string temporary = join_path(folder, fmt::format("file.tmp-{:016x}", random_u64()));
  auto fd = open_file(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, kMediaMode);
  if (!fd.ok()) return fd.status();
  auto file = fill(fd->get());
  if (file.ok()) file->extension = extension;
  if (!file.ok() || has(*file)) {
    remove_file(temporary);
    return file;
  }
  const std::string path = join_path(run_dir_, media_file_name(file->digest, extension));
  Status status;
  if (is_synced && ::fsync(fd->get()) != 0) status = Status::from_errno(errno, "cannot store", temporary);
  if (status.ok()) status = make_folder(parent_path(path));
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    status = Status::from_errno(errno, "cannot name the medium", path);
  if (!status.ok()) {
    remove_file(temporary);
    return status;
  }
  if (is_synced) sync_folders(path);
  return file;
}

void MediaFolder::sync_folders(const std::string& path) const {
  sync_path(parent_path(path));
  sync_path(join_path(run_dir_, kMediaFolder));
  sync_path(run_dir_);
}

void MediaFolder::sync(std::string_view digest, std::string_view extension) const {
  const std::string path = join_path(run_dir_, media_file_name(digest, extension));
  sync_path(path);
  sync_folders(path);
}

Result<MediaFile> MediaFolder::store_unsynced(std::string_view head, std::string_view bytes, std::string_view extension,
                                              std::chrono::milliseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  TRACKER_RETURN_IF_ERROR(check_extension(extension));
  TRACKER_RETURN_IF_ERROR(check_room(head.size() + bytes.size()));
  return place(
      extension,
      [&](int fd) -> Result<MediaFile> {
        Sha256 hash;
        hash.update(head);
        TRACKER_RETURN_IF_ERROR(write_all(fd, head));
        for (size_t at = 0; at < bytes.size(); at += kBufferBytes) {
          if (std::chrono::steady_clock::now() >= end) return Status(Code::kTimeout, "the disk is slow");
          const std::string_view part = bytes.substr(at, kBufferBytes);
          hash.update(part);
          TRACKER_RETURN_IF_ERROR(write_all(fd, part));
        }
        return MediaFile{hash.finish().hex(), std::string(extension), head.size() + bytes.size()};
      },
      false);
}

Result<MediaFile> MediaFolder::store(std::string_view bytes, std::string_view extension) const {
  TRACKER_RETURN_IF_ERROR(check_extension(extension));
  const MediaFile known{sha256(bytes).hex(), std::string(extension), bytes.size()};
  if (bytes.size() <= kMediaBytesMax && has(known)) return known;
  TRACKER_RETURN_IF_ERROR(check_room(bytes.size()));
  return place(extension, [&](int fd) -> Result<MediaFile> {
    TRACKER_RETURN_IF_ERROR(write_all(fd, bytes));
    return known;
  });
}

Result<MediaFile> MediaFolder::store_file(const std::string& path, std::string_view extension,
                                          const ListedFile* expected) const {
  TRACKER_RETURN_IF_ERROR(check_extension(extension));
  auto from = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!from.ok()) return from.status();
  struct stat st{};
  if (::fstat(from->get(), &st) != 0 || !S_ISREG(st.st_mode))
    return Status(Code::kInvalid, fmt::format("{} is no regular file", path));
  wait_for_tick(SourceStamp::of(st));
  if (::fstat(from->get(), &st) != 0) return Status::from_errno(errno, "cannot read", path);
  const SourceStamp before = SourceStamp::of(st);
  const Status changed(Code::kBusy, fmt::format("{} has changed since it was logged", path),
                       "leave it as it is until flush() returns");
  if (expected != nullptr && (before.bytes != expected->bytes || before.mtime_ns != expected->mtime_ns)) return changed;
  TRACKER_RETURN_IF_ERROR(check_room(before.bytes));
  return place(extension, [&](int fd) -> Result<MediaFile> {
    auto copied = copy(from->get(), fd);
    struct stat now{};
    if (copied.ok() && (::fstat(from->get(), &now) != 0 || !(SourceStamp::of(now) == before))) return changed;
    return copied;
  });
}

}  // namespace tracker::internal
