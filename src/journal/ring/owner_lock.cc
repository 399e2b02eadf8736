// SPDX-License-Identifier: MIT
#include "journal/ring/owner_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "base/fs.h"
#include "journal/ring/definitions.h"
#include "journal/ring/liveness.h"
#include "journal/ring/wipe_memory.h"

namespace tracker::internal {
namespace {

constexpr off_t kPosixByte = 0, kOfdByte = 1;

using LockFile = std::pair<dev_t, ino_t>;

// Our own journals, leaked on purpose. A forked child owns none of them: POSIX locks are not inherited.
struct Registry {
  uint64_t generation = 0;
  std::multiset<std::string> writers;  // in hex; twice while a lock file that was unlinked is replaced
  std::multiset<std::string> dead;     // likewise, of dead processes: taken by one of our threads
  std::multiset<LockFile> files;
};

Registry& own() {  // under ProcessLock
  static Registry* registry = new Registry;
  if (registry->generation != process_generation()) {
    registry->generation = process_generation();
    registry->writers.clear();
    registry->dead.clear();
    registry->files.clear();
  }
  return *registry;
}

std::string writer_of(const std::string& dir) {
  constexpr std::string_view kUnborn = ".new-";
  const std::string name = last_name(dir);
  return name.starts_with(kUnborn) ? name.substr(kUnborn.size()) : name;
}

template <typename T>
void erase_one(std::multiset<T>* all, const T& one) {
  if (const auto at = all->find(one); at != all->end()) all->erase(at);
}

// Under ProcessLock, before the file is opened: whatever its folder is called, also by way of a link.
bool is_own_file(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0 && own().files.contains({st.st_dev, st.st_ino});
}

// Under ProcessLock: a second thread that took the same journal would close its lock file, and drop the lock.
bool is_listed(const std::string& dir) {
  return own().writers.contains(writer_of(dir)) || own().dead.contains(writer_of(dir));
}

struct flock one_byte(short type, off_t at) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

bool is_held(int fd, off_t at) {
  struct flock lock = one_byte(F_WRLCK, at);
  return ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// The OFD lock says that its process lives, unless that is known to be dead: then a forked child has inherited it.
bool is_held_by_ofd(int fd, const std::string& dir) {
  if (!is_held(fd, kOfdByte)) return false;
  const auto writer = read_writer_identity(dir);
  return !writer.ok() || in_process_table(*writer) != Liveness::kDead;
}

}  // namespace

OwnerLock::OwnerLock(OwnerLock&& other) noexcept
    : fd_(std::move(other.fd_)),
      dir_(std::move(other.dir_)),
      of_(std::exchange(other.of_, Of::kNobody)),
      has_second_(other.has_second_) {}

OwnerLock& OwnerLock::operator=(OwnerLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(dir_, other.dir_);
  std::swap(of_, other.of_);
  std::swap(has_second_, other.has_second_);
  return *this;
}

OwnerLock::~OwnerLock() {
  if (of_ == Of::kNobody) return;
  const ProcessLock lock;
  const auto file = fd_ ? std::optional<LockFile>(fd_.file()) : std::nullopt;
  // Closed before it is forgotten: else another thread may take the lock between the two, and this close would drop it.
  fd_.reset();
  if (file) erase_one(&own().files, *file);
  erase_one(of_ == Of::kThisProcess ? &own().writers : &own().dead, writer_of(dir_));
}

bool OwnerLock::still_linked() const {
  struct stat st;
  return fd_.is_ours() && ::fstat(fd_.get(), &st) == 0 && st.st_nlink > 0;
}

bool OwnerLock::in_place() const {
  struct stat open;
  struct stat named;
  return ::fstat(fd_.get(), &open) == 0 && ::lstat(join_path(dir_, "lock").c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

OwnerLock::Held OwnerLock::hold() {
  // Asked once and before: who had it may have died since, or given up half way.
  const bool lost = has_second_ && !kept();
  if (!fd_.is_ours()) return Held::kClosed;
  struct flock lock = one_byte(F_WRLCK, kPosixByte);
  if (::fcntl(fd_.get(), F_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES)) return Held::kElsewhere;
  if (!lost) return Held::kStill;
  struct flock second = one_byte(F_WRLCK, kOfdByte);
  has_second_ = ::fcntl(fd_.get(), F_OFD_SETLK, &second) == 0;
  return Held::kAgain;
}

std::optional<bool> OwnerLock::another_is_held() const {
  const auto fd = open_file(join_path(dir_, "lock"), O_RDWR | O_NOFOLLOW);
  if (!fd.ok()) return std::nullopt;
  return is_held(fd->get(), kPosixByte);
}

bool OwnerLock::kept() const { return has_second_ && fd_.is_ours() && is_held(fd_.get(), kOfdByte); }

bool is_own_journal(const std::string& dir) {
  process_generation();
  const ProcessLock lock;
  return own().writers.contains(writer_of(dir));
}

Result<OwnerLock> OwnerLock::create(const std::string& made_in, const std::string& dir) {
  process_generation();
  {
    const ProcessLock lock;
    own().writers.insert(writer_of(dir));
  }
  OwnerLock owner(dir, Of::kThisProcess);
  remove_file(join_path(made_in, "lock"));  // of an earlier attempt: never two descriptors of one lock file
  auto fd = open_file(join_path(made_in, "lock"), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return fd.status();
  owner.fd_ = GuardedFd(std::move(*fd));
  owner.list();
  struct flock lock = one_byte(F_WRLCK, kPosixByte);
  if (::fcntl(owner.fd_.get(), F_SETLK, &lock) != 0) return Status::from_errno(errno, "cannot lock", dir);
  struct flock second = one_byte(F_WRLCK, kOfdByte);
  // Where a file system has none the first one is all there is.
  owner.has_second_ = ::fcntl(owner.fd_.get(), F_OFD_SETLK, &second) == 0 && is_held(owner.fd_.get(), kOfdByte);
  return owner;
}

void OwnerLock::list() const {
  const ProcessLock lock;
  own().files.insert(fd_.file());
}

Result<OwnerLock> OwnerLock::take(const std::string& dir, bool make_missing) {
  process_generation();
  const std::string path = join_path(dir, "lock");
  {
    const ProcessLock lock;
    if (is_listed(dir) || is_own_file(path)) return Status(Code::kBusy, dir + " belongs to this process");
    own().dead.insert(writer_of(dir));
  }
  OwnerLock owner(dir, Of::kDeadProcess);
  auto fd = open_file(path, O_RDWR | O_NOFOLLOW | (make_missing ? O_CREAT : 0), 0600);
  if (!fd.ok()) return fd.status();
  owner.fd_ = GuardedFd(std::move(*fd));
  owner.list();
  // Asked first: an owner that finds the POSIX lock taken would leave its journal.
  if (is_held_by_ofd(owner.fd_.get(), dir)) return Status(Code::kBusy, dir + " is in use");
  struct flock lock = one_byte(F_WRLCK, kPosixByte);
  if (::fcntl(owner.fd_.get(), F_SETLK, &lock) != 0) return Status(Code::kBusy, dir + " is in use");
  // A recoverer unlinks the file before it drops the lock: then this is a lock on nothing.
  struct stat st;
  if (::fstat(owner.fd_.get(), &st) != 0 || st.st_nlink == 0) return Status(Code::kNotFound, dir + " was recovered");
  return owner;
}

namespace {

std::optional<bool> ask_lock(const std::string& dir, bool by_process) {
  process_generation();
  const std::string path = join_path(dir, "lock");
  // Under the lock, so that no other thread takes this journal between the question and the close, which would drop its
  // lock.
  const ProcessLock guard;
  if (is_listed(dir) || is_own_file(path)) return true;
  auto fd = open_file(path, O_RDWR | O_NOFOLLOW);
  if (!fd.ok()) return std::nullopt;
  return is_held(fd->get(), kPosixByte) || (!by_process && is_held_by_ofd(fd->get(), dir));
}

}  // namespace

std::optional<bool> is_locked(const std::string& dir) { return ask_lock(dir, false); }

std::optional<bool> is_locked_by_process(const std::string& dir) { return ask_lock(dir, true); }

}  // namespace tracker::internal
