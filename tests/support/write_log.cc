// SPDX-License-Identifier: MIT
#include "support/write_log.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <optional>
#include <string_view>

namespace tracker::internal {
namespace {

// Held over an operation and its record, so that the log has the order of the disk.
std::mutex g_mutex;
int g_log = -1;
char g_folder[512];

struct Head {
  uint64_t kind, at, value, path_bytes, other_bytes, data_bytes;
  int64_t time_ns;
};

void put(const void* data, size_t n) {
  const char* at = static_cast<const char*>(data);
  while (n > 0) {
    const long wrote = ::syscall(SYS_write, g_log, at, n);
    if (wrote <= 0) std::abort();
    at += wrote;
    n -= static_cast<size_t>(wrote);
  }
}

void record(WriteKind kind, std::string_view path, uint64_t at = 0, std::string_view data = {},
            std::string_view other = {}, uint64_t value = 0) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const Head head{static_cast<uint64_t>(kind),
                  at,
                  value,
                  path.size(),
                  other.size(),
                  data.size(),
                  now.tv_sec * 1'000'000'000LL + now.tv_nsec};
  put(&head, sizeof head);
  put(path.data(), path.size());
  put(other.data(), other.size());
  put(data.data(), data.size());
}

// Relative to the folder; nothing for paths elsewhere.
std::optional<std::string> below(const char* path) {
  const size_t length = std::strlen(g_folder);
  if (g_log < 0 || path == nullptr || std::strncmp(path, g_folder, length) != 0) return std::nullopt;
  return path + length;
}

std::optional<std::string> below(int fd) {
  if (g_log < 0) return std::nullopt;
  char link[64];
  char path[512];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = ::readlink(link, path, sizeof path - 1);
  if (n <= 0) return std::nullopt;
  path[n] = 0;
  return below(path);
}

template <typename F>
F next(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

// Runs `real`, and records it where it succeeded on something below the folder.
template <typename Where, typename Real, typename Record>
auto logged(Where where, const Real& real, const Record& on_success) {
  const std::optional<std::string> path = below(where);
  if (!path) return real();
  const std::lock_guard<std::mutex> guard(g_mutex);
  const auto result = real();
  const int error = errno;
  if (result >= 0) on_success(*path, result);
  errno = error;
  return result;
}

int logged_sync(const char* name, int fd) {
  const auto real = next<int (*)(int)>(name);
  const auto begin_and_sync = [&] {
    if (const auto path = below(fd)) record(WriteKind::kSyncBegin, *path);
    return real(fd);
  };
  return logged(fd, begin_and_sync, [](const std::string& path, int) { record(WriteKind::kSync, path); });
}

template <typename Real>
int logged_pair(WriteKind kind, const char* from, const char* to, const Real& real) {
  return logged(from, real, [&](const std::string& path, int) { record(kind, path, 0, {}, below(to).value_or("?")); });
}

}  // namespace

void start_write_log(const std::string& folder, const std::string& log) {
  char* path = ::realpath(folder.c_str(), nullptr);
  if (path == nullptr || std::strlen(path) + 2 > sizeof g_folder) std::abort();
  std::strcpy(g_folder, path);
  std::strcat(g_folder, "/");
  std::free(path);
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) std::abort();
  g_log = fd;
}

void mark_write_log(uint64_t number, uint64_t value) {
  const std::lock_guard<std::mutex> guard(g_mutex);
  record(WriteKind::kMark, {}, number, {}, {}, value);
}

std::vector<LoggedWrite> read_write_log(const std::string& log) {
  std::ifstream in(log, std::ios::binary);
  std::vector<LoggedWrite> out;
  Head head{};
  while (in.read(reinterpret_cast<char*>(&head), sizeof head)) {
    LoggedWrite entry{static_cast<WriteKind>(head.kind), head.at, head.value, head.time_ns, {}, {}, {}};
    entry.path.resize(head.path_bytes);
    entry.other.resize(head.other_bytes);
    entry.data.resize(head.data_bytes);
    for (std::string* text : {&entry.path, &entry.other, &entry.data})
      in.read(text->data(), static_cast<std::streamsize>(text->size()));
    if (!in) std::abort();
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace tracker::internal

namespace in = tracker::internal;
using in::WriteKind;

#define TRACKER_TAKES_PLACE extern "C" __attribute__((visibility("default")))

TRACKER_TAKES_PLACE ssize_t write(int fd, const void* data, size_t n) {
  static const auto real = in::next<ssize_t (*)(int, const void*, size_t)>("write");
  return in::logged(
      fd, [&] { return real(fd, data, n); },
      [&](const std::string& path, ssize_t wrote) {
        const off_t end = ::lseek(fd, 0, SEEK_CUR);
        if (end >= wrote)
          in::record(WriteKind::kWrite, path, static_cast<uint64_t>(end - wrote),
                     {static_cast<const char*>(data), static_cast<size_t>(wrote)});
      });
}

TRACKER_TAKES_PLACE ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
  static const auto real = in::next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return in::logged(
      fd, [&] { return real(fd, data, n, at); },
      [&](const std::string& path, ssize_t wrote) {
        in::record(WriteKind::kWrite, path, static_cast<uint64_t>(at),
                   {static_cast<const char*>(data), static_cast<size_t>(wrote)});
      });
}
TRACKER_TAKES_PLACE ssize_t pwrite(int fd, const void* data, size_t n, off_t at) { return pwrite64(fd, data, n, at); }

TRACKER_TAKES_PLACE int ftruncate64(int fd, off64_t size) {
  static const auto real = in::next<int (*)(int, off64_t)>("ftruncate64");
  return in::logged(
      fd, [&] { return real(fd, size); },
      [&](const std::string& path, int) { in::record(WriteKind::kTruncate, path, static_cast<uint64_t>(size)); });
}
TRACKER_TAKES_PLACE int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

TRACKER_TAKES_PLACE int fsync(int fd) { return in::logged_sync("fsync", fd); }
TRACKER_TAKES_PLACE int fdatasync(int fd) { return in::logged_sync("fdatasync", fd); }

TRACKER_TAKES_PLACE int rename(const char* from, const char* to) {
  static const auto real = in::next<int (*)(const char*, const char*)>("rename");
  return in::logged_pair(WriteKind::kRename, from, to, [&] { return real(from, to); });
}
// From the working directory alone, as all of ours that a run's files are renamed by.
TRACKER_TAKES_PLACE int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto real = in::next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return in::logged_pair(WriteKind::kRename, from, to, [&] { return real(from_folder, from, to_folder, to, flags); });
}
TRACKER_TAKES_PLACE int link(const char* from, const char* to) {
  static const auto real = in::next<int (*)(const char*, const char*)>("link");
  return in::logged_pair(WriteKind::kLink, from, to, [&] { return real(from, to); });
}

TRACKER_TAKES_PLACE int unlink(const char* path) {
  static const auto real = in::next<int (*)(const char*)>("unlink");
  return in::logged(
      path, [&] { return real(path); }, [](const std::string& gone, int) { in::record(WriteKind::kUnlink, gone); });
}

TRACKER_TAKES_PLACE int mkdir(const char* path, mode_t mode) {
  static const auto real = in::next<int (*)(const char*, mode_t)>("mkdir");
  return in::logged(
      path, [&] { return real(path, mode); },
      [](const std::string& made, int) { in::record(WriteKind::kFolder, made); });
}

TRACKER_TAKES_PLACE int open64(const char* path, int flags, ...) {
  static const auto real = in::next<int (*)(const char*, int, ...)>("open64");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if ((flags & (O_CREAT | O_TRUNC)) == 0) return real(path, flags, mode);
  const bool was_there = ::access(path, F_OK) == 0;
  return in::logged(
      path, [&] { return real(path, flags, mode); },
      [&](const std::string& name, int) {
        if (!was_there) in::record(WriteKind::kCreate, name);
        else if ((flags & O_TRUNC) != 0) in::record(WriteKind::kTruncate, name, 0);
      });
}

TRACKER_TAKES_PLACE int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open64(path, flags, mode);
}
