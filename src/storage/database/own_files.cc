// SPDX-License-Identifier: MIT
#include "storage/database/own_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace tracker::internal {

std::optional<OwnFiles::Log> OwnFiles::log_at(const std::string& db_path) {
  struct stat st{};
  if (::lstat((db_path + "-wal").c_str(), &st) != 0) return std::nullopt;
  return Log{{st.st_dev, st.st_ino}, static_cast<uint64_t>(st.st_size)};
}

void OwnFiles::begin(const std::string& db_path) {
  wal_.reset();
  wal_bytes_ = 0;
  db_bytes_ = 0;
  log_is_gone_ = false;
  struct stat st{};
  const auto was = db_;
  db_ = ::stat(db_path.c_str(), &st) == 0 ? std::optional(FileId{st.st_dev, st.st_ino}) : std::nullopt;
  half_ = half_ && db_ == was;
  checkpointed(db_path);
  log_is_gone_ = !wal_ && ::lstat((db_path + "-wal").c_str(), &st) != 0 && errno == ENOENT;
}

void OwnFiles::committed(const std::string& db_path) {
  const auto log = log_at(db_path);
  if (!log || log_is_gone_ || (wal_ && log->id != *wal_)) return;
  if (wal_ && log->bytes < wal_bytes_ && log->bytes < kWalKeepBytes) return;
  wal_ = log->id;
  wal_bytes_ = log->bytes;
}

void OwnFiles::checkpointed(const std::string& db_path, const Status& done, bool all, uint64_t pages) {
  half_ = done.ok() ? half_ && !all : half_ || done.code() != Code::kBusy;
  if (const auto log = log_at(db_path); log && !log_is_gone_ && (!wal_ || log->id == *wal_)) {
    wal_ = log->id;
    wal_bytes_ = log->bytes;
  }
  struct stat st{};
  const uint64_t bytes = ::stat(db_path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
  db_bytes_ = std::max(bytes, pages);
}

bool OwnFiles::has_own_wal(const std::string& db_path) const {
  if (!wal_) return !log_is_gone_;
  const auto log = log_at(db_path);
  return log && log->id == *wal_ && log->bytes >= wal_bytes_;
}

bool OwnFiles::is_log_cut(const std::string& db_path) const {
  const auto log = wal_ ? log_at(db_path) : std::nullopt;
  return log && log->id == *wal_ && log->bytes < wal_bytes_;
}

bool OwnFiles::is_whole(const std::string& db_path) const {
  struct stat st{};
  return ::stat(db_path.c_str(), &st) != 0 || static_cast<uint64_t>(st.st_size) >= db_bytes_;
}

}  // namespace tracker::internal
