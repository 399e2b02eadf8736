// SPDX-License-Identifier: MIT
#include "artifact/source_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <vector>

#include "artifact/manifest.h"
#include "base/folder_entries.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "no regular file";
}

Status not_regular(const std::string& path, mode_t mode) {
  return Status(Code::kInvalid, fmt::format("{} is {}: an artifact holds regular files", path, kind_of(mode)),
                S_ISDIR(mode) ? "add it as a folder" : "");
}

Status cannot_look(const std::string& path, int error) {
  if (error == ELOOP) return Status(Code::kInvalid, fmt::format("{} is a loop of links", path));
  if (error == ENOENT && is_link(path)) return Status(Code::kInvalid, fmt::format("{} is a link to nothing", path));
  return Status::from_errno(error, "cannot read", path);
}

ListedFile listed(std::string path, const struct stat& st) {
  const SourceStamp stamp = SourceStamp::of(st);
  return {std::move(path), stamp.bytes, stamp.mtime_ns};
}

std::string real_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string out = resolved == nullptr ? "" : resolved;
  std::free(resolved);
  return out;
}

// The names in a folder, with "/" after those of folders: depth first is then the order of whole paths.
Result<std::vector<std::string>> sorted_names(const std::string& path) {
  std::vector<std::string> names;
  TRACKER_RETURN_IF_ERROR(visit_folder(path, [&](const dirent& entry) {
    std::string name = entry.d_name;
    struct stat st{};
    const bool is_folder =
        entry.d_type == DT_DIR ||
        (entry.d_type == DT_UNKNOWN && ::lstat(join_path(path, name).c_str(), &st) == 0 && S_ISDIR(st.st_mode));
    if (is_folder) name += '/';
    names.push_back(std::move(name));
  }));
  std::sort(names.begin(), names.end());
  return names;
}

// Another program's store.json is a file like any other.
bool is_store(const std::string& path) {
  const Status read = read_store_document(join_path(path, kStoreFile)).status();
  return read.ok() || read.code() == Code::kVersion;
}

class SourceWalk {
 public:
  SourceWalk(const std::string& folder, std::vector<std::string>* stores)
      : root_(folder), real_root_(real_path(folder)), stores_(stores) {}

  Result<FileList> run() {
    struct stat st{};
    if (::stat(root_.c_str(), &st) != 0) return cannot_look(root_, errno);
    if (!S_ISDIR(st.st_mode)) return Status(Code::kInvalid, fmt::format("{} is no folder", root_));
    TRACKER_RETURN_IF_ERROR(folder("", 0));
    return std::move(list_);
  }

 private:
  // A link counts as the file it leads to.
  Status follow(const std::string& path, struct stat* st) {
    if (::stat(path.c_str(), st) != 0) return cannot_look(path, errno);
    const std::string target = real_path(path);
    const bool within = real_root_ == "/" || (target + "/").starts_with(real_root_ + "/");
    if (!within)
      return Status(Code::kInvalid, fmt::format("{} is a link that leads out of the folder", path),
                    "add the file it leads to by itself");
    if (S_ISDIR(st->st_mode))
      return Status(Code::kInvalid, fmt::format("{} is a link to a folder", path), "add that folder by itself");
    return {};
  }

  Status folder(const std::string& below, int depth) {
    const std::string path = join_path(root_, below);
    if (depth > kFolderDepthMax)
      return Status(Code::kInvalid, fmt::format("{}: more than {} folders within each other", path, kFolderDepthMax));
    auto names = sorted_names(path);
    if (!names.ok()) return names.status();
    if (std::binary_search(names->begin(), names->end(), kStoreFile) && is_store(path)) {
      if (depth == 0)
        return Status(Code::kInvalid, fmt::format("{} is a store of tracker: it would hold itself, or change", root_),
                      "`tracker export --bundle` packs runs and artifacts");
      if (stores_ != nullptr) stores_->push_back(join_path(real_root_, below.substr(0, below.size() - 1)));
      return {};
    }
    for (const std::string& name : *names) TRACKER_RETURN_IF_ERROR(entry(below, name, depth));
    return {};
  }

