// SPDX-License-Identifier: MIT
#include "server/server_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace tracker::internal {
namespace {

// A lock of the open file and not of the process: closing another descriptor of the file drops nothing.
Result<bool> try_lock(const Fd& fd, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return Status::from_errno(errno, fmt::format("cannot lock {}", kServerLockFile));
}

// The process that holds it, by its own entry in the file.
std::string holder(const Fd& fd) {
  char text[32] = {};
  const ssize_t size = ::pread(fd.get(), text, sizeof text - 1, 0);
  return size > 0 ? fmt::format(" (process {})", std::string_view(text, static_cast<size_t>(size))) : "";
}

}  // namespace

Result<Fd> lock_for_server(const Store& store) {
  auto fd = open_file(join_path(store.path(), kServerLockFile), O_RDWR | O_CREAT | O_NOFOLLOW,
                      is_shared_folder(store.path()) ? 0660 : 0600);
  if (!fd.ok()) return fd;
  const auto taken = try_lock(*fd, F_WRLCK);
  if (!taken.ok()) return taken.status();
  if (!*taken)
    return Status(Code::kBusy, fmt::format("another server{} has the store {}", holder(*fd), store.path()),
                  "or `tracker rm` or `tracker gc` is at work there: then try again");
  const std::string pid = fmt::format("{}", ::getpid());
  if (::ftruncate(fd->get(), 0) == 0) (void)write_all(fd->get(), pid);
  return fd;
}

Result<Fd> lock_for_removal(const Store& store) {
  auto fd = open_file(join_path(store.path(), kServerLockFile), O_RDONLY | O_NOFOLLOW, 0);
  if (fd.status().code() == Code::kNotFound) return Fd();
  if (!fd.ok()) return fd;
  const auto taken = try_lock(*fd, F_RDLCK);
  if (!taken.ok()) return taken.status();
  if (!*taken)
    return Status(Code::kBusy, fmt::format("a server{} has the store {}", holder(*fd), store.path()),
                  "nothing was removed; stop the server first");
  return fd;
}

}  // namespace tracker::internal
