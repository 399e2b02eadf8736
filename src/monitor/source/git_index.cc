// SPDX-License-Identifier: MIT
// The dirty flag: git's index (gitformat-index(5), versions 2 to 4) against the files it names. A file whose size and
// times are those of the index is the same, unless it may have been written in the moment the index was; one of the
// same size and other times is read, and its SHA-1 compared. What filters change on the way to the index (autocrlf,
// LFS) is then unknown.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/fs.h"
#include "monitor/host/text_files.h"
#include "monitor/source/git.h"
#include "monitor/source/sha1.h"

namespace tracker::internal {
namespace {

constexpr size_t kIndexHeadBytes = 12, kNameBytes = 20, kIndexEntryBytes = 62;
constexpr uint32_t kTypeMask = 0170000, kTypeLink = 0120000, kTypeGitlink = 0160000, kTypeFolder = 0040000;

uint32_t u32_at(std::string_view bytes, size_t at) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<uint8_t>(bytes[at + i]);
  return out;
}

struct IndexEntry {
  uint32_t mtime_s = 0, mtime_ns = 0, mode = 0, size = 0;
  std::string_view object;
  bool ignored = false;  // assumed unchanged, or not checked out
  bool unmerged = false;
  std::string path;
};

// Entries one after the other; ok() is false once something was read that is no index of a known version.
class Index {
 public:
  explicit Index(std::string_view bytes) : bytes_(bytes) {
    if (bytes_.size() < kIndexHeadBytes + kNameBytes || bytes_.substr(0, 4) != "DIRC") return;
    version_ = u32_at(bytes_, 4);
    count_ = u32_at(bytes_, 8);
    ok_ = version_ >= 2 && version_ <= 4;
    end_ = bytes_.size() - kNameBytes;
  }
  bool ok() const { return ok_; }
  uint32_t count() const { return count_; }
  size_t at() const { return at_; }
  size_t end() const { return end_; }

  bool next(IndexEntry* out) {
    ok_ = ok_ && end_ - at_ >= kIndexEntryBytes;
    if (!ok_) return false;
    const size_t begin = at_;
    out->mtime_s = u32_at(bytes_, begin + 8), out->mtime_ns = u32_at(bytes_, begin + 12);
    out->mode = u32_at(bytes_, begin + 24), out->size = u32_at(bytes_, begin + 36);
    out->object = bytes_.substr(begin + 40, kNameBytes);
    const uint32_t flags = u32_at(bytes_, begin + 58) & 0xffff;  // the last two of the entry's bytes
    return next_name(begin, flags, out);
  }

 private:
  bool next_name(size_t begin, uint32_t flags, IndexEntry* out) {
    size_t at = begin + kIndexEntryBytes;
    out->ignored = (flags & 0x8000) != 0;
    out->unmerged = (flags & 0x3000) != 0;
    if ((flags & 0x4000) != 0) {  // extended flags
      if (version_ < 3 || end_ - at < 2) return ok_ = false;
      out->ignored |= (static_cast<uint8_t>(bytes_[at]) & 0x40) != 0;  // skip-worktree
      at += 2;
    }
    if (version_ == 4) {  // the path before, less so many bytes, and what follows
      size_t cut = 0;
      for (bool more = true, first = true; more; first = false) {
        if (at >= end_ || cut > out->path.size()) return ok_ = false;
        const auto byte = static_cast<uint8_t>(bytes_[at++]);
        if (!first) ++cut;
        cut = cut << 7 | (byte & 0x7f);
        more = (byte & 0x80) != 0;
      }
      if (cut > out->path.size()) return ok_ = false;
      out->path.resize(out->path.size() - cut);
    } else {
      out->path.clear();
    }
    const size_t zero = bytes_.substr(0, end_).find('\0', at);
    if (zero == std::string_view::npos) return ok_ = false;
    out->path += bytes_.substr(at, zero - at);
    at_ = version_ == 4 ? zero + 1 : begin + (zero - begin + 8) / 8 * 8;
    return ok_ = at_ <= end_;
  }

