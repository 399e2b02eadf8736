// SPDX-License-Identifier: MIT
#include "storage/catalog/catalog_scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/crc32c.h"
#include "base/fs.h"

namespace tracker::internal {
namespace {

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

CatalogSign sign_of(const struct stat& st) {
  CatalogSign sign;
  sign.inode = static_cast<int64_t>(st.st_ino);
  sign.ctime_ns = nanoseconds(st.st_ctim);
  sign.mtime_ns = nanoseconds(st.st_mtim);
  return sign;
}

}  // namespace

std::string catalog_judge() {
  const WriterIdentity self = this_process();
  return fmt::format("{} {}", self.host, self.boot_id);
}

std::optional<CatalogSign> folder_sign(const std::string& path) { return folder_sign_at(AT_FDCWD, path); }

std::optional<CatalogSign> folder_sign_at(int parent, const std::string& name) {
  struct stat st{};
  if (::fstatat(parent, name.c_str(), &st, 0) != 0 || !S_ISDIR(st.st_mode)) return std::nullopt;
  return sign_of(st);
}

CatalogFiles look_at_files(const std::string& folder) {
  CatalogFiles out;
  std::string all;
  const auto names = list_dir(folder);
  if (!names.ok()) return out;
  for (const std::string& name : *names) {
    const bool database = name.ends_with(".db"), wal = name.ends_with(".db-wal"), frames = name.ends_with(".frames");
    out.leftovers = out.leftovers || wal || frames || name.ends_with(".db-shm") || name.ends_with(".db-journal");
    if (!database && !wal && !frames) continue;
    struct stat st{};
    if (::stat(join_path(folder, name).c_str(), &st) != 0) continue;
    // Not the inode's change time: a SQLite that opens a WAL as root sets its owner, which changes that time.
    const CatalogSign sign = sign_of(st);
    all += fmt::format("{} {} {} {}\n", name, sign.inode, st.st_size, sign.mtime_ns);
    out.newest_ns = std::max(out.newest_ns, sign.mtime_ns);
  }
  const Id128 hash = Id128::hash_of(all);
  for (size_t i = 0; i < 7; ++i) out.hash = out.hash << 8 | hash.bytes[i];
  out.hash += 1;
  return out;
}

bool still_holds(const CatalogSign& known, const CatalogSign& seen, const std::string& path, const std::string& judge) {
  switch (known.trust) {
    case CatalogTrust::kNone: return false;
    case CatalogTrust::kFolder:
      return known.inode == seen.inode && known.ctime_ns == seen.ctime_ns && known.mtime_ns == seen.mtime_ns;
    case CatalogTrust::kFiles:
      return known.inode == seen.inode && known.judged_by == judge && known.files == look_at_files(path).hash;
  }
  return false;
}

CatalogTrust trust_of(const CatalogRecord& record, const CatalogSign& seen, const CatalogFiles& files, int64_t now_us) {
  const int64_t newest_us = std::max({seen.ctime_ns, seen.mtime_ns, files.newest_ns}) / 1000;
  if (!record.problems.empty() || record.live || newest_us > now_us - kCatalogRacy.count()) return CatalogTrust::kNone;
  if (record.at_rest) return files.leftovers ? CatalogTrust::kFiles : CatalogTrust::kFolder;
  return record.last_seen_us < now_us - kCatalogSilent.count() ? CatalogTrust::kFiles : CatalogTrust::kNone;
}

}  // namespace tracker::internal
