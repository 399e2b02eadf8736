// SPDX-License-Identifier: MIT
// The files of a run's media: media/<2>/<sha256>.<extension> in its folder (docs/formats/records.md). A file appears
// whole under its name or not at all, and is on the disk before the event that names it is logged; what
// store_unsynced() writes may be cut or missing after a loss of power. Threads: any. Cost: store() and store_file()
// wait for the disk; never called by the thread that logs numbers.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "artifact/file_list.h"
#include "base/status.h"

namespace tracker::internal {

struct MediaFile {
  std::string digest;  // 64 hex digits
  std::string extension;
  uint64_t bytes = 0;
};

class MediaFolder {
 public:
  // Whether so many bytes may be written below the store now (max_disk).
  using Take = std::function<bool(uint64_t bytes)>;
  // free_bytes_min: what is left on the disk; 0: kArtifactFreeBytesMin, or kArtifactFreeShare of a smaller disk.
  explicit MediaFolder(std::string run_dir, uint64_t free_bytes_min = 0, Take take = {})
      : run_dir_(std::move(run_dir)), free_bytes_min_(free_bytes_min), take_(std::move(take)) {}

  Status check_room(uint64_t bytes) const;  // kLimit
  // The same bytes are stored once. kLimit: too large, or the disk has no room for it, or max_disk; kInvalid: an
  // extension that is not in the list; kIo: the disk's answer, and kNotFound where the run's folder is not there (yet).
  Result<MediaFile> store(std::string_view bytes, std::string_view extension) const;
  // Of a regular file. kBusy: it is no longer as `expected` (null: as it is now), or changes while it is read; then
  // nothing is stored.
  Result<MediaFile> store_file(const std::string& path, std::string_view extension,
                               const ListedFile* expected = nullptr) const;
  // `head` and `bytes`, one after the other, without an fsync: in the call that logs. kTimeout: `limit` is over, which
  // is checked after each MiB; nothing is stored then.
  Result<MediaFile> store_unsynced(std::string_view head, std::string_view bytes, std::string_view extension,
                                   std::chrono::milliseconds limit) const;
  void sync(std::string_view digest, std::string_view extension) const;  // fsyncs a file that is stored

 private:
  using Fill = std::function<Result<MediaFile>(int fd)>;  // writes it and says what it was
  Result<MediaFile> place(std::string_view extension, const Fill& fill, bool is_synced = true) const;
  bool has(const MediaFile& file) const;
  void sync_folders(const std::string& path) const;

  std::string run_dir_;
  uint64_t free_bytes_min_;
  Take take_;
};

}  // namespace tracker::internal
