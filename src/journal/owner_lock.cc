// SPDX-License-Identifier: MIT
#include "journal/owner_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "journal/wipe_memory.h"

namespace tracker::internal {
namespace {

// Our own journals, leaked on purpose. A forked child owns none of them: POSIX locks are not inherited.
struct Registry {
  uint64_t generation = 0;
  std::multiset<std::string> dirs;  // twice while a lock file that was unlinked is replaced
};

std::multiset<std::string>& own_dirs() {  // under ProcessLock
  static Registry* registry = new Registry;
  if (registry->generation != process_generation()) {
    registry->generation = process_generation();
    registry->dirs.clear();
  }
  return registry->dirs;
}

struct flock whole_file(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

OwnerLock::OwnerLock(OwnerLock&& other) noexcept
    : fd_(std::move(other.fd_)), dir_(std::move(other.dir_)), own_(std::exchange(other.own_, false)) {}

OwnerLock& OwnerLock::operator=(OwnerLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(dir_, other.dir_);
  std::swap(own_, other.own_);
  return *this;
}

OwnerLock::~OwnerLock() {
  if (!own_) return;
  const ProcessLock lock;
  // Closed before it is forgotten: else another thread may take the lock between the two, and this close would drop it.
  fd_.reset();
  const auto at = own_dirs().find(dir_);
  if (at != own_dirs().end()) own_dirs().erase(at);
}

bool OwnerLock::still_linked() const {
  struct stat st;
  return ::fstat(fd_.get(), &st) == 0 && st.st_nlink > 0;
}

bool is_own_journal(const std::string& dir) {
  process_generation();
  const ProcessLock lock;
  return own_dirs().count(dir) != 0;
}

Result<OwnerLock> OwnerLock::create(const std::string& made_in, const std::string& dir) {
  process_generation();
  {
    const ProcessLock lock;
    own_dirs().insert(dir);
  }
  OwnerLock owner(Fd(), dir, true);
  remove_file(join_path(made_in, "lock"));  // of an earlier attempt: never two descriptors of one lock file
  auto fd = open_file(join_path(made_in, "lock"), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return fd.status();
  owner.fd_ = std::move(*fd);
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(owner.fd_.get(), F_SETLK, &lock) != 0) return Status::from_errno(errno, "cannot lock", dir);
  return owner;
}

Result<OwnerLock> OwnerLock::take(const std::string& dir, bool make_missing) {
  process_generation();
  {
    const ProcessLock lock;
    if (own_dirs().count(dir) != 0) return Status(Code::kBusy, dir + " belongs to this process");
    own_dirs().insert(dir);
  }
  OwnerLock owner(Fd(), dir, true);
  auto fd = open_file(join_path(dir, "lock"), O_RDWR | O_NOFOLLOW | (make_missing ? O_CREAT : 0), 0600);
  if (!fd.ok()) return fd.status();
  owner.fd_ = std::move(*fd);
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(owner.fd_.get(), F_SETLK, &lock) != 0) return Status(Code::kBusy, dir + " is in use");
  // Whoever recovered it unlinked the file before letting go: then this is a lock on nothing.
  struct stat st;
  if (::fstat(owner.fd_.get(), &st) != 0 || st.st_nlink == 0) return Status(Code::kNotFound, dir + " was recovered");
  return owner;
}

std::optional<bool> is_locked(const std::string& dir) {
  process_generation();
  // Under the lock, so that no other thread takes this journal between the question and the close, which would drop its
  // lock.
  const ProcessLock guard;
  if (own_dirs().count(dir) != 0) return true;
  auto fd = open_file(join_path(dir, "lock"), O_RDWR | O_NOFOLLOW);
  if (!fd.ok()) return std::nullopt;
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd->get(), F_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type != F_UNLCK;
}

}  // namespace tracker::internal
