// SPDX-License-Identifier: MIT
#include "journal/ring/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/fs.h"
#include "base/shell_word.h"

namespace tracker::internal {
namespace {

constexpr const char* kNodeDisk = "/var/tmp";  // of this node, whatever the store lies on

std::string user_folder(const std::string& parent) {
  return join_path(parent, fmt::format("tracker-{}", static_cast<unsigned>(::geteuid())));
}

std::string shm_parent() {
  const char* named = std::getenv("TRACKER_SHM_DIR");
  return named != nullptr && *named != 0 ? named : "/dev/shm";
}

// What a mapped file may lie on: a network or FUSE file system stalls, or answers a page fault with SIGBUS.
Status check_mappable(const std::string& path) {
  const FsType type = fs_type(path);
  if (type.kind == FsKind::kLocal || type.kind == FsKind::kTmpfs) return {};
  return Status(Code::kUnsupported,
                type.kind == FsKind::kUnknown
                    ? fmt::format("the file system of {} is unknown", path)
                    : fmt::format("{} lies on a {} file system, which is never mapped", path, type.name));
}

void add_reason(JournalPlace* place, const std::string& reason) {
  if (!place->why.empty()) place->why += "; ";
  place->why += reason;
}

// min(24 MiB, 1/8 of the free space, 2 % of the container's memory): a 64 MB /dev/shm that DataLoader workers share
// stays theirs.
uint64_t shm_budget(const std::string& parent) {
  uint64_t budget = std::min(kJournalBytesMax, free_bytes(parent).value_or(0) / 8);
  const uint64_t limit = cgroup_memory_limit();
  if (limit != UINT64_MAX) budget = std::min(budget, limit / 50);
  return budget;
}

bool use_disk(const std::string& store_path, bool make, JournalPlace* place) {
  // In the store when it is on a local disk (nothing is written elsewhere, P9), else the node's own /var/tmp.
  std::string root = store_journal_root(store_path);
  if (const Status status = check_mappable(root); !status.ok()) {
    add_reason(place, status.message());
    root = user_folder(kNodeDisk);
  }
  Status status = check_mappable(root);
  if (status.ok() && make) status = make_dirs(parent_path(root));
  if (status.ok()) status = check_private_dir(root, make);
  if (!status.ok()) {
    add_reason(place, status.message());
    return false;
  }
  std::string there = root;  // not made yet: its disk is that of what is there
  while (!make && there != "/" && !path_exists(there)) there = parent_path(there);
  const uint64_t free = free_bytes(there).value_or(0);
  if (free / 8 < kJournalBytesMin) {
    add_reason(place, fmt::format("only {} MiB free in {}", free >> 20, root));
    return false;
  }
  place->kind = JournalKind::kDisk;
  place->root = root;
  place->budget_bytes = std::min(kJournalBytesMax, free / 8);
  return true;
}

// Whether a folder can be made at `path`, as far as its nearest parent that exists shows.
Status could_make(const std::string& path) {
  std::string parent = parent_path(path);
  while (parent != "/" && !path_exists(parent)) parent = parent_path(parent);
  if (!is_directory(parent)) return Status::from_errno(ENOTDIR, "cannot create", path);
  if (::faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return Status::from_errno(errno, "cannot create", path);
}

}  // namespace

const char* journal_kind_name(JournalKind kind) {
  return kind == JournalKind::kShm ? "shm" : kind == JournalKind::kDisk ? "disk" : "memory";
}

Status check_private_dir(const std::string& path, bool make) {
  struct stat there;
  if (!make && ::lstat(path.c_str(), &there) != 0 && (errno == ENOENT || errno == ENOTDIR)) return could_make(path);
  if (make && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return Status::from_errno(errno, "cannot create", path);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return Status::from_errno(errno, "cannot use", path);
  struct stat st;
  if (::fstat(fd.get(), &st) != 0) return Status::from_errno(errno, "cannot examine", path);
  if (st.st_uid != ::geteuid())
    return Status(Code::kInvalid,
                  fmt::format("{} is not a private folder of this user: it is of user id {}", path, st.st_uid),
                  "TRACKER_SHM_DIR names another parent; who removes what others have made there needs their rights");
  if ((st.st_mode & 077) != 0)
    return Status(Code::kInvalid,
                  fmt::format("{} is not a private folder of this user: its mode is {:o}", path, st.st_mode & 07777),
                  fmt::format("chmod 700 {}", shell_word(path)));
  return {};
}

JournalPlace choose_place(const std::string& wanted, const std::string& store_path, bool make) {
  JournalPlace place;
  if (wanted == "memory") return place;
  if (wanted != "disk") {
    const std::string parent = shm_parent();
    const std::string root = user_folder(parent);
    const uint64_t budget = is_directory(parent) ? shm_budget(parent) : 0;
    Status status = check_mappable(root);
    if (status.ok() && budget < kJournalBytesMin)
      status = Status(Code::kLimit,
                      fmt::format("{} allows {} KiB, below {} KiB", parent, budget >> 10, kJournalBytesMin >> 10));
    if (status.ok()) status = check_private_dir(root, make);
    if (status.ok()) return {JournalKind::kShm, root, budget, "", ""};
    place.why = status.message();
    place.to_do = status.hint();
  }
  if (!use_disk(store_path, make, &place)) place.kind = JournalKind::kMemory;
  return place;
}

std::string store_journal_root(const std::string& store_path) {
  std::string own = join_path(store_path, "journal");
  return is_shared_folder(store_path) ? fmt::format("{}-{}", own, static_cast<unsigned>(::geteuid())) : own;
}

std::vector<std::string> journal_roots(const std::string& store_path) {
  std::vector<std::string> out{user_folder(shm_parent()), store_journal_root(store_path), user_folder(kNodeDisk)};
  // Of before it was shared.
  if (std::string first = join_path(store_path, "journal"); first != out[1]) out.push_back(std::move(first));
  return out;
}

}  // namespace tracker::internal
