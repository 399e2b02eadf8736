// SPDX-License-Identifier: MIT
#include "storage/sqlite/sqlite_calls.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <mutex>

#include "storage/sqlite/inherited_files.h"
#include "storage/sqlite/read_ahead.h"

namespace tracker::internal {
namespace {

// What our connections have opened, by number. Pages of it that are not used take no memory.
SqliteFile g_opened[kGuardedDescriptorsMax];
std::atomic<int> g_opened_count{0};  // numbers from here on are not in use; less than 0: one had no place

std::atomic<int> g_guarded{kGuardedDescriptorsMax};

thread_local bool t_inside = false;
thread_local uint64_t t_lost = 0, t_reads_failed = 0;
thread_local bool t_reads_ahead = false;
// Statics and handlers of exit() come behind the destructors of the main thread's own.
thread_local bool t_ahead_gone = false;
struct AheadOfThread : ReadAhead {
  ~AheadOfThread() { t_ahead_gone = true; }
};
thread_local AheadOfThread t_ahead;

SqliteFile* opened_at(int fd) {
  return t_inside && fd >= 0 && fd < g_guarded.load(std::memory_order_relaxed) ? &g_opened[fd] : nullptr;
}

bool is_what_was_opened(int fd) {
  const SqliteFile* const opened = opened_at(fd);
  const uint64_t inode = opened == nullptr ? 0 : opened->inode.load(std::memory_order_relaxed);
  if (inode == 0) return true;
  struct stat st;
  if (::fstat(fd, &st) != 0) return errno != EBADF;  // a server that has forgotten the file
  return st.st_ino == inode && st.st_dev == opened->device.load(std::memory_order_relaxed);
}

// Sets errno where it is not ours.
bool may_use(int fd) {
  const int before = errno;
  const bool ours = is_what_was_opened(fd);
  if (!ours) ++t_lost;
  errno = ours ? before : EBADF;
  return ours;
}

template <typename F>
struct Call {
  const char* name;
  F* real = nullptr;  // set once, before ours is called
};
Call<int(const char*, int, int)> g_open{"open"};
Call<int(int)> g_close{"close"};
Call<int(int, struct stat*)> g_fstat{"fstat"};
Call<int(const char*, struct stat*)> g_stat{"stat"};
Call<int(int, off_t)> g_ftruncate{"ftruncate"};
Call<int(int, int, ...)> g_fcntl{"fcntl"};
Call<ssize_t(int, void*, size_t)> g_read{"read"};
Call<ssize_t(int, const void*, size_t)> g_write{"write"};
Call<ssize_t(int, void*, size_t, off_t)> g_pread{"pread"}, g_pread64{"pread64"};
Call<ssize_t(int, const void*, size_t, off_t)> g_pwrite{"pwrite"}, g_pwrite64{"pwrite64"};
Call<int(int, off_t, off_t)> g_fallocate{"fallocate"};
Call<void*(void*, size_t, int, int, int, off_t)> g_mmap{"mmap"};

void note_number(int fd) {
  int count = g_opened_count.load();
  const int needed = fd < g_guarded.load(std::memory_order_relaxed) ? fd + 1 : -1;
  while (t_inside && fd >= 0 && count >= 0 && (needed < 0 || needed > count) &&
         !g_opened_count.compare_exchange_weak(count, needed))
    continue;
}

int open_ours(const char* path, int flags, int mode) {
  list_inherited(g_opened, g_opened_count.load());
  const int fd = g_open.real(path, flags, mode);
  note_number(fd);
  SqliteFile* const opened = opened_at(fd);
  struct stat st;
  if (opened == nullptr) return fd;
  const int error = errno;
  const bool known = ::fstat(fd, &st) == 0;
  opened->device.store(known ? st.st_dev : 0, std::memory_order_relaxed);
  opened->inode.store(known ? st.st_ino : 0, std::memory_order_relaxed);
  errno = error;
  return fd;
}

int close_ours(int fd) {
  if (t_reads_ahead) t_ahead.forget();
  const bool ours = may_use(fd);
  list_inherited(g_opened, g_opened_count.load());
  if (SqliteFile* const opened = opened_at(fd)) opened->inode.store(0, std::memory_order_relaxed);
  return ours ? g_close.real(fd) : 0;
}

// Nothing else in SQLite asks for the device.
void make_new_in_child(struct stat* st) {
  constexpr int kAboveAnyDevice = 40;  // major and minor number take 32 bits
  list_inherited(g_opened, g_opened_count.load());
  st->st_dev ^= forks_since_open(st->st_dev, st->st_ino) << kAboveAnyDevice;
}

int fstat_ours(int fd, struct stat* st) {
  const int code = may_use(fd) ? g_fstat.real(fd, st) : -1;
  if (code == 0) make_new_in_child(st);
  return code;
}

int stat_ours(const char* path, struct stat* st) {
  const int code = g_stat.real(path, st);
  if (code == 0) make_new_in_child(st);
  return code;
}

int fcntl_ours(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);  // as the C library takes it, whatever it is
  va_end(rest);
  return may_use(fd) ? g_fcntl.real(fd, command, argument) : -1;
}

void* mmap_ours(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return may_use(fd) ? g_mmap.real(at, bytes, protection, flags, fd, offset) : MAP_FAILED;
}

template <auto& kCall, typename... Rest>
auto on_descriptor(int fd, Rest... rest) -> decltype(kCall.real(fd, rest...)) {
  return may_use(fd) ? kCall.real(fd, rest...) : -1;
}

template <auto& kCall>
ssize_t pread_ours(int fd, void* to, size_t bytes, off_t offset) {
  constexpr auto kRead = on_descriptor<kCall, void*, size_t, off_t>;
  const ssize_t n = t_reads_ahead ? t_ahead.pread(fd, to, bytes, offset, kRead) : kRead(fd, to, bytes, offset);
  t_reads_failed += n < 0 && errno != EINTR && errno != EBADF ? 1 : 0;
  return n;
}

template <auto& kCall, typename... Rest>
auto change(int fd, Rest... rest) -> decltype(kCall.real(fd, rest...)) {
  if (t_reads_ahead) t_ahead.forget();
  return on_descriptor<kCall>(fd, rest...);
}

template <typename F>
void replace(sqlite3_vfs* vfs, Call<F>* call, F* ours) {
  call->real = reinterpret_cast<F*>(vfs->xGetSystemCall(vfs, call->name));
  if (call->real != nullptr) vfs->xSetSystemCall(vfs, call->name, reinterpret_cast<sqlite3_syscall_ptr>(ours));
}

void replace_all() {
  sqlite3_vfs* const vfs = sqlite3_initialize() == SQLITE_OK ? sqlite3_vfs_find("unix") : nullptr;
  if (vfs == nullptr || vfs->iVersion < 3 || vfs->xSetSystemCall == nullptr) return;
  begin_inheriting();
  replace(vfs, &g_open, open_ours);
  replace(vfs, &g_close, close_ours);
  replace(vfs, &g_fstat, fstat_ours);
  replace(vfs, &g_stat, stat_ours);
  replace(vfs, &g_ftruncate, change<g_ftruncate, off_t>);
  replace(vfs, &g_fcntl, fcntl_ours);
  replace(vfs, &g_read, on_descriptor<g_read, void*, size_t>);
  replace(vfs, &g_write, change<g_write, const void*, size_t>);
  replace(vfs, &g_pread, pread_ours<g_pread>);
  replace(vfs, &g_pread64, pread_ours<g_pread64>);
  replace(vfs, &g_pwrite, change<g_pwrite, const void*, size_t, off_t>);
  replace(vfs, &g_pwrite64, change<g_pwrite64, const void*, size_t, off_t>);
  replace(vfs, &g_fallocate, on_descriptor<g_fallocate, off_t, off_t>);
  replace(vfs, &g_mmap, mmap_ours);
}

}  // namespace

SqliteCall::SqliteCall(Reads reads) {
  t_inside = true;
  t_reads_ahead = reads == Reads::kAhead && !t_ahead_gone;
}
SqliteCall::~SqliteCall() {
  if (t_reads_ahead) t_ahead.forget();
  t_inside = t_reads_ahead = false;
}

void guard_sqlite_descriptors() {
  static std::once_flag once;
  std::call_once(once, replace_all);
}

int set_guarded_descriptors_for_testing(int most) { return g_guarded.exchange(most); }

uint64_t sqlite_descriptors_lost() { return t_lost; }
uint64_t sqlite_reads_failed() { return t_reads_failed; }

Status closed_by_others(const std::string& path) {
  return Status(Code::kIo,
                path +
                    ": its descriptor was closed by other code of this process, by os.closerange() "
                    "or a close too many",
                "what is stored is safe, and the file is opened again");
}

}  // namespace tracker::internal
