// SPDX-License-Identifier: MIT
#include "support/faulty_disk.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>

namespace tracker::internal {
namespace {

char g_folder[512];

bool is_below(const char* path) {
  const size_t length = std::strlen(g_folder);
  return length > 0 && std::strncmp(path, g_folder, length) == 0;
}

bool concerns(int fd) {
  if (g_folder[0] == 0) return false;
  char link[64];
  char path[512];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = ::readlink(link, path, sizeof path - 1);
  if (n <= 0) return false;
  path[n] = 0;
  return is_below(path);
}

std::mutex g_counting;  // of writes_left and what it leads to

bool fails(const std::atomic<int>& error) {
  const int code = error.load();
  if (code == 0) return false;
  ++faulty_disk().faults;
  errno = code;
  return true;
}

void count_down(int fd) {
  FaultyDisk& disk = faulty_disk();
  if (disk.writes_left.load() < 0 || !concerns(fd)) return;
  const std::lock_guard lock(g_counting);
  if (disk.writes_left.load() < 0 || disk.writes_left-- > 0) return;
  if (disk.errno_then.load() == 0) ::kill(::getpid(), SIGKILL);
  disk.write_errno = disk.fsync_errno = disk.errno_then.load();
}

void take_ms(int ms) {
  timespec nap{ms / 1000, ms % 1000 * 1'000'000L};
  while (ms > 0 && ::nanosleep(&nap, &nap) != 0) {}
}

bool sync_fails(int fd) {
  if (!concerns(fd)) return false;
  count_down(fd);
  ++faulty_disk().fsyncs;
  take_ms(faulty_disk().fsync_ms.load());
  return fails(faulty_disk().fsync_errno);
}

bool is_wal(int fd) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t n = ::readlink(link.c_str(), target, sizeof target);
  return n > 0 && std::string_view(target, static_cast<size_t>(n)).ends_with("-wal");
}

bool wal_sync_fails(int fd) {
  const auto& error = faulty_disk().wal_sync_errno;
  return error.load() != 0 && concerns(fd) && is_wal(fd) && fails(error);
}

// How much of `n` bytes is to be written; -1 for a failure.
ssize_t allowed(int fd, size_t n) {
  FaultyDisk& disk = faulty_disk();
  count_down(fd);
  if (disk.write_ms.load() > 0 && concerns(fd)) take_ms(disk.write_ms.load());
  if (disk.write_errno.load() == 0 || !concerns(fd)) return static_cast<ssize_t>(n);
  if (n > 1 && disk.short_writes.load() > 0) {
    --disk.short_writes;
    return static_cast<ssize_t>(n / 2);
  }
  return fails(disk.write_errno) ? -1 : static_cast<ssize_t>(n);
}

template <typename F>
F next(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

void count(int fd, std::atomic<int>* calls) {
  if (concerns(fd)) ++*calls;
}

void count(const char* path, std::atomic<int>* calls) {
  if (is_below(path)) ++*calls;
}

bool open_fails(const char* path, int flags) {
  return (flags & O_CREAT) != 0 && faulty_disk().write_errno.load() != 0 && is_below(path) &&
         ::access(path, F_OK) != 0 && fails(faulty_disk().write_errno);
}

bool readdir_fails(DIR* folder) {
  return faulty_disk().readdir_errno.load() != 0 && concerns(::dirfd(folder)) && fails(faulty_disk().readdir_errno);
}

}  // namespace

FaultyDisk& faulty_disk() {
  static FaultyDisk disk;
  return disk;
}

void heal_disk() {
  const std::lock_guard lock(g_counting);
  FaultyDisk& disk = faulty_disk();
  disk.writes_left = disk.free_blocks = -1;
  disk.errno_then = disk.write_errno = disk.fsync_errno = 0;
}

void set_faulty_folder(const std::string& folder) {
  char* path = ::realpath(folder.c_str(), nullptr);
  if (path == nullptr || std::strlen(path) + 1 >= sizeof g_folder) std::abort();
  std::strcpy(g_folder, path);
  std::strcat(g_folder, "/");
  std::free(path);
}

}  // namespace tracker::internal

