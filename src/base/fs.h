// SPDX-License-Identifier: MIT
// Files and folders: owned descriptors, whole-file reads and atomic replacements, and what kind of file system a path
// is on. Threads: any. Cost: system calls; never used on the hot path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace tracker::internal {

// An owned file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }
  void reset();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Returns a duplicate of `fd` above 2 and closes `fd`, if `fd` is 0, 1 or 2; else `fd` itself. The program may have
// closed 0, 1 and 2 and may open or redirect them at any time. -1 stays -1; errno is set if the duplication fails.
int above_standard(int fd);
// open(2) with O_CLOEXEC and EINTR handled; the descriptor is above 2. A new file whose mode has group bits gets the
// rights of share_with_group().
Result<Fd> open_file(const std::string& path, int flags, uint32_t mode = 0600);
// The whole file, refused with kLimit above `limit_bytes`.
Result<std::string> read_file(const std::string& path, size_t limit_bytes);
// The first `bytes` of the file, or all of it.
Result<std::string> read_file_start(const std::string& path, size_t bytes);
Status write_all(int fd, std::string_view data);
// Writes a temporary file in the same folder, fsync, rename, fsync of the folder: readers see the old or the new file.
Status write_file_atomic(const std::string& path, std::string_view data, uint32_t mode = 0600);
// As above but fails with kExists if `path` exists, also if another process creates it at the same time. durable=false
// omits both fsyncs (10 ms of an init); the caller calls sync_path later.
Status create_file_exclusive(const std::string& path, std::string_view data, uint32_t mode = 0600, bool durable = true);
// fsync of a file or a folder; best effort.
void sync_path(const std::string& path);
// True for a folder of a group: setgid, writable by its group and not by others. New files in it are for the group too.
bool is_shared_folder(const std::string& folder);
// For a new file or folder at `path`. If its parent folder is shared, the group gets the owner's rights whatever the
// umask is, a folder becomes shared too, and others get at most the rights that they have on the parent. Else, and if
// chmod fails, nothing changes.
void share_with_group(const std::string& path);
// mkdir -p. New folders get `mode`; those with group bits get the rights of share_with_group().
Status make_dirs(const std::string& path, uint32_t mode = 0777);
// Names, sorted, without "." and "..". All of them or an error: never a part of a listing that failed.
Result<std::vector<std::string>> list_dir(const std::string& path);
// Returns true if an error of opening or reading does not depend on the content of the file and may pass: no rights, a
// disk that refuses, a process out of memory or descriptors. False for a link, a pipe, a folder or no file at the path.
bool may_be_read_later(const Status& status);
bool path_exists(const std::string& path);
bool is_directory(const std::string& path);
bool is_regular_file(const std::string& path);
// By one lstat(2): with two system calls a file that is removed between them would be reported as a folder or a pipe.
// kNone also where the process has no right to read the folder.
enum class FileKind { kNone, kPlain, kLink, kOther };
FileKind file_kind(const std::string& path);
// Returns true if `path`, through links, exists and is not a file: a folder, a pipe, a device. One system call.
bool is_no_file(const std::string& path);
bool is_link(const std::string& path);  // a symbolic one: nothing in a store is written through symbolic links
// Lexical, relative to the current working directory. Empty for a relative path if the working directory was deleted.
std::string absolute_path(const std::string& path);
std::string parent_path(const std::string& path);
std::string last_name(const std::string& path);  // what follows the last "/"
std::string join_path(std::string_view a, std::string_view b);
void remove_file(const std::string& path);  // best effort

// Whether a file with this name is being made: the final name, then ".tmp-" or ".new-" and 16 hex digits; also SQLite's
// "-journal" of such a file.
bool is_leftover_name(std::string_view name);
struct Leftover {
  std::string path;
  uint64_t bytes = 0;
};
// Regular files in `folder` with such a name that are older than `age_s` seconds. The process that made them died.
std::vector<Leftover> list_leftovers(const std::string& folder, int64_t age_s);
// Removes them. Best effort.
void remove_leftovers(const std::string& folder, int64_t age_s);

enum class FsKind { kLocal, kTmpfs, kNetwork, kFuse, kUnknown };
struct FsType {
  FsKind kind = FsKind::kUnknown;
  const char* name = "unknown";  // for messages: "NFS", "FUSE", "local"
  bool is_stacked = false;  // overlayfs: the bytes are in another file system, and sync_file_range(2) has no effect
};
// Maps `f_type` of statfs(2): NFS, SMB, Lustre, GPFS, BeeGFS, CephFS, 9p, AFS and the like are kNetwork; an unknown
// number is kLocal.
FsType fs_type_of_magic(uint32_t f_type);
// statfs(2) of the nearest existing ancestor; kUnknown if statfs(2) fails.
FsType fs_type(const std::string& path);
inline FsKind fs_kind(const std::string& path) { return fs_type(path).kind; }
// For tests of file systems that cannot be mounted here: every path under `folder` reports `f_type`. An empty folder
// ends it.
void set_fs_type_for_testing(const std::string& folder, uint32_t f_type);
// Bytes free to this user; none where the file system does not report them.
std::optional<uint64_t> free_bytes(const std::string& path);
// The memory limit of this process's cgroup (v2 or v1) in bytes; UINT64_MAX when there is none.
uint64_t cgroup_memory_limit();
// How often the kernel has killed a process of a cgroup because memory ran out, and the file that has this count.
struct OomKills {
  std::string file;
  int64_t count = 0;
};
// Of this process's cgroup (v2 or v1); nullopt where there is no such count. Cost: two small files.
std::optional<OomKills> cgroup_oom_kills();
// The present count in `file`; nullopt if the file is gone.
std::optional<int64_t> read_oom_kills(const std::string& file);
// For tests of limits that cannot be set here: `root` replaces /sys/fs/cgroup; empty ends it.
void set_cgroup_root_for_testing(const std::string& root);

}  // namespace tracker::internal
