// SPDX-License-Identifier: MIT
#include "storage/database/part_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace tracker::internal {

std::optional<PartFiles::Log> PartFiles::log_at(const std::string& db_path) {
  struct stat st{};
  if (::lstat((db_path + "-wal").c_str(), &st) != 0) return std::nullopt;
  return Log{{st.st_dev, st.st_ino}, static_cast<uint64_t>(st.st_size)};
}

void PartFiles::opened(const std::string& db_path) {
  *this = PartFiles();
  checkpointed(db_path);
  struct stat st{};
  log_is_gone_ = !wal_ && ::lstat((db_path + "-wal").c_str(), &st) != 0 && errno == ENOENT;
}

void PartFiles::committed(const std::string& db_path) {
  const auto log = log_at(db_path);
  if (!log || log_is_gone_ || (wal_ && log->id != *wal_)) return;
  if (wal_ && log->bytes < wal_bytes_ && log->bytes < kWalKeepBytes) return;
  wal_ = log->id;
  wal_bytes_ = log->bytes;
}

void PartFiles::checkpointed(const std::string& db_path, uint64_t pages) {
  if (const auto log = log_at(db_path); log && !log_is_gone_ && (!wal_ || log->id == *wal_)) {
    wal_ = log->id;
    wal_bytes_ = log->bytes;
  }
  struct stat st{};
  const uint64_t bytes = ::stat(db_path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
  db_bytes_ = std::max(bytes, pages);
}

PartChange PartFiles::change(const std::string& db_path) const {
  struct stat st{};
  if (::stat(db_path.c_str(), &st) == 0 && static_cast<uint64_t>(st.st_size) < db_bytes_) return PartChange::kCut;
  if (!wal_) return log_is_gone_ ? PartChange::kWalGone : PartChange::kNone;
  const auto log = log_at(db_path);
  return log && log->id == *wal_ && log->bytes >= wal_bytes_ ? PartChange::kNone : PartChange::kWalGone;
}

}  // namespace tracker::internal