using tracker::internal::allowed;
using tracker::internal::concerns;
using tracker::internal::count;
using tracker::internal::count_down;
using tracker::internal::faulty_disk;
using tracker::internal::is_below;
using tracker::internal::is_wal;
using tracker::internal::next;
using tracker::internal::open_fails;
using tracker::internal::readdir_fails;
using tracker::internal::sync_fails;
using tracker::internal::wal_sync_fails;

#define TRACKER_TAKES_PLACE extern "C" __attribute__((visibility("default")))

TRACKER_TAKES_PLACE ssize_t write(int fd, const void* data, size_t n) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  const ssize_t take = allowed(fd, n);
  return take < 0 ? -1 : real(fd, data, static_cast<size_t>(take));
}

TRACKER_TAKES_PLACE int unlink(const char* path) {
  static const auto real = next<int (*)(const char*)>("unlink");
  const int done = real(path);
  const int error = errno;
  if (faulty_disk().dies_with_a_ring.load() && std::strstr(path, "/ring-") != nullptr) ::kill(::getpid(), SIGKILL);
  errno = error;
  return done;
}

TRACKER_TAKES_PLACE ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  const ssize_t take = allowed(fd, n);
  return take < 0 ? -1 : real(fd, data, static_cast<size_t>(take), at);
}

TRACKER_TAKES_PLACE ssize_t pwrite(int fd, const void* data, size_t n, off_t at) { return pwrite64(fd, data, n, at); }

TRACKER_TAKES_PLACE int ftruncate64(int fd, off64_t size) {
  static const auto real = next<int (*)(int, off64_t)>("ftruncate64");
  count_down(fd);
  return real(fd, size);
}

TRACKER_TAKES_PLACE int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  if (concerns(fd) && is_wal(fd)) ++faulty_disk().wal_fsyncs;
  return sync_fails(fd) ? -1 : real(fd);
}

TRACKER_TAKES_PLACE int fdatasync(int fd) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return wal_sync_fails(fd) || sync_fails(fd) ? -1 : real(fd);
}

TRACKER_TAKES_PLACE int syncfs(int fd) noexcept {
  static const auto real = next<int (*)(int)>("syncfs");
  count(fd, &faulty_disk().syncfs);
  return sync_fails(fd) ? -1 : real(fd);
}

TRACKER_TAKES_PLACE int sync_file_range(int fd, off64_t from, off64_t bytes, unsigned flags) {
  static const auto real = next<int (*)(int, off64_t, off64_t, unsigned)>("sync_file_range");
  count(fd, &faulty_disk().begun_early);
  return real(fd, from, bytes, flags);
}

TRACKER_TAKES_PLACE int fallocate64(int fd, int mode, off64_t from, off64_t bytes) {
  static const auto real = next<int (*)(int, int, off64_t, off64_t)>("fallocate64");
  count(fd, &faulty_disk().allocations);
  return real(fd, mode, from, bytes);
}

TRACKER_TAKES_PLACE int fallocate(int fd, int mode, off_t from, off_t bytes) {
  return fallocate64(fd, mode, from, bytes);
}

TRACKER_TAKES_PLACE int statfs(const char* path, struct statfs* out) noexcept {
  static const auto real = next<int (*)(const char*, struct statfs*)>("statfs");
  count(path, &faulty_disk().room_asked);
  const int answer = real(path, out);
  const int blocks = faulty_disk().free_blocks;
  if (blocks >= 0 && is_below(path)) out->f_bavail = static_cast<fsblkcnt_t>(blocks);
  return answer;
}

TRACKER_TAKES_PLACE int open64(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open64");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_fails(path, flags) ? -1 : real(path, flags, mode);
}

TRACKER_TAKES_PLACE int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open64(path, flags, mode);
}

TRACKER_TAKES_PLACE dirent64* readdir64(DIR* folder) {
  static const auto real = next<dirent64* (*)(DIR*)>("readdir64");
  return readdir_fails(folder) ? nullptr : real(folder);
}

TRACKER_TAKES_PLACE dirent* readdir(DIR* folder) {
  static const auto real = next<dirent* (*)(DIR*)>("readdir");
  return readdir_fails(folder) ? nullptr : real(folder);
}
