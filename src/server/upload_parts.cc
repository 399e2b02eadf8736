// SPDX-License-Identifier: MIT
#include "server/upload_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "base/fs.h"

namespace tracker::internal {
namespace {

constexpr size_t kHashedAtOnce = 1 << 20;

Result<Digest> digest_of(int fd) {
  Sha256 hash;
  std::vector<char> buffer(kHashedAtOnce);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::from_errno(errno, "cannot read an uploaded file");
    if (got == 0) return hash.finish();
    hash.update({buffer.data(), static_cast<size_t>(got)});
    at += got;
  }
}

}  // namespace

std::string UploadParts::path_of(const std::string& name) const {
  return join_path(join_path(store_path_, kUploadsFolder), name);
}

uint64_t UploadParts::received(const std::string& name) const {
  struct stat st{};
  return ::lstat(path_of(name).c_str(), &st) == 0 && S_ISREG(st.st_mode) ? static_cast<uint64_t>(st.st_size) : 0;
}

ReceivedPart UploadParts::put(const std::string& name, const Digest& digest, uint64_t offset, uint64_t bytes,
                              std::string_view part, const std::function<Status(BlobBatch::Temporary file)>& place) {
  const std::lock_guard lock(mutexes_[std::hash<std::string>()(name) % mutexes_.size()]);
  ReceivedPart out;
  out.received = received(name);
  if (offset != out.received || part.size() > bytes - std::min(bytes, offset)) {
    out.status = Status(Code::kCorrupt, fmt::format("the part begins at {}; {} bytes are here", offset, out.received));
    return out;
  }
  if (free_bytes(store_path_).value_or(UINT64_MAX) < kUploadFreeBytesMin + part.size()) {
    out.status = Status::from_errno(ENOSPC, "no room for an uploaded file");
    return out;
  }
  const std::string path = path_of(name);
  out.status = make_dirs(parent_path(path), 0700);
  if (!out.status.ok()) return out;
  auto fd = open_file(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (!fd.ok()) {
    out.status = fd.status();
    return out;
  }
  out.status = write_all(fd->get(), part);
  out.received = received(name);
  if (!out.status.ok() || out.received < bytes) return out;
  const auto found = digest_of(fd->get());
  if (!found.ok()) {
    out.status = found.status();
  } else if (*found != digest) {
    remove_file(path);
    out = {0, false, Status(Code::kCorrupt, "the file has another SHA-256 than its name; send it again")};
  } else {
    out.status = place({std::move(*fd), path});
    out.complete = out.status.ok();
  }
  return out;
}

void UploadParts::remove_old() const {
  const std::string folder = join_path(store_path_, kUploadsFolder);
  for (const std::string& name : list_dir(folder).value_or({})) {
    struct stat st{};
    const std::string path = join_path(folder, name);
    const int64_t age_s = std::chrono::seconds(kUploadAge).count();
    if (::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && st.st_mtime < std::time(nullptr) - age_s)
      remove_file(path);
  }
}

}  // namespace tracker::internal
