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

// The same file under a number above 2, where it has one of those: 0, 1 and 2 are the program's, which may have closed
// them, and opens or redirects them when it likes. -1 stays; errno is set where that fails.
int above_standard(int fd);
// open(2) with O_CLOEXEC and EINTR handled; the descriptor is above 2. A file that is made with a mode for its group is
// as share_with_group() says.
Result<Fd> open_file(const std::string& path, int flags, uint32_t mode = 0600);
// The whole file, refused with kLimit above `limit_bytes`.
Result<std::string> read_file(const std::string& path, size_t limit_bytes);
// Its first `bytes`, or all of it.
Result<std::string> read_file_start(const std::string& path, size_t bytes);
Status write_all(int fd, std::string_view data);
// Temp file in the same folder, fsync, rename, fsync of the folder: readers see the old or the new file.
Status write_file_atomic(const std::string& path, std::string_view data, uint32_t mode = 0600);
// As above but fails with kExists when `path` is there already, also against a process that does the same now.
// durable=false leaves out both fsyncs (10 ms of an init): sync_path later makes up for it.
Status create_file_exclusive(const std::string& path, std::string_view data, uint32_t mode = 0600, bool durable = true);
// fsync of a file or a folder; best effort.
void sync_path(const std::string& path);
// A folder of a group: setgid, its group may write it and others may not. What is made in it is for the group too.
bool is_shared_folder(const std::string& folder);
// What was just made at `path`: where its folder is shared the group gets the owner's rights, whatever the umask is, a
// folder is shared too, and others get at most what they have of the folder above. Elsewhere, and where that fails,
// nothing is changed.
void share_with_group(const std::string& path);
// mkdir -p. Folders that are made get `mode`, and one for the group is as share_with_group() says.
Status make_dirs(const std::string& path, uint32_t mode = 0777);
// Names, sorted, without "." and "..". All of them or an error: never the first ones of a listing that breaks off.
Result<std::vector<std::string>> list_dir(const std::string& path);
// Of an error of opening or reading: it says nothing of what the file holds, as rights, a disk that refuses or a
// process without room for more do. Not so of a link, a pipe, a folder or nothing in the place of a file.
bool may_be_read_later(const Status& status);
bool path_exists(const std::string& path);
bool is_directory(const std::string& path);
bool is_regular_file(const std::string& path);
// By one look that follows no link: of two looks the second may find the file removed, which is then taken for a folder
// or a pipe. kNone too where nobody may look.
enum class FileKind { kNone, kPlain, kLink, kOther };
FileKind file_kind(const std::string& path);
// What is there, through links, and no file: a folder, a pipe, a device. By one look.
bool is_no_file(const std::string& path);
bool is_link(const std::string& path);  // a symbolic one: nothing in a store is written through those
// Lexical, against the working directory of now. Empty for a relative path where that was deleted.
std::string absolute_path(const std::string& path);
std::string parent_path(const std::string& path);
std::string last_name(const std::string& path);  // behind the last "/"
std::string join_path(std::string_view a, std::string_view b);
void remove_file(const std::string& path);  // best effort

// Names of files that are being made: the file's own, then ".tmp-" or ".new-" and 16 hex digits; SQLite's "-journal" of
// such a one too.
bool is_leftover_name(std::string_view name);
struct Leftover {
  std::string path;
  uint64_t bytes = 0;
};
// Regular files in `folder` with such a name that are older than `age_s` seconds: a process died while it made them.
std::vector<Leftover> list_leftovers(const std::string& folder, int64_t age_s);
// Removes them. Best effort.
void remove_leftovers(const std::string& folder, int64_t age_s);

enum class FsKind { kLocal, kTmpfs, kNetwork, kFuse, kUnknown };
struct FsType {
  FsKind kind = FsKind::kUnknown;
  const char* name = "unknown";  // for messages: "NFS", "FUSE", "local"
  bool is_stacked = false;       // overlayfs: the bytes are another file system's, and sync_file_range(2) does nothing
};
// What statfs(2) calls `f_type`: NFS, SMB, Lustre, GPFS, BeeGFS, CephFS, 9p, AFS and their like are kNetwork; what is
// not in the list is kLocal.
FsType fs_type_of_magic(uint32_t f_type);
// statfs(2) of the nearest existing ancestor; kUnknown when the path cannot be looked at.
FsType fs_type(const std::string& path);
inline FsKind fs_kind(const std::string& path) { return fs_type(path).kind; }
// Tests of file systems that cannot be mounted here: every path under `folder` answers `f_type`. An empty folder ends
// it.
void set_fs_type_for_testing(const std::string& folder, uint32_t f_type);
// Bytes free to this user; none where the file system does not say.
std::optional<uint64_t> free_bytes(const std::string& path);
// The memory limit of this process's cgroup (v2 or v1) in bytes; UINT64_MAX when there is none.
uint64_t cgroup_memory_limit();
// How often the kernel has killed a process of a cgroup for want of memory, and the file that says so.
struct OomKills {
  std::string file;
  int64_t count = 0;
};
// Of this process's cgroup (v2 or v1); nullopt where nothing counts them. Cost: two small files.
std::optional<OomKills> cgroup_oom_kills();
// What `file` says by now; nullopt when it is gone.
std::optional<int64_t> read_oom_kills(const std::string& file);
// Tests of limits that cannot be set here: `root` takes the place of /sys/fs/cgroup; empty ends it.
void set_cgroup_root_for_testing(const std::string& root);

}  // namespace tracker::internal
