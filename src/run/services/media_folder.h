// SPDX-License-Identifier: MIT
// The files of a run's media: media/<2>/<sha256>.<extension> in its folder (docs/formats/records.md). A file appears
// whole under its name or not at all, and is on the disk before the event that names it is logged. Threads: any.
// Cost: waits for the disk; never called by the thread that logs numbers.
#pragma once

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

 private:
  using Fill = std::function<Result<MediaFile>(int fd)>;  // writes it and says what it was
  Result<MediaFile> place(std::string_view extension, const Fill& fill) const;
  bool has(const MediaFile& file) const;

  std::string run_dir_;
  uint64_t free_bytes_min_;
  Take take_;
};

}  // namespace tracker::internal