  Status entry(const std::string& below, const std::string& name, int depth) {
    std::string path = below + name;
    if (name.back() == '/') return folder(path, depth + 1);
    const std::string at = join_path(root_, path);
    struct stat st{};
    if (::lstat(at.c_str(), &st) != 0) return cannot_look(at, errno);
    if (S_ISLNK(st.st_mode)) TRACKER_RETURN_IF_ERROR(follow(at, &st));
    if (!S_ISREG(st.st_mode)) return not_regular(at, st.st_mode);
    if (Status bad = check_artifact_path(path); !bad.ok())
      return Status(bad.code(), fmt::format("in {}: {}", root_, bad.message()), bad.hint());
    if (list_.size() >= kManifestEntriesMax)
      return Status(Code::kLimit, fmt::format("{} holds more than {} files", root_, kManifestEntriesMax));
    list_.add(listed(std::move(path), st));
    return {};
  }

  const std::string root_, real_root_;
  std::vector<std::string>* stores_;
  FileList list_;
};

// Opens within the folder, even if links change meanwhile. Kernels before 5.6 and some sandboxes have no openat2: there
// no link is opened.
Result<Fd> open_beneath(const std::string& folder, const std::string& path) {
  auto root = open_file(folder, O_PATH | O_DIRECTORY);
  if (!root.ok()) return root.status();
  constexpr uint64_t kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  struct open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, root->get(), path.c_str(), &how, sizeof how)));
  if (!fd && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
    fd = Fd(::openat(root->get(), path.c_str(), kFlags | O_NOFOLLOW));
  if (fd) return fd;
  const int error = errno;
  const std::string whole = join_path(folder, path);
  if (error == EXDEV) return Status(Code::kInvalid, fmt::format("{} is a link that leads out of the folder", whole));
  if (error == ENXIO) return Status(Code::kInvalid, fmt::format("{} is a socket or a device", whole));
  return cannot_look(whole, error);
}

}  // namespace

Result<ListedFile> look_at_file(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return cannot_look(path, errno);
  if (!S_ISREG(st.st_mode)) return not_regular(path, st.st_mode);
  return listed(path, st);
}

Result<FileList> list_files(const std::string& folder, std::vector<std::string>* stores) {
  return SourceWalk(folder, stores).run();
}

Result<FileList> look_at_files(const std::string& folder, std::vector<std::string> paths) {
  if (paths.size() > kManifestEntriesMax)
    return Status(Code::kLimit, fmt::format("an artifact has at most {} files", kManifestEntriesMax));
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  FileList out;
  for (std::string& path : paths) {
    TRACKER_RETURN_IF_ERROR(check_artifact_path(path));
    const std::string at = join_path(folder, path);
    struct stat st{};
    if (::lstat(at.c_str(), &st) != 0) return cannot_look(at, errno);
    if (S_ISLNK(st.st_mode)) return Status(Code::kInvalid, fmt::format("{} is a link", at));
    if (!S_ISREG(st.st_mode)) return not_regular(at, st.st_mode);
    out.add(listed(std::move(path), st));
  }
  return out;
}

Result<OpenedFile> open_source(const std::string& folder, const std::string& path) {
  OpenedFile out;
  auto fd = folder.empty() ? open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY) : open_beneath(folder, path);
  if (!fd.ok()) return fd.status();
  struct stat st{};
  const std::string whole = folder.empty() ? path : join_path(folder, path);
  if (::fstat(fd->get(), &st) != 0) return Status::from_errno(errno, "cannot read", whole);
  if (!S_ISREG(st.st_mode)) return not_regular(whole, st.st_mode);
  out.fd = std::move(*fd);
  out.stamp = SourceStamp::of(st);
  return out;
}

Result<SourceStamp> stamp_source(const std::string& folder, const std::string& path) {
  struct stat st{};
  const std::string whole = folder.empty() ? path : join_path(folder, path);
  if (::lstat(whole.c_str(), &st) != 0) return cannot_look(whole, errno);
  if (S_ISREG(st.st_mode)) return SourceStamp::of(st);
  auto opened = open_source(folder, path);
  if (!opened.ok()) return opened.status();
  return opened->stamp;
}

}  // namespace tracker::internal
