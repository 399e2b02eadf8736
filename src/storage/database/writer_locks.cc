// SPDX-License-Identifier: MIT
#include "storage/database/writer_locks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "journal/ring/wipe_memory.h"

namespace tracker::internal {
namespace {

// From SQLite's os_unix.c; they are part of its file format and do not change.
constexpr off_t kSharedFirst = 0x40000002;
constexpr off_t kSharedSize = 510;
constexpr off_t kShmDeadMansSwitch = 128;
constexpr size_t kShmHeaderBytes = 96;  // two copies of WalIndexHdr

bool g_enabled = true;

// The databases that this process writes; under ProcessLock. Leaked on purpose: no static destructors.
std::multiset<FileId>& written_here() {
  static auto* files = new std::multiset<FileId>;
  return *files;
}

bool set_lock(int fd, short type, off_t start, off_t length) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

void set_writer_locks_enabled_for_testing(bool enabled) { g_enabled = enabled; }

std::optional<FileId> file_at(const std::string& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0) return std::nullopt;
  return FileId(st.st_dev, st.st_ino);
}

bool is_written_here(const std::string& db_path) {
  struct stat st{};
  if (::stat(db_path.c_str(), &st) != 0) return false;
  const ProcessLock guard;
  return written_here().contains({st.st_dev, st.st_ino});
}

Status WriterLocks::acquire(const std::string& db_path) {
  if (std::exchange(path_, db_path) != db_path) held_.reset();
  auto db = open_file(db_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (!db.ok()) return db.status();
  db_ = GuardedFd(std::move(*db));
  struct stat st{};
  if (::fstat(db_.get(), &st) != 0) return Status::from_errno(errno, "cannot stat", db_path);
  unlist();
  held_ = {st.st_dev, st.st_ino};
  {
    const ProcessLock guard;
    written_here().insert(*(listed_ = held_));
  }
  auto shm = open_file(db_path + "-shm", O_RDWR | O_CREAT | O_NOFOLLOW, st.st_mode & 0777);
  if (!shm.ok()) {
    close();
    return shm.status();
  }
  shm_ = GuardedFd(std::move(*shm));
  if (!g_enabled) return {};
  set_lock(db_.get(), F_RDLCK, kSharedFirst, kSharedSize);
  // SQLite drops the index that a dead process left when no process holds this lock. Ours would prevent that for ever,
  // so apply the same rule here; an index in use is valid. Clear its header instead of truncating the file: SQLite
  // rebuilds it too, and a process that still maps the file is not killed.
  if (set_lock(shm_.get(), F_WRLCK, kShmDeadMansSwitch, 1)) {
    const char zeros[kShmHeaderBytes] = {};
    if (::fstat(shm_.get(), &st) != 0 || (st.st_size > 0 && ::pwrite(shm_.get(), zeros, sizeof zeros, 0) < 0))
      return Status::from_errno(errno, "cannot clear", db_path + "-shm");
  }
  set_lock(shm_.get(), F_RDLCK, kShmDeadMansSwitch, 1);
  return {};
}

void WriterLocks::release() {
  if (db_.is_ours()) set_lock(db_.get(), F_UNLCK, 0, 0);
  if (shm_.is_ours()) set_lock(shm_.get(), F_UNLCK, 0, 0);
}

void WriterLocks::close() {
  shm_.reset();
  db_.reset();
  unlist();
}

void WriterLocks::unlist() {
  if (!listed_) return;
  const ProcessLock guard;
  if (const auto at = written_here().find(*listed_); at != written_here().end()) written_here().erase(at);
  listed_.reset();
}

void WriterLocks::forget() {
  close();
  held_.reset();
}

bool WriterLocks::is_closed_by_others() const { return (db_ && !db_.is_ours()) || (shm_ && !shm_.is_ours()); }

bool WriterLocks::in_place() const {
  if (!db_.is_ours()) return true;  // another file has the number: is_closed_by_others()
  struct stat open{};
  struct stat named{};
  return ::fstat(db_.get(), &open) == 0 && ::lstat(path_.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

bool WriterLocks::removed() const {
  if (path_exists(path_)) return false;
  if (!db_.is_ours()) return held_.has_value();
  struct stat open{};
  return ::fstat(db_.get(), &open) == 0 && open.st_nlink == 0;
}

bool WriterLocks::lost_to_another() const {
  const auto named = file_at(path_);
  return !db_ && held_ && named && *held_ != *named;
}

}  // namespace tracker::internal
