// SPDX-License-Identifier: MIT
#include "storage/database/put_back.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/fs.h"
#include "base/ids.h"
#include "storage/database/schema.h"
#include "storage/database/writer_parts.h"
#include "storage/log/ring_positions.h"
#include "storage/sqlite/wal_scan.h"

namespace tracker::internal {
namespace {

constexpr size_t kCopyBytes = 128 << 10;

std::string new_name(const std::string& path) { return fmt::format("{}.new-{:016x}", path, random_u64()); }

// A copy of what the writer has made: nothing is in it that ours has not.
bool is_database_of(const std::string& path, const Id128& writer) {
  if (!is_regular_file(path)) return false;
  auto db = Sqlite::open(path, SqliteOpen::kReadImmutable, 0);
  if (!db.ok() || !check_database(*db, path).ok()) return false;
  std::string damage;  // of the counts
  const auto meta = read_meta(*db, path, &damage);
  return meta.ok() && meta->identity.writer == writer;
}

Status take_name(const std::string& made, const std::string& path, bool is_copy) {
  if (!is_copy) TRACKER_RETURN_IF_ERROR(set_other_file_aside(path));
  if (::rename(made.c_str(), path.c_str()) != 0) return Status::from_errno(errno, "cannot put back", path);
  sync_path(parent_path(path));
  return {};
}

Status check_copy(Sqlite& copy, const std::string& path) {
  const auto found = copy.query_text("PRAGMA quick_check(1)");
  if (found.ok() && *found == "ok") return {};
  return Status(Code::kCorrupt, path + " was overwritten while it is written, and what it held is gone; what was " +
                                    "logged since stays in the journal");
}

Status copy_bytes(int from, int to, uint64_t bytes, const std::string& path) {
  std::string buffer(kCopyBytes, '\0');
  for (uint64_t at = 0; at < bytes;) {
    const ssize_t n = ::pread(from, buffer.data(), std::min<uint64_t>(kCopyBytes, bytes - at), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status::from_errno(n < 0 ? errno : EIO, "cannot read", path);
    TRACKER_RETURN_IF_ERROR(write_all(to, std::string_view(buffer.data(), static_cast<size_t>(n))));
    at += static_cast<uint64_t>(n);
  }
  return ::fsync(to) == 0 ? Status() : Status::from_errno(errno, "fsync failed", path);
}

// Whether who opens the log behind the copy reads the same as in it: one that was damaged brings pages of an earlier
// commit over some of the newest. One without a sound page would be written over from its begin, and look damaged.
bool says_the_same(const std::string& wal, int pages) {
  const WalScan scan = scan_wal(wal);
  return scan.is_empty || (!scan.has_bad_header && scan.commits_behind == 0 && scan.sound_pages > 0 &&
                           scan.sound_pages >= static_cast<uint64_t>(pages));
}

}  // namespace

Status PutBackPace::begin(const std::string& path) {
  if (!path_exists(path)) return Status(Code::kIo, path + " was removed while it is written");
  begun_ns_ = now_ns_();
  if (begun_ns_ < next_ns_)
    return Status(Code::kIo, path + " was replaced or overwritten while it is written, again; it is put back soon");
  return {};
}

void PutBackPace::end() {
  const int64_t now = now_ns_();
  next_ns_ = now + std::min(kPutBackRest * (now - begun_ns_), kPutBackIntervalNs);
}

Status OtherWalWait::wait(const std::string& db_path) {
  const int64_t now = monotonic_ns();
  const bool gone = !path_exists(db_path + "-wal");
  if (!gone && since_ns_ == 0) since_ns_ = now;
  if (!gone && now - since_ns_ < kOtherWalWaitNs)
    return Status(Code::kIo, db_path + "-wal was replaced while it is written");
  since_ns_ = 0;
  return {};
}

std::optional<uint64_t> last_seq_without_wal(const std::string& path) {
  auto db = Sqlite::open(path, SqliteOpen::kReadImmutable, 0);
  if (!db.ok() || !check_database(*db, path).ok()) return std::nullopt;
  const auto meta = read_meta(*db, path);
  return meta.ok() ? std::optional<uint64_t>(meta->last_seq) : std::nullopt;
}

Status set_other_file_aside(const std::string& path) {
  const std::string aside = fmt::format("{}.replaced-{:016x}", path, random_u64());
  return ::rename(path.c_str(), aside.c_str()) == 0 ? Status() : Status::from_errno(errno, "cannot move aside", path);
}

// The WAL behind the copy says again what is in it, page by page: who opens both before we do reads the same.
Status put_database_back(Sqlite* db, const std::string& path, const Id128& writer, bool own_wal, bool is_whole) {
  const std::string made = new_name(path);
  Status status;
  {
    auto copy = Sqlite::open(made, SqliteOpen::kDetached, 0);
    status = copy.ok() ? copy->exec("PRAGMA journal_mode=OFF") : copy.status();
    if (status.ok()) status = db->copy_to(&*copy);
    if (status.ok() && !is_whole) status = check_copy(*copy, path);
  }
  if (status.ok()) status = make_wal_file(made);
  if (status.ok() && !(own_wal && says_the_same(path + "-wal", db->wal_pages()))) {
    status = set_log_aside(path);
    remove_file(path + "-shm");
  }
  if (status.ok()) status = take_name(made, path, is_database_of(path, writer));
  if (!status.ok()) remove_file(made);
  return status;
}

Status put_frames_back(int fd, uint64_t bytes, const std::string& path, bool is_copy) {
  const std::string made = new_name(path);
  auto to = open_file(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (!to.ok()) return to.status();
  Status status = copy_bytes(fd, to->get(), bytes, path);
  if (status.ok()) status = take_name(made, path, is_copy);
  if (!status.ok()) remove_file(made);
  return status;
}

}  // namespace tracker::internal
