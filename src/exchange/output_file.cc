// SPDX-License-Identifier: MIT
#include "exchange/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>

#include "base/fs.h"

namespace tracker::internal {
namespace {

std::string real_folder(const std::string& path) {
  char* found = ::realpath(parent_path(path).c_str(), nullptr);
  std::string out = found == nullptr ? "" : found;
  std::free(found);
  return out;
}

// The descriptor of this process that `path`, whose last part is a link, names.
std::optional<int> own_descriptor(const std::string& path) {
  if (real_folder(path) != fmt::format("/proc/{}/fd", ::getpid())) return {};
  const std::string name = last_name(path);
  int fd = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), fd);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return fd;
}

Result<std::string> link_target(const std::string& link) {
  char to[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), to, sizeof to);
  if (size < 0) return Status::from_errno(errno, "cannot read the link", link);
  const std::string target(to, static_cast<size_t>(size));
  return target.starts_with('/') ? target : join_path(parent_path(link), target);
}

}  // namespace

Result<OutputTarget> output_target(const std::string& output) {
  OutputTarget out;
  out.path = absolute_path(output);
  if (out.path.empty()) return Status::from_errno(ENOENT, "cannot write", output);
  for (int links = 0; is_link(out.path); ++links) {
    if (links == kOutputLinksMax) return Status::from_errno(ELOOP, "cannot write", output);
    if (const auto fd = own_descriptor(out.path)) {
      const int copy = ::fcntl(*fd, F_DUPFD_CLOEXEC, 3);
      if (copy < 0) return Status::from_errno(errno, "cannot write", output);
      out.opened = Fd(copy);
      return out;
    }
    auto next = link_target(out.path);
    if (!next.ok()) return next.status();
    out.path = std::move(*next);
  }
  if (!is_no_file(out.path)) return out;
  auto opened = open_file(out.path, O_WRONLY);
  if (!opened.ok()) return Status::from_errno(opened.status().system_errno(), "cannot write", output);
  out.opened = std::move(*opened);
  return out;
}

Status not_a_file(const std::string& output, const char* what) {
  return Status(Code::kInvalid, fmt::format("{} is no file, and {} appears whole in one", output, what),
                "name a file; nothing was written");
}

Result<Fd> create_part(const std::string& path, std::string* part) {
  *part = fmt::format("{}.part-{}", path, ::getpid());
  remove_file(*part);
  auto file = open_file(*part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (!file.ok()) return Status::from_errno(file.status().system_errno(), "cannot write", path);
  return file;
}

}  // namespace tracker::internal
