// SPDX-License-Identifier: MIT
#include "base/fs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/folder_entries.h"
#include "base/ids.h"

namespace tracker::internal {

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return copy;
}

namespace {

constexpr mode_t kGroupBits = S_IRWXG;

bool is_shared(const struct stat& st) {
  return S_ISDIR(st.st_mode) && (st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IWGRP) != 0 &&
         (st.st_mode & S_IWOTH) == 0;
}

// The mode of a file or folder that has mode `now` and lies in a folder with mode `above`.
mode_t shared_mode(mode_t now, mode_t above) {
  const mode_t owner = now & S_IRWXU;
  return owner | owner >> 3 | (now & above & (S_IROTH | S_IXOTH)) | (S_ISDIR(now) ? S_ISGID : 0);
}

// Only while the file is empty: a later change of its mode by a user is kept.
void share_new_file(int fd, const std::string& path) {
  struct stat st{}, above{};
  if (::stat(parent_path(path).c_str(), &above) != 0 || !is_shared(above)) return;
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != 0) return;
  const mode_t mode = shared_mode(st.st_mode, above.st_mode);
  if ((st.st_mode & 07777) != mode) (void)::fchmod(fd, mode);
}

Status make_dir(const std::string& path, uint32_t mode) {
  if (::mkdir(path.c_str(), mode) != 0) return Status::from_errno(errno, "cannot create the folder", path);
  if ((mode & kGroupBits) != 0) share_with_group(path);
  return {};
}

}  // namespace

bool is_shared_folder(const std::string& folder) {
  struct stat st{};
  return ::stat(folder.c_str(), &st) == 0 && is_shared(st);
}

void share_with_group(const std::string& path) {
  struct stat st{}, above{};
  if (::stat(parent_path(path).c_str(), &above) != 0 || !is_shared(above)) return;
  if (::lstat(path.c_str(), &st) != 0 || S_ISLNK(st.st_mode)) return;
  const mode_t mode = shared_mode(st.st_mode, above.st_mode);
  if ((st.st_mode & 07777) != mode) (void)::chmod(path.c_str(), mode);
}

Result<Fd> open_file(const std::string& path, int flags, uint32_t mode) {
  int fd;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  fd = above_standard(fd);
  if (fd < 0) return Status::from_errno(errno, "cannot open", path);
  if ((flags & O_CREAT) != 0 && (mode & kGroupBits) != 0) share_new_file(fd, path);
  return Fd(fd);
}

namespace {

// Reads to the end, or until there are more than `enough_bytes`.
Result<std::string> read_regular(const std::string& path, size_t enough_bytes) {
  // Opening a pipe or a device must not block the reader, and reading it must not run for ever.
  auto fd = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) return fd.status();
  struct stat st;
  if (::fstat(fd->get(), &st) != 0 || !S_ISREG(st.st_mode))
    return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
  std::string out;
  char buffer[65536];
  while (out.size() <= enough_bytes) {
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", path);
    if (n == 0) break;
    out.append(buffer, static_cast<size_t>(n));
  }
  return out;
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t limit_bytes) {
  auto out = read_regular(path, limit_bytes);
  if (out.ok() && out->size() > limit_bytes)
    return Status(Code::kLimit, fmt::format("{} is larger than {} bytes", path, limit_bytes));
  return out;
}

Result<std::string> read_file_start(const std::string& path, size_t bytes) {
  auto out = read_regular(path, bytes);
  if (out.ok() && out->size() > bytes) out->resize(bytes);
  return out;
}

Status write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "write failed");
    data.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

namespace {

Result<std::string> write_temporary(const std::string& path, std::string_view data, uint32_t mode, bool durable) {
  std::string temporary = fmt::format("{}.tmp-{:016x}", path, random_u64());
  auto fd = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (!fd.ok()) return fd.status();
  Status status = write_all(fd->get(), data);
  if (status.ok() && durable && ::fsync(fd->get()) != 0) status = Status::from_errno(errno, "fsync failed", path);
  if (status.ok()) return temporary;
  remove_file(temporary);
  return status;
}

}  // namespace

void sync_path(const std::string& path) {
  auto fd = open_file(path, O_RDONLY);
  if (fd.ok()) ::fsync(fd->get());
}

Status write_file_atomic(const std::string& path, std::string_view data, uint32_t mode) {
  auto temporary = write_temporary(path, data, mode, true);
  if (!temporary.ok()) return temporary.status();
  if (::rename(temporary->c_str(), path.c_str()) != 0) {
    const int error = errno;
    remove_file(*temporary);
    return Status::from_errno(error, "cannot replace", path);
  }
  sync_path(parent_path(path));
  return {};
}

