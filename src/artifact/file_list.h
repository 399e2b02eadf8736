// SPDX-License-Identifier: MIT
// The files found in a folder, sorted by path and packed: about 30 bytes a file besides its name, so that a million of
// them stay below 64 MiB. Threads: one writes; then any read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tracker::internal {

struct ListedFile {
  std::string path;  // below the folder
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;
  bool operator==(const ListedFile&) const = default;
};

class FileList {
 public:
  // Paths must be added in order (byte by byte).
  void add(const ListedFile& file);
  uint64_t size() const { return size_; }
  uint64_t bytes() const { return bytes_; }  // of all files
  size_t memory_bytes() const { return packed_.size() + restarts_.size() * sizeof(restarts_[0]); }
  bool contains(std::string_view path) const;

  class Cursor {
   public:
    // Starts at the first file whose path is not less than `from`.
    explicit Cursor(const FileList& list, std::string_view from = "");
    bool done() const { return done_; }
    const ListedFile& file() const { return file_; }
    void next();

   private:
    std::string_view packed_;
    size_t at_ = 0;
    ListedFile file_;
    bool done_ = false;
  };

 private:
  std::string packed_;
  std::vector<uint64_t> restarts_;  // each kRestartFiles: offsets of entries that have their whole path
  std::string last_path_;
  uint64_t size_ = 0, bytes_ = 0;
};

}  // namespace tracker::internal