  std::string_view bytes_;
  uint32_t version_ = 0, count_ = 0;
  size_t at_ = kIndexHeadBytes, end_ = 0;
  bool ok_ = false;
};

// true: the index is as its commit was written; false: something was staged; nullopt: the index does not say, or is
// split over files.
std::optional<bool> is_as_committed(std::string_view bytes, size_t at, size_t end) {
  std::optional<bool> out;
  while (end - at >= 8) {
    const std::string_view name = bytes.substr(at, 4);
    const size_t size = u32_at(bytes, at + 4);
    if (size > end - at - 8) return std::nullopt;
    if (name == "link") return std::nullopt;
    // The cached tree: the root's path (empty), a zero byte, the entries it covers, "-1" where it is out of date.
    if (name == "TREE" && size >= 2) out = bytes[at + 8] == '\0' && bytes[at + 9] != '-';
    at += 8 + size;
  }
  return out;
}

Sha1Digest digest_of(std::string_view content) {
  Sha1 out;
  out.add("blob " + std::to_string(content.size()) + std::string(1, '\0'));
  out.add(content);
  return out.finish();
}

// `filtered`: other bytes are no proof of a change.
std::optional<bool> same_content(const std::string& path, const IndexEntry& entry, bool filtered) {
  const auto content = read_file(path, kGitFileBytesMax);
  if (!content.ok()) return std::nullopt;
  const Sha1Digest digest = digest_of(*content);
  if (std::memcmp(digest.data(), entry.object.data(), kNameBytes) == 0) return true;
  return filtered ? std::nullopt : std::optional<bool>(false);
}

// Whether the file is what the index says; nullopt: not known.
std::optional<bool> is_same(const std::string& path, const IndexEntry& entry, const struct stat& index, bool filtered) {
  struct stat now{};
  if (::lstat(path.c_str(), &now) != 0) return false;
  if ((entry.mode & kTypeMask) != (now.st_mode & kTypeMask)) return false;
  if ((entry.mode & kTypeMask) == kTypeLink) {
    char target[4096];
    const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    const Sha1Digest digest = digest_of({target, static_cast<size_t>(std::max<ssize_t>(n, 0))});
    return std::memcmp(digest.data(), entry.object.data(), kNameBytes) == 0;
  }
  if ((entry.mode & 0100) != (now.st_mode & 0100)) return false;
  const bool same_time = entry.mtime_s == static_cast<uint32_t>(now.st_mtim.tv_sec) &&
                         (entry.mtime_ns == 0 || entry.mtime_ns == static_cast<uint32_t>(now.st_mtim.tv_nsec));
  const bool same_size = entry.size == static_cast<uint32_t>(now.st_size);
  const bool racy = now.st_mtim.tv_sec > index.st_mtim.tv_sec ||
                    (now.st_mtim.tv_sec == index.st_mtim.tv_sec && now.st_mtim.tv_nsec >= index.st_mtim.tv_nsec);
  if (same_time && same_size && !racy) return true;
  // Size 0 is also what git writes for a file whose content it has to compare.
  if (!same_size && entry.size != 0) return false;
  return same_content(path, entry, filtered);
}

}  // namespace

std::optional<bool> git_is_dirty(const GitFolder& where, std::chrono::steady_clock::time_point (*now)()) {
  const std::string path = join_path(where.git, "index");
  struct stat index_stat{};
  const auto bytes = read_file(path, kGitIndexBytesMax);
  if (!bytes.ok() || ::stat(path.c_str(), &index_stat) != 0) return std::nullopt;
  if (text_of_file(join_path(where.common, "config")).find("sha256") != std::string::npos) return std::nullopt;
  // Where filters may be between a file and the index.
  const bool filtered = path_exists(join_path(where.work, ".gitattributes")) ||
                        path_exists(join_path(where.common, "info/attributes")) ||
                        text_of_file(join_path(where.common, "config")).find("autocrlf") != std::string::npos;
  Index index(*bytes);
  if (!index.ok() || index.count() > kGitEntriesMax) return std::nullopt;
  const auto deadline = now() + kGitIndexTimeMax;
  bool known = true, dirty = false;
  IndexEntry entry;
  for (uint32_t i = 0; i < index.count(); ++i) {
    if (!index.next(&entry)) return std::nullopt;
    if (dirty) continue;  // the end of the entries is still to be found
    if (entry.unmerged) dirty = true;
    const uint32_t type = entry.mode & kTypeMask;
    if (entry.ignored || type == kTypeGitlink || type == kTypeFolder) continue;
    if (now() > deadline) return std::nullopt;
    const auto same = is_same(join_path(where.work, entry.path), entry, index_stat, filtered);
    if (!same) known = false;
    else if (!*same) dirty = true;
  }
  if (dirty) return true;
  const auto committed = is_as_committed(*bytes, index.at(), index.end());
  if (committed && !*committed) return true;
  if (!known || !committed) return std::nullopt;
  return false;
}

}  // namespace tracker::internal