Status create_file_exclusive(const std::string& path, std::string_view data, uint32_t mode, bool durable) {
  auto temporary = write_temporary(path, data, mode, durable);
  if (!temporary.ok()) return temporary.status();
  // link(2) is atomic and fails if the name exists; where links are not supported, renameat2 has the same property.
  int result = ::link(temporary->c_str(), path.c_str());
  if (result != 0 && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS))
    result = ::renameat2(AT_FDCWD, temporary->c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  // Some FUSE and SMB mounts have neither. Two processes at the same instant may then both conclude that they created
  // the file.
  if (result != 0 && (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)) {
    if (path_exists(path)) errno = EEXIST;
    else result = ::rename(temporary->c_str(), path.c_str());
  }
  const int error = errno;
  remove_file(*temporary);
  if (result != 0) return Status::from_errno(error, "cannot create", path);
  if (durable) sync_path(parent_path(path));
  return {};
}

Status make_dirs(const std::string& path, uint32_t mode) {
  if (path.empty() || is_directory(path)) return {};
  Status made = make_dir(path, mode);
  if (made.system_errno() == ENOENT) {
    TRACKER_RETURN_IF_ERROR(make_dirs(parent_path(path), mode));
    made = make_dir(path, mode);
  }
  return made.system_errno() == EEXIST && is_directory(path) ? Status() : made;
}

Result<std::vector<std::string>> list_dir(const std::string& path) {
  std::vector<std::string> names;
  TRACKER_RETURN_IF_ERROR(visit_folder(path, [&](const dirent& entry) { names.emplace_back(entry.d_name); }));
  std::sort(names.begin(), names.end());
  return names;
}

bool may_be_read_later(const Status& status) {
  const int error = status.system_errno();
  return error != 0 && error != ELOOP && error != ENXIO && error != ENODEV && error != ENOENT && error != ENOTDIR &&
         error != EISDIR;
}

bool path_exists(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0;
}

bool is_directory(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

bool is_regular_file(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

FileKind file_kind(const std::string& path) {
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) return FileKind::kNone;
  if (S_ISLNK(st.st_mode)) return FileKind::kLink;
  return S_ISREG(st.st_mode) ? FileKind::kPlain : FileKind::kOther;
}

bool is_no_file(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode);
}

bool is_link(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode);
}

std::string absolute_path(const std::string& path) {
  if (!path.empty() && path.front() == '/') return path;
  char* cwd = ::getcwd(nullptr, 0);
  std::string out = cwd != nullptr && *cwd == '/' ? cwd : "";
  std::free(cwd);
  if (out.empty()) return out;
  return path.empty() ? out : join_path(out, path);
}

