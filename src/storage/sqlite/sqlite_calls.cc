// SPDX-License-Identifier: MIT
#include "storage/sqlite/sqlite_calls.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <mutex>

namespace tracker::internal {
namespace {

thread_local SqliteFiles* t_files = nullptr;  // of the connection that this thread is using
std::atomic<uint64_t> g_lost{0};

template <typename F>
struct Call {
  const char* name;
  F* real = nullptr;  // set once, before ours is called
};
Call<int(const char*, int, int)> g_open{"open"};
Call<int(int, struct stat*)> g_fstat{"fstat"};
Call<int(const char*, struct stat*)> g_stat{"stat"};

int open_ours(const char* path, int flags, int mode) {
  const int fd = g_open.real(path, flags, mode);
  if (fd >= 0 && t_files != nullptr) t_files->on_open(path, fd);
  return fd;
}

// Nothing else in SQLite uses the device.
void number_device(struct stat* st) {
  constexpr int kAboveAnyDevice = 40;  // major and minor number take 32 bits
  st->st_dev ^= unusable_entries(st->st_dev, st->st_ino) << kAboveAnyDevice;
}

int fstat_ours(int fd, struct stat* st) {
  const int code = g_fstat.real(fd, st);
  if (code == 0 && t_files != nullptr) t_files->on_fstat(fd, *st);
  if (code == 0) number_device(st);
  return code;
}

int stat_ours(const char* path, struct stat* st) {
  const int code = g_stat.real(path, st);
  if (code == 0) number_device(st);
  return code;
}

template <typename F>
void replace(sqlite3_vfs* vfs, Call<F>* call, F* ours) {
  call->real = reinterpret_cast<F*>(vfs->xGetSystemCall(vfs, call->name));
  if (call->real != nullptr) vfs->xSetSystemCall(vfs, call->name, reinterpret_cast<sqlite3_syscall_ptr>(ours));
}

void replace_all() {
  sqlite3_vfs* const vfs = sqlite3_initialize() == SQLITE_OK ? sqlite3_vfs_find("unix") : nullptr;
  if (vfs == nullptr || vfs->iVersion < 3 || vfs->xSetSystemCall == nullptr) return;
  replace(vfs, &g_open, open_ours);
  replace(vfs, &g_fstat, fstat_ours);
  replace(vfs, &g_stat, stat_ours);
}

}  // namespace

void SqliteFiles::File::take(int number, const struct stat& st) { *this = {number, false, st.st_dev, st.st_ino}; }

// Without a request to the server of a network file system. Another thread may have received the number of a descriptor
// that SQLite has closed: the result is about its file then.
bool SqliteFiles::File::is_same() const {
  struct statx st;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) != 0) return errno != EBADF;
  return makedev(st.stx_dev_major, st.stx_dev_minor) == device && st.stx_ino == inode;
}

SqliteFiles::~SqliteFiles() {
  if (listed_ != nullptr) remove_open_database(listed_);
}

void SqliteFiles::take_database(int fd, const struct stat& st) {
  if (!is_opening_ || database_.fd >= 0 || !S_ISREG(st.st_mode)) return;
  database_.take(fd, st);
  listed_ = add_open_database(st.st_dev, st.st_ino);
}

void SqliteFiles::on_open(std::string_view path, int fd) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return;
  take_database(fd, st);
  if (path_.empty() || !path.starts_with(path_)) return;
  const std::string_view suffix = path.substr(path_.size());
  if (suffix == "-wal") wal_.take(fd, st);
  if (suffix == "-shm") shm_.take(fd, st);
}

// While another connection of this process holds locks on the file, SQLite keeps the descriptors of closed connections
// and reuses them for new ones, without an open.
void SqliteFiles::on_fstat(int fd, const struct stat& st) {
  is_kept_one_ = is_kept_one_ || (is_opening_ && database_.fd < 0);
  take_database(fd, st);
}

void SqliteFiles::end_open(const char* path) {
  is_opening_ = false;
  if (database_.fd < 0 || path == nullptr) return;
  database_.is_sure = true;
  path_ = path;
  struct stat named;
  const bool is_another = is_kept_one_ && ::stat(path, &named) == 0 &&
                          (named.st_ino != database_.inode || named.st_dev != database_.device);
  if (is_another) lose();  // other code closed the descriptor while SQLite kept it
}

bool SqliteFiles::are_ours() {
  for (File* const file : {&database_, &wal_, &shm_}) {
    if (is_lost_) return false;
    if (file->fd < 0) continue;
    if (file->is_same()) file->is_sure = true;
    else if (file->is_sure) lose();
    else file->fd = -1;
  }
  return !is_lost_;
}

void SqliteFiles::lose() {
  is_lost_ = true;
  g_lost.fetch_add(1);
  if (listed_ != nullptr) listed_->is_lost.store(true);
}

SqliteCall::SqliteCall(SqliteFiles* files) { t_files = files; }
SqliteCall::~SqliteCall() { t_files = nullptr; }

void replace_sqlite_calls() {
  static std::once_flag once;
  std::call_once(once, replace_all);
}

uint64_t lost_sqlite_connections() { return g_lost.load(); }

Status closed_by_others(const std::string& path) {
  return Status(Code::kIo,
                path +
                    ": its descriptor was closed by other code of this process, by os.closerange() "
                    "or a double close",
                "what is stored is safe, and the file is opened again");
}

}  // namespace tracker::internal
