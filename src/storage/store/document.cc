// SPDX-License-Identifier: MIT
#include "storage/store/document.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fs.h"

namespace tracker::internal {

Result<Value> read_document(const std::string& path, std::string_view format, int version_max, size_t bytes_max) {
  auto text = read_file(path, bytes_max);
  if (!text.ok()) return text.status();
  auto value = from_json(*text);
  if (!value.ok()) return Status(Code::kCorrupt, fmt::format("{}: {}", path, value.status().message()));
  if (value->text_or("format", "") != format)
    return Status(Code::kCorrupt, fmt::format("{}: not a document of the format \"{}\"", path, format));
  const int64_t version = value->int_or("version", 0);
  if (version > version_max)
    return Status(Code::kVersion,
                  fmt::format("{} has version {}, this program knows up to {}", path, version, version_max),
                  "update tracker; nothing was changed");
  if (version < 1) return Status(Code::kCorrupt, fmt::format("{}: no valid version", path));
  return value;
}

namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one{};
  struct stat other{};
  return ::lstat(a.c_str(), &one) == 0 && ::lstat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// kExists: something else has that name.
Status keep_as(const std::string& path, const std::string& kept) {
  if (::link(path.c_str(), kept.c_str()) == 0) return {};
  const int error = errno;
  if (error == EEXIST && is_same_file(path, kept)) return {};  // another process is doing the same
  // Without links the file is missing for a moment; a process that comes then makes the same file.
  const bool no_links = error == EPERM || error == EOPNOTSUPP || error == ENOSYS;
  if (error == EEXIST || (no_links && path_exists(kept))) return Status(Code::kExists, kept);
  if (no_links && ::rename(path.c_str(), kept.c_str()) == 0) return {};
  return Status::from_errno(no_links ? errno : error, "cannot keep", path);
}

}  // namespace

Result<std::string> repair_document(const std::string& path, std::string_view text,
                                    bool (*is_sound)(const std::string& path)) {
  Status made = path_exists(path) ? Status(Code::kExists, path) : create_file_exclusive(path, text, 0666);
  if (made.code() != Code::kExists) return made.ok() ? Result<std::string>(std::string()) : made;
  for (int i = 1; i <= kDamagedKeptMax; ++i) {
    const std::string kept = fmt::format("{}.damaged-{}", path, i);
    const Status linked = keep_as(path, kept);
    if (linked.code() == Code::kExists) continue;
    TRACKER_RETURN_IF_ERROR(linked);
    // Check the file that was linked and not what was read before: another process may have repaired it since.
    if (is_sound(kept)) {
      if (path_exists(path)) remove_file(kept);
      else if (::rename(kept.c_str(), path.c_str()) != 0) return Status::from_errno(errno, "cannot restore", path);
      return std::string();
    }
    TRACKER_RETURN_IF_ERROR(write_file_atomic(path, text, 0666));
    return kept;
  }
  return Status(Code::kLimit, fmt::format("{} damaged files are kept as {}.damaged-N", kDamagedKeptMax, path),
                "remove them");
}

}  // namespace tracker::internal
