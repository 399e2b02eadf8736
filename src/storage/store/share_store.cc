// SPDX-License-Identifier: MIT
#include "storage/store/share_store.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kGroupBytesMax = 1 << 20;  // of a group with its members
constexpr std::string_view kStagedFiles = "artifact-";

std::optional<gid_t> group_id(const std::string& group) {
  std::vector<char> buffer(kGroupBytesMax);
  struct group entry{}, *found = nullptr;
  if (::getgrnam_r(group.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->gr_gid;
  gid_t id = 0;
  const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), id);
  return error == std::errc() && end == group.data() + group.size() ? std::optional(id) : std::nullopt;
}

std::string group_name(gid_t id) {
  std::vector<char> buffer(kGroupBytesMax);
  struct group entry{}, *found = nullptr;
  const bool known = ::getgrgid_r(id, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? found->gr_name : fmt::format("{}", id);
}

// Journals, files that are being written for an artifact, and a server's own files.
bool stays_private(const std::string& name) {
  return name.starts_with("journal") || name.starts_with(kStagedFiles) || name.starts_with("server.db") ||
         name.starts_with("ingest.db") || name == "uploads";
}

struct Sharing {
  gid_t group;
  SharedStore out;

  // Returns false if it is another user's.
  bool share(const std::string& path, const struct stat& st) const {
    // First the group: changing it may clear setgid.
    if (st.st_gid != group && ::lchown(path.c_str(), static_cast<uid_t>(-1), group) != 0) return false;
    const mode_t owner = st.st_mode & S_IRWXU;
    const mode_t mode = owner | owner >> 3 | (st.st_mode & (S_IROTH | S_IXOTH)) | (S_ISDIR(st.st_mode) ? S_ISGID : 0);
    return (st.st_mode & 07777) == mode || ::chmod(path.c_str(), mode) == 0;
  }

  void share_below(const std::string& folder, bool is_top) {
    for (const std::string& name : list_dir(folder).value_or({})) {
      if ((is_top || name.starts_with(kStagedFiles)) && stays_private(name)) continue;
      const std::string path = join_path(folder, name);
      struct stat st{};
      if (::lstat(path.c_str(), &st) != 0 || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) continue;
      if (!share(path, st)) ++out.of_others;
      if (S_ISDIR(st.st_mode)) share_below(path, false);
    }
  }
};

// The nearest folder above that only its owner may pass through.
std::string closed_above(const std::string& path) {
  for (std::string at = parent_path(path); at != "/"; at = parent_path(at)) {
    struct stat st{};
    if (::stat(at.c_str(), &st) == 0 && (st.st_mode & (S_IXGRP | S_IXOTH)) == 0) return at;
  }
  return "";
}

std::string in_shell(const std::string& path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%,";
  if (!path.empty() && path.find_first_not_of(kPlain) == std::string::npos) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Result<SharedStore> share_store(const std::string& path, const std::string& group) {
  const auto named = group.empty() ? std::optional<gid_t>(0) : group_id(group);
  if (!named) return Status(Code::kInvalid, fmt::format("there is no group \"{}\"", group), "`id -nG` lists yours");
  const bool is_new = !path_exists(path);
  if (is_new) {
    TRACKER_RETURN_IF_ERROR(make_dirs(parent_path(path)));
    TRACKER_RETURN_IF_ERROR(make_dirs(path, 0700));
  }
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return Status::from_errno(errno, "cannot examine", path);
  Sharing sharing{group.empty() ? st.st_gid : *named, {}};
  sharing.out.group = group_name(sharing.group);
  if (!sharing.share(path, st)) {
    const Status why = Status::from_errno(errno, "cannot share", path);
    if (is_new) (void)::rmdir(path.c_str());
    return st.st_uid == ::geteuid()
               ? Status(Code::kIo, fmt::format("{}: you are not in the group {}", why.message(), sharing.out.group),
                        "`id -nG` lists yours; nothing was changed")
               : Status(Code::kIo, fmt::format("{}: it is of user id {}", why.message(), st.st_uid),
                        "its owner runs the same command; nothing was changed");
  }
  const auto store = Store::open_or_create(path);
  if (!store.ok()) return store.status();
  TRACKER_RETURN_IF_ERROR(make_dirs(join_path(path, kRunsFolder)));
  sharing.share_below(path, true);
  sharing.out.closed_above = closed_above(path);
  return sharing.out;
}

std::string way_into(const std::string& path) {
  return fmt::format("its owner lets a group in: `tracker init --shared --group GROUP --dir {}`", in_shell(path));
}

Status with_way_into(Status status, const std::string& path) {
  const int error = status.system_errno();
  if (!status.hint().empty() || (error != EACCES && error != EPERM)) return status;
  return Status(status.code(), status.message(), way_into(path));
}

}  // namespace tracker::internal
