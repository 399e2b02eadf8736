// SPDX-License-Identifier: MIT
#include "storage/recovery/damaged_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "storage/database/schema.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/copy_beside.h"
#include "storage/sqlite/sqlite.h"
#include "storage/sqlite/wal_scan.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kAsideMark = ".db.damaged-", kFramesAsideMark = ".frames.damaged-",
                           kLogAsideMark = ".db-wal.damaged-";

bool has_log(const std::string& path) {
  struct stat st{};
  return ::stat((path + "-wal").c_str(), &st) == 0 && st.st_size > 0;
}

// Without locks and without a word on the disk: who asks must be alone with it. A connection that could write would
// checkpoint the log into whatever stands there.
Result<Sqlite> look_unlocked(const std::string& path, bool with_log) {
  return Sqlite::open(path, with_log ? SqliteOpen::kReadPrivateWal : SqliteOpen::kReadImmutable, 0);
}

enum class BytesOf { kOurs, kOthers, kCannotTell };

BytesOf whose(const std::string& path, bool with_log, const Id128& writer) {
  auto db = look_unlocked(path, with_log);
  const auto id = db.ok() ? db->query_int("PRAGMA application_id") : Result<int64_t>(db.status());
  if (!id.ok()) return id.status().code() == Code::kCorrupt ? BytesOf::kOthers : BytesOf::kCannotTell;
  if (*id != kApplicationId) return BytesOf::kOthers;
  const auto version = db->query_int("PRAGMA user_version");
  if (!version.ok() || *version > kDatabaseVersion) return BytesOf::kCannotTell;  // what it says there may mean another
  std::string damage;                                                             // of the counts
  const auto meta = read_meta(*db, path, &damage);
  return meta.ok() && meta->identity.writer != writer ? BytesOf::kOthers : BytesOf::kOurs;
}

// SQLite itself finds something wrong; not that it may not look.
bool is_found_damaged(const std::string& path) {
  auto db = look_unlocked(path, has_log(path));
  const auto found = db.ok() ? db->query_text("PRAGMA quick_check(1)") : Result<std::string>(db.status());
  return found.ok() ? *found != "ok" : found.status().code() == Code::kCorrupt;
}

}  // namespace

// A log that somebody has moved away, and left a link to it, completes the database when it is back.
bool may_be_judged(const std::string& db_path) {
  return is_regular_file(db_path) && count_parts(db_path) == 1 && check_log_files(db_path).ok();
}

bool is_being_written(const std::string& db_path) {
  for (const char* suffix : {"", "-wal"}) {
    struct stat st{};
    if (::stat((db_path + suffix).c_str(), &st) != 0) continue;
    if (*suffix != '\0' && st.st_size == 0) continue;  // SQLite makes one to read
    const int64_t written_ns = int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
    if (std::abs(realtime_ns() - written_ns) < kAtRestNs) return true;
  }
  return false;
}

bool is_overwritten(const std::string& db_path, const Id128& writer) {
  if (!may_be_judged(db_path) || whose(db_path, false, writer) != BytesOf::kOthers) return false;
  if (!has_log(db_path)) return true;
  // The log may have every page of it: then nothing is lost.
  const BytesOf with_log = whose(db_path, true, writer);
  return with_log == BytesOf::kOthers || (with_log == BytesOf::kOurs && is_unreadable(db_path));
}

bool is_unreadable(const std::string& db_path) {
  if (!may_be_judged(db_path) || !is_found_damaged(db_path)) return false;
  auto reader = WriterReader::open(db_path);
  const Status read = reader.ok() ? (*reader)->snapshot().status() : reader.status();
  return read.code() == Code::kCorrupt;
}

Result<std::string> set_database_aside(const std::string& db_path) {
  const std::string aside = fmt::format(
      "{}{}{:016x}", db_path.substr(0, db_path.size() - std::string_view(".db").size()), kAsideMark, random_u64());
  if (::rename(db_path.c_str(), aside.c_str()) != 0) return Status::from_errno(errno, "cannot move aside", db_path);
  // The log would be taken for that of the one that is made anew. Its index says nothing that is not in it.
  const std::string wal = db_path + "-wal";
  if (path_exists(wal) && ::rename(wal.c_str(), (aside + "-wal").c_str()) != 0)
    return Status::from_errno(errno, "cannot move aside", wal);
  remove_file(db_path + "-shm");
  sync_path(parent_path(db_path));
  return aside;
}

Result<std::string> keep_damaged_log(const std::string& db_path) {
  const std::string wal = db_path + "-wal";
  if (!check_log_files(db_path).ok() || scan_wal(wal).damage().empty()) return std::string();
  constexpr off_t kSaltAt = 16;
  unsigned char salt[8] = {};
  auto file = open_file(wal, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!file.ok()) return file.status();
  struct stat st{};
  if (::fstat(file->get(), &st) != 0 || ::pread(file->get(), salt, sizeof salt, kSaltAt) != sizeof salt)
    return Status::from_errno(errno, "cannot read", wal);
  std::string aside = wal + ".damaged-";
  for (const unsigned char byte : salt) aside += fmt::format("{:02x}", byte);
  if (path_exists(aside)) return aside;
  TRACKER_RETURN_IF_ERROR(copy_beside(file->get(), static_cast<uint64_t>(st.st_size), wal, aside));
  return aside;
}

bool is_log_set_aside(std::string_view name) { return name.find(kLogAsideMark) != std::string_view::npos; }

bool is_frames_set_aside(std::string_view name) { return name.find(kFramesAsideMark) != std::string_view::npos; }

bool is_set_aside(std::string_view name) {
  return name.find(kAsideMark) != std::string_view::npos || is_frames_set_aside(name) || is_log_set_aside(name);
}

std::vector<std::string> databases_set_aside(const std::string& folder) {
  std::vector<std::string> out;
  for (const std::string& name : list_dir(folder).value_or({}))
    if (is_set_aside(name) && !name.ends_with("-wal")) out.push_back(join_path(folder, name));
  return out;
}

std::string set_aside_text(const std::string& path) {
  if (is_frames_set_aside(path))
    return path +
           ": a .frames file of this run whose last record was changed on the disk; what is sound in it is in the "
           "run, " +
           "what that record held is only where the journal had it too (delete the file to hear no more of it)";
  if (is_log_set_aside(path))
    return path +
           ": the log of a database of this run, in which bytes were changed on the disk; what stood behind them is " +
           "in the run only where the journal had it too, and else counted as lost (delete the file to hear no more "
           "of it)";
  return path +
         ": a database of this run that was overwritten while it was recorded and of which nothing can be read; " +
         "what was stored in it is counted as lost (`sqlite3 FILE .recover` may find rows in it; " +
         "delete the file to hear no more of it)";
}

}  // namespace tracker::internal