std::string parent_path(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string last_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string join_path(std::string_view a, std::string_view b) {
  std::string out(a);
  if (!out.empty() && out.back() != '/') out += '/';
  out += b;
  return out;
}

void remove_file(const std::string& path) { ::unlink(path.c_str()); }

bool is_leftover_name(std::string_view name) {
  constexpr size_t kMark = 5, kDigits = 16;
  if (name.ends_with("-journal")) name.remove_suffix(8);  // SQLite's journal of a database that is being made
  if (name.size() <= kMark + kDigits) return false;
  name.remove_prefix(name.size() - kMark - kDigits);
  return (name.starts_with(".tmp-") || name.starts_with(".new-")) &&
         name.find_first_not_of("0123456789abcdef", kMark) == std::string_view::npos;
}

std::vector<Leftover> list_leftovers(const std::string& folder, int64_t age_s) {
  std::vector<Leftover> out;
  auto names = list_dir(folder);
  if (!names.ok()) return out;
  for (const std::string& name : *names) {
    if (!is_leftover_name(name)) continue;
    const std::string path = join_path(folder, name);
    struct stat st;
    if (::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && ::time(nullptr) - st.st_mtime >= age_s)
      out.push_back({path, static_cast<uint64_t>(st.st_size)});
  }
  return out;
}

void remove_leftovers(const std::string& folder, int64_t age_s) {
  for (const Leftover& leftover : list_leftovers(folder, age_s)) remove_file(leftover.path);
}

namespace {

// Magic numbers of statfs(2), from linux/magic.h and the sources of the file systems. virtiofs reports FUSE's number.
struct FsMagic {
  uint32_t f_type;
  FsType type;
};
constexpr FsMagic kFsMagics[] = {
    {0x01021994, {FsKind::kTmpfs, "tmpfs"}},       {0x65735546, {FsKind::kFuse, "FUSE"}},
    {0x00006969, {FsKind::kNetwork, "NFS"}},       {0x0000517b, {FsKind::kNetwork, "SMB"}},
    {0xff534d42, {FsKind::kNetwork, "CIFS"}},      {0xfe534d42, {FsKind::kNetwork, "SMB2"}},
    {0x0bd00bd0, {FsKind::kNetwork, "Lustre"}},    {0x47504653, {FsKind::kNetwork, "GPFS"}},
    {0x00c36400, {FsKind::kNetwork, "CephFS"}},    {0x01021997, {FsKind::kNetwork, "9p"}},
    {0x5346414f, {FsKind::kNetwork, "AFS"}},       {0x6b414653, {FsKind::kNetwork, "AFS"}},
    {0x73757245, {FsKind::kNetwork, "Coda"}},      {0x19830326, {FsKind::kNetwork, "BeeGFS"}},
    {0xaad7aaea, {FsKind::kNetwork, "PanFS"}},     {0x20030528, {FsKind::kNetwork, "OrangeFS"}},
    {0x013111a8, {FsKind::kNetwork, "IBRIX"}},     {0xbeefdead, {FsKind::kNetwork, "StorNext"}},
    {0x01161970, {FsKind::kNetwork, "GFS2"}},      {0x7461636f, {FsKind::kNetwork, "OCFS2"}},
    {0x0000564c, {FsKind::kNetwork, "NCP"}},       {0xbacbacbc, {FsKind::kNetwork, "vmhgfs"}},
    {0x794c7630, {FsKind::kLocal, "local", true}}, {0x786f4256, {FsKind::kNetwork, "vboxsf"}},
    {0x7c7c6673, {FsKind::kNetwork, "prl_fs"}},
};

struct {
  std::string folder;
  uint32_t f_type = 0;
} g_fs_for_testing;

}  // namespace

FsType fs_type_of_magic(uint32_t f_type) {
  for (const FsMagic& magic : kFsMagics)
    if (magic.f_type == f_type) return magic.type;
  return {FsKind::kLocal, "local"};
}

void set_fs_type_for_testing(const std::string& folder, uint32_t f_type) { g_fs_for_testing = {folder, f_type}; }

FsType fs_type(const std::string& path) {
  std::string at = absolute_path(path);
  if (!g_fs_for_testing.folder.empty() && at.starts_with(g_fs_for_testing.folder))
    return fs_type_of_magic(g_fs_for_testing.f_type);
  struct statfs st;
  if (at.empty()) return {};
  while (::statfs(at.c_str(), &st) != 0) {
    if (at == "/" || errno != ENOENT) return {};
    at = parent_path(at);
  }
  return fs_type_of_magic(static_cast<uint32_t>(st.f_type));
}

std::optional<uint64_t> free_bytes(const std::string& path) {
  struct statfs st;
  if (::statfs(path.c_str(), &st) != 0 || st.f_blocks == 0) return std::nullopt;
  return static_cast<uint64_t>(st.f_bavail) * static_cast<uint64_t>(st.f_bsize);
}

namespace {

std::string g_cgroup_root_for_testing;

// The file of this process's cgroup and of the cgroups above it, innermost first, by its name in version 2 and 1.
std::vector<std::string> cgroup_files(const char* v2, const char* v1) {
  const std::string root = g_cgroup_root_for_testing.empty() ? "/sys/fs/cgroup" : g_cgroup_root_for_testing;
  std::vector<std::string> out;
  const auto own = read_file("/proc/self/cgroup", 1 << 16);
  for (size_t start = 0; own.ok() && start < own->size();) {
    const size_t end = std::min(own->find('\n', start), own->size());
    const std::string line = own->substr(start, end - start);
    start = end + 1;
    const size_t second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) continue;
    for (std::string group = line.substr(second + 1); group.size() > 1; group = parent_path(group)) {
      if (line.rfind("0::", 0) == 0) out.push_back(fmt::format("{}{}/{}", root, group, v2));
      else if (line.find(":memory:") != std::string::npos)
        out.push_back(fmt::format("{}/memory{}/{}", root, group, v1));
    }
  }
  out.push_back(root + "/" + v2);
  out.push_back(root + "/memory/" + v1);
  return out;
}

}  // namespace

void set_cgroup_root_for_testing(const std::string& root) { g_cgroup_root_for_testing = root; }

uint64_t cgroup_memory_limit() {
  uint64_t limit = UINT64_MAX;  // the limit of any ancestor applies too
  for (const std::string& path : cgroup_files("memory.max", "memory.limit_in_bytes")) {
    auto text = read_file(path, 64);
    if (!text.ok() || text->empty() || (*text)[0] < '0' || (*text)[0] > '9') continue;
    const uint64_t value = std::strtoull(text->c_str(), nullptr, 10);
    if (value > 0) limit = std::min(limit, value);
  }
  return limit;
}

std::optional<int64_t> read_oom_kills(const std::string& file) {
  const auto text = read_file(file, 4096);
  if (!text.ok()) return std::nullopt;
  const std::string_view name = "oom_kill ";
  size_t at = text->find(name);
  while (at != std::string::npos && at != 0 && (*text)[at - 1] != '\n') at = text->find(name, at + 1);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoll(text->c_str() + at + name.size(), nullptr, 10);
}

std::optional<OomKills> cgroup_oom_kills() {
  // "local" counts the group's own processes only; kernels before 5.2 have only the sum that includes the groups below
  // it.
  for (const char* v2 : {"memory.events.local", "memory.events"})
    for (const std::string& file : cgroup_files(v2, "memory.oom_control"))
      if (const auto count = read_oom_kills(file)) return OomKills{file, *count};
  return std::nullopt;
}

}  // namespace tracker::internal
