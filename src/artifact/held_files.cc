// SPDX-License-Identifier: MIT
#include "artifact/held_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <vector>

#include "artifact/artifact_store.h"
#include "artifact/blob_store.h"
#include "artifact/snapshot.h"
#include "base/fs.h"
#include "base/ids.h"

namespace tracker::internal {
namespace {

constexpr size_t kCopyBufferBytes = 1 << 20;

std::atomic<int> g_open{0};

// A forked child does not remove it: it is its parent's.
struct Staging {
  std::string folder;
  std::shared_ptr<NameLease> held;
  pid_t made_by = ::getpid();
  Staging(std::string path, std::shared_ptr<NameLease> name) : folder(std::move(path)), held(std::move(name)) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    if (::getpid() == made_by) remove_staging(folder);
  }
};

Result<SourceStamp> stamp_of(int fd) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return Status::from_errno(errno, "cannot read a held file");
  return SourceStamp::of(st);
}

// As artifacts do.
bool leaves_room(const std::string& folder, uint64_t bytes) {
  struct statvfs st{};
  if (::statvfs(folder.c_str(), &st) != 0) return true;
  const uint64_t free = uint64_t{st.f_bavail} * st.f_frsize, size = uint64_t{st.f_blocks} * st.f_frsize;
  return free >= bytes && free - bytes >= std::min(kArtifactFreeBytesMin, size / kArtifactFreeShare);
}

bool copy_bytes(int from, int to, uint64_t bytes) {
  std::vector<char> buffer(kCopyBufferBytes);
  uint64_t done = 0;
  for (;;) {
    const ssize_t n = ::pread(from, buffer.data(), buffer.size(), static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || done + static_cast<uint64_t>(n) > bytes) return false;
    if (n == 0) return done == bytes;
    if (!write_all(to, {buffer.data(), static_cast<size_t>(n)}).ok()) return false;
    done += static_cast<uint64_t>(n);
  }
}

}  // namespace

Result<std::string> make_staging(const std::string& store_path, std::shared_ptr<NameLease>* held) {
  const std::string above = join_path(store_path, kStagingFolder);
  TRACKER_RETURN_IF_ERROR(make_dirs(above));
  const std::string name = fmt::format("artifact-{:08x}", static_cast<uint32_t>(random_u64()));
  *held = std::make_shared<NameLease>(above, name);
  std::string folder = join_path(above, name);
  TRACKER_RETURN_IF_ERROR(make_dirs(folder, 0700));
  return folder;
}

void remove_staging(const std::string& folder) {
  if (folder.empty()) return;
  if (const auto names = list_dir(folder); names.ok())
    for (const std::string& name : *names) remove_file(join_path(folder, name));
  (void)::rmdir(folder.c_str());
}

HeldFile::~HeldFile() {
  if (file) --g_open;
}

Result<OpenedFile> HeldFile::open() const {
  if (is_copy()) return open_source("", copy);
  if (!file.is_ours()) return Status(Code::kNotFound, "the file was closed by other code of the process");
  OpenedFile out;
  out.fd = Fd(above_standard(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)));
  if (!out.fd) return Status::from_errno(errno, "cannot read a held file");
  const auto stamp = stamp_of(out.fd.get());
  if (!stamp.ok()) return stamp.status();
  out.stamp = *stamp;
  return out;
}

HeldFiles::~HeldFiles() = default;

std::optional<Digest> HeldFiles::known(const SourceStamp& stamp) const {
  if (cache_ == nullptr) return std::nullopt;
  auto digest = cache_->find(stamp);
  if (digest && !BlobStore(store_path_).keep(*digest, stamp.bytes)) digest.reset();
  return digest;
}

bool HeldFiles::has_room(uint64_t files, uint64_t bytes) const {
  return files_ + files <= kHeldFilesMax && copied_bytes_ + bytes <= kCopiedInCallBytesMax;
}

bool HeldFiles::make_folder() {
  if (staging_ != nullptr || has_failed_) return staging_ != nullptr;
  std::shared_ptr<NameLease> held;
  const auto folder = make_staging(store_path_, &held);
  has_failed_ = !folder.ok();
  if (has_failed_) return false;
  folder_ = *folder;
  staging_ = std::make_shared<Staging>(folder_, std::move(held));
  return true;
}

bool HeldFiles::copy(const OpenedFile& source, bool may_read, HeldFile* out) {
  if (!make_folder()) return false;
  const std::string path = join_path(folder_, fmt::format("held-{}", files_));
  auto target = open_file(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!target.ok()) return false;
  const uint64_t bytes = source.stamp.bytes;
  bool whole = bytes > 0 && ::ioctl(target->get(), FICLONE, source.fd.get()) == 0;
  if (!whole && may_read && leaves_room(folder_, bytes)) {
    whole = copy_bytes(source.fd.get(), target->get(), bytes);
    if (whole) copied_bytes_ += bytes;
  }
  const auto after = stamp_of(source.fd.get());
  whole = whole && after.ok() && after->bytes == bytes && after->mtime_ns == source.stamp.mtime_ns;
  if (!whole) {
    remove_file(path);
    return false;
  }
  out->copy = path;
  out->staging = staging_;
  return true;
}

std::shared_ptr<HeldFile> HeldFiles::hold(const std::string& folder, const ListedFile& file, HoldBy by) {
  if (files_ >= kHeldFilesMax) return nullptr;
  auto source = open_source(folder, file.path);
  if (!source.ok()) return nullptr;  // the later reading reports it
  if (source->stamp.bytes != file.bytes || source->stamp.mtime_ns != file.mtime_ns) return nullptr;
  if (cache_ == nullptr && !store_path_.empty()) cache_ = std::make_unique<DigestCache>(store_path_);
  ++files_;
  auto out = std::make_shared<HeldFile>();
  if ((out->known = known(source->stamp))) return out;
  const bool fits = by == HoldBy::kCopy || has_room(0, file.bytes);
  // Its writer has not finished: the thread that stores reads such a file twice.
  const bool wanted = by == HoldBy::kCopy || (by == HoldBy::kAuto && may_copy_);
  const bool copies = wanted && !store_path_.empty() && !is_open_for_writing(source->fd);
  if (copies && copy(*source, fits, out.get())) return out;
  if (++g_open > kHeldOpenMax) {
    --g_open;
    return nullptr;
  }
  out->file = GuardedFd(std::move(source->fd));
  return out;
}

}  // namespace tracker::internal
