// SPDX-License-Identifier: MIT
// Files that clients send in parts: <store>/uploads/<name> until the file is complete and has the right digest.
// Threads: any. Cost: blocks on the disk; the last part reads the whole file.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "artifact/blob_store.h"
#include "artifact/digest.h"
#include "base/status.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kUploadsFolder = "uploads";
// Limit: time without a part of an upload. Beyond it: the upload is removed.
constexpr std::chrono::hours kUploadAge{24};
// Limit: bytes of the disk that uploads of files leave free. Beyond it: 507.
constexpr uint64_t kUploadFreeBytesMin = 256 << 20;

struct ReceivedPart {
  uint64_t received = 0;  // bytes of the file that are here
  bool complete = false;
  Status status;  // kCorrupt: another offset than `received` or, with `received` 0, another digest; kIo
};

class UploadParts {
 public:
  explicit UploadParts(const Store& store) : store_path_(store.path()) {}
  // The server makes `name` from digests and uids only.
  uint64_t received(const std::string& name) const;
  // `place` gets the complete file, open and by its path, and renames or removes it.
  ReceivedPart put(const std::string& name, const Digest& digest, uint64_t offset, uint64_t bytes,
                   std::string_view part, const std::function<Status(BlobBatch::Temporary file)>& place);
  // Removes those that have received nothing for kUploadAge.
  void remove_old() const;

 private:
  std::string path_of(const std::string& name) const;

  const std::string store_path_;
  std::array<std::mutex, 16> mutexes_;  // by name
};

}  // namespace tracker::internal
