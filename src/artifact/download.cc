// SPDX-License-Identifier: MIT
// Downloads: writes files of a version below a folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "artifact/artifact_store.h"
#include "base/ids.h"
#include "model/key.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kFileMode = 0666, kFolderMode = 0777;
constexpr size_t kBufferBytes = 1 << 20;
constexpr uint64_t kDownloadBlockBytes = 4096;

// In the order of the manifest.
Status visit_chosen(const Store& store, const ArtifactVersion& version, const DownloadChoice& choice,
                    const std::function<Status(const ManifestEntry&)>& visit) {
  if (choice.one != nullptr) return visit(*choice.one);
  const auto manifest = StoredManifest::open(store, version.manifest);
  if (!manifest.ok()) return manifest.status();
  return manifest->visit(
      [&](const ManifestEntry& entry) { return entry.path.starts_with(choice.prefix) ? visit(entry) : Status(); });
}

class Download {
 public:
  Download(const Store& store, const std::string& root, const ArtifactProgress& progress)
      : blobs_(store.path()), cache_(store.path()), root_(root), progress_(progress) {}

  Status begin() {
    TRACKER_RETURN_IF_ERROR(make_dirs(root_));
    auto fd = open_file(root_, O_RDONLY | O_DIRECTORY);
    if (!fd.ok()) return fd.status();
    folder_ = std::move(*fd);
    return {};
  }

  Status entry(const ManifestEntry& entry) {
    if (entry.kind == EntryKind::kReference) {
      report_.references.push_back(entry.path);
      return {};
    }
    if (const auto above = clashes_.add(entry.path); !above.empty())
      return Status(Code::kCorrupt, clash_status(entry.path, above).message(),
                    fmt::format("download what is below it into a folder of its own: path_prefix=\"{}/\"", above));
    const size_t slash = entry.path.find_last_of('/');
    const std::string name = entry.path.substr(slash == std::string::npos ? 0 : slash + 1);
    auto folder = open_folder(slash == std::string::npos ? "" : entry.path.substr(0, slash));
    if (!folder.ok()) return folder.status();
    if (is_there(folder->get(), name, entry)) {
      ++report_.kept;
      bytes_done_ += entry.bytes;
      show_progress(0);
      return {};
    }
    const std::string temporary = fmt::format("tracker.tmp-{:016x}", random_u64());
    const Status status = write(folder->get(), name, temporary, entry);
    if (!status.ok()) ::unlinkat(folder->get(), temporary.c_str(), 0);
    if (!status.ok()) return status;
    ++report_.files;
    report_.bytes += entry.bytes;
    bytes_done_ += entry.bytes;
    show_progress(0);
    return {};
  }

  DownloadReport take() { return std::move(report_); }

 private:
  void show_progress(uint64_t of_this_file) const {
    if (progress_) progress_(report_.files + report_.kept, bytes_done_ + of_this_file);
  }

  // Opens one part of the path after the other and follows no link.
  Result<Fd> open_folder(const std::string& below) {
    Fd at(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
    for (size_t start = 0; start < below.size();) {
      const size_t end = std::min(below.find('/', start), below.size());
      const std::string part = below.substr(start, end - start);
      if (::mkdirat(at.get(), part.c_str(), kFolderMode) != 0 && errno != EEXIST)
        return Status::from_errno(errno, "cannot make a folder in", join_path(root_, below));
      Fd next(::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!next)
        return Status(Code::kInvalid, fmt::format("{} is no folder: nothing is written through links",
                                                  join_path(root_, below.substr(0, end))));
      at = std::move(next);
      start = end + 1;
    }
    if (!at) return Status::from_errno(errno, "cannot open", root_);
    return at;
  }

  bool is_there(int folder, const std::string& name, const ManifestEntry& entry) {
    struct stat st{};
    if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) return false;
    if (static_cast<uint64_t>(st.st_size) != entry.bytes) return false;
    const auto known = cache_.find(SourceStamp::of(st));
    return known && *known == entry.digest;
  }

  Status write(int folder, const std::string& name, const std::string& temporary, const ManifestEntry& entry) {
    const std::string path = join_path(root_, entry.path);
    auto source = blobs_.open(entry.digest);
    if (!source.ok())
      return Status(source.status().code(), fmt::format("{}: {}", entry.path, source.status().message()));
    Fd target(::openat(folder, temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (!target) return Status::from_errno(errno, "cannot write", path);
    TRACKER_RETURN_IF_ERROR(copy(*source, target, entry, path));
    // The original time: a later change of the file gives it another one, and make does not see a newer file.
    const timespec mtime{entry.mtime_us / 1'000'000, entry.mtime_us % 1'000'000 * 1000};
    const timespec times[2] = {{0, UTIME_OMIT}, mtime};
    if (mtime.tv_sec >= 0 && mtime.tv_nsec >= 0) (void)::futimens(target.get(), times);
    if (::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0)
      return Status::from_errno(errno, "cannot write", path);
    struct stat st{};
    if (::fstat(target.get(), &st) == 0 && mtime.tv_sec > 0) cache_.put(SourceStamp::of(st), entry.digest);
    return {};
  }

  // A clone is read too: a damaged blob must not become a checkpoint.
  Status copy(const Fd& source, const Fd& target, const ManifestEntry& entry, const std::string& path) {
    const bool cloned = entry.bytes > 0 && ::ioctl(target.get(), FICLONE, source.get()) == 0;
    if (buffer_.empty()) buffer_.resize(kBufferBytes);
    Sha256 hash;
    uint64_t done = 0;
    for (;;) {
      const ssize_t n = ::pread(source.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Status::from_errno(errno, "cannot read", blobs_.path_of(entry.digest));
      if (n == 0) break;
      const std::string_view read(buffer_.data(), static_cast<size_t>(n));
      hash.update(read);
      done += static_cast<uint64_t>(n);
      show_progress(done);
      if (cloned) continue;
      if (const Status status = write_all(target.get(), read); !status.ok())
        return Status::from_errno(status.system_errno(), "cannot write", path);
    }
    if (done == entry.bytes && hash.finish() == entry.digest) return {};
    cache_.forget(entry.digest);
    return Status(Code::kCorrupt, fmt::format("{}: the blob {} is damaged", entry.path, entry.digest.hex()),
                  "nothing was written under that name");
  }

  BlobStore blobs_;
  DigestCache cache_;
  ClashFinder clashes_;
  const std::string root_;
  Fd folder_;
  const ArtifactProgress& progress_;
  uint64_t bytes_done_ = 0;  // of the files before this one
  std::vector<char> buffer_;
  DownloadReport report_;
};

}  // namespace

std::string download_folder(const Store& store, const ArtifactInfo& info, const ArtifactVersion& version) {
  return join_path(
      join_path(join_path(join_path(store.path(), "downloads"), folder_name(info.project)), folder_name(info.name)),
      version.name());
}

Result<DownloadReport> download_artifact(const Store& store, const ArtifactVersion& version, const std::string& root,
                                         const DownloadChoice& choice, const ArtifactProgress& progress) {
  const std::string absolute = absolute_path(root);
  if (absolute.empty())
    return Status(Code::kInvalid, "the working directory was deleted", "name the folder from \"/\" on");
  Download download(store, absolute, progress);
  TRACKER_RETURN_IF_ERROR(download.begin());
  TRACKER_RETURN_IF_ERROR(
      visit_chosen(store, version, choice, [&](const ManifestEntry& entry) { return download.entry(entry); }));
  return download.take();
}

Result<uint64_t> new_download_bytes(const Store& store, const ArtifactVersion& version, const std::string& root,
                                    const DownloadChoice& choice) {
  uint64_t out = 0;
  const Status status = visit_chosen(store, version, choice, [&](const ManifestEntry& entry) {
    if (entry.kind == EntryKind::kReference) return Status();
    struct stat st{};
    const bool there = ::lstat(join_path(root, entry.path).c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
                       static_cast<uint64_t>(st.st_size) == entry.bytes;
    if (!there) out += (entry.bytes + kDownloadBlockBytes - 1) / kDownloadBlockBytes * kDownloadBlockBytes;
    return Status();
  });
  if (!status.ok()) return status;
  return out;
}

Result<DownloadReport> download_into_store(const Store& store, const ArtifactInfo& info, const ArtifactVersion& version,
                                           const DownloadChoice& choice) {
  const std::string folder = download_folder(store, info, version);
  auto report = download_artifact(store, version, folder, choice);
  if (report.ok() || report.status().system_errno() == 0) return report;
  return Status(report.status().code(),
                fmt::format("{}: {} is in the store, which takes no files", report.status().message(), folder),
                "name a folder of your own: download(\"data\")");
}

}  // namespace tracker::internal
