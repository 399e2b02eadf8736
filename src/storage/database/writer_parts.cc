// SPDX-License-Identifier: MIT
#include "storage/database/writer_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/fs.h"
#include "base/ids.h"
#include "storage/database/schema.h"

namespace tracker::internal {
namespace {

constexpr off_t kFormatBytesAt = 18;  // of the header: write and read version, 2 means WAL
std::atomic<uint64_t> g_wal_bytes_max{kWalBytesMax};

Status copy_small_tables(Sqlite& last, const std::string& to, int part) {
  auto attach = last.prepare("ATTACH ? AS next");
  if (!attach.ok()) return attach.status();
  TRACKER_RETURN_IF_ERROR(attach->bind(to).run());
  Status status = last.exec("BEGIN");
  for (const char* table : {"meta", "series", "attributes", "losses", "journal"})
    if (status.ok())
      status = last.exec(fmt::format("INSERT OR REPLACE INTO next.{0} SELECT * FROM main.{0}", table).c_str());
  if (status.ok()) status = last.exec(fmt::format("INSERT OR REPLACE INTO next.meta VALUES('part',{})", part).c_str());
  if (status.ok()) status = last.exec("COMMIT");
  else if (last.in_transaction()) (void)last.exec("ROLLBACK").ok();
  const Status detached = last.exec("DETACH next");
  return status.ok() ? detached : status;
}

constexpr std::string_view kDatabaseSuffix = ".db";
constexpr size_t kWriterIdDigits = 32;

// 1 of <writer>.db, 2 of <writer>-2.db, …; 0 of any other file.
int part_number(std::string_view name) {
  if (!name.ends_with(kDatabaseSuffix) || !Id128::from_hex(name.substr(0, kWriterIdDigits))) return 0;
  const std::string_view middle = name.substr(kWriterIdDigits, name.size() - kWriterIdDigits - kDatabaseSuffix.size());
  if (middle.empty()) return 1;
  int number = 0;
  const char* const end = middle.data() + middle.size();
  const auto [at, error] = std::from_chars(middle.data() + 1, end, number);
  return middle[0] == '-' && error == std::errc() && at == end && number > 1 && number <= kPartsMax ? number : 0;
}

}  // namespace

std::string MissingParts::text() const {
  const bool one = numbers.size() == 1;
  const std::string what = fmt::format("{}: part{} {} of {} {} missing", db_path, one ? "" : "s",
                                       fmt::join(numbers, ", "), last, one ? "is" : "are");
  return numbers.front() == 1 ? what + ", so nothing of this writer can be read; restore it from a copy"
                              : what + ", and what was recorded from there on is not read; restore it from a copy";
}

std::vector<MissingParts> missing_parts(const std::string& folder) {
  std::map<std::string, std::set<int>> found;
  for (const std::string& name : list_dir(folder).value_or({}))
    if (const int number = part_number(name); number > 0) found[name.substr(0, kWriterIdDigits)].insert(number);
  std::vector<MissingParts> out;
  for (const auto& [writer, numbers] : found) {
    MissingParts missing{join_path(folder, writer) + std::string(kDatabaseSuffix), {}, *numbers.rbegin()};
    for (int number = 1; number < missing.last; ++number)
      if (!numbers.contains(number)) missing.numbers.push_back(number);
    if (!missing.numbers.empty()) out.push_back(std::move(missing));
  }
  return out;
}

Status prepare_parts(const std::string& db_path) {
  for (const MissingParts& missing : missing_parts(parent_path(db_path)))
    if (missing.db_path == db_path) return Status(Code::kCorrupt, missing.text());
  if (path_exists(db_path)) return {};
  if (!set_log_aside(db_path).ok()) remove_file(db_path + "-wal");
  for (const char* suffix : {"-shm", "-journal"}) remove_file(db_path + suffix);
  return {};
}

Status set_log_aside(const std::string& db_path) {
  const std::string wal = db_path + "-wal";
  const std::string aside = fmt::format("{}.orphan-{:016x}", wal, random_u64());
  if (!path_exists(wal) || ::rename(wal.c_str(), aside.c_str()) == 0) return {};
  return Status::from_errno(errno, "cannot move aside", wal);
}

std::string part_path(const std::string& db_path, int part) {
  return part == 1 ? db_path : fmt::format("{}-{}.db", db_path.substr(0, db_path.size() - 3), part);
}

int count_parts(const std::string& db_path) {
  int parts = 1;
  while (parts < kPartsMax && path_exists(part_path(db_path, parts + 1))) ++parts;
  return parts;
}

Status create_part(Sqlite& last, const std::string& db_path, int part, const WriterIdentity& identity) {
  const std::string path = part_path(db_path, part);
  auto meta = read_meta(last, db_path);
  if (!meta.ok()) return meta.status();
  if (meta->stats_seq != meta->last_seq) return Status(Code::kInvalid, db_path + ": its series lag behind its frames");
  const std::string temporary = fmt::format("{}.new-{:016x}", path, random_u64());
  Status status = create_detached_database(temporary, identity);
  if (status.ok()) status = copy_small_tables(last, temporary, part);
  if (status.ok()) status = make_wal_file(temporary);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    status = Status::from_errno(errno, "cannot create", path);
  if (status.ok()) sync_path(parent_path(path));
  else remove_file(temporary);
  return status;
}

Status make_wal_file(const std::string& path) {
  auto fd = open_file(path, O_RDWR);
  if (!fd.ok()) return fd.status();
  if (::pwrite(fd->get(), "\2\2", 2, kFormatBytesAt) != 2 || ::fsync(fd->get()) != 0)
    return Status::from_errno(errno, "cannot write", path);
  return {};
}

Status leave_wal(Sqlite* db, const std::string& path, int64_t deadline_ns) {
  db->set_busy_timeout(0);
  for (;;) {
    auto mode = db->set_journal_mode("DELETE");
    if (mode.ok() && *mode == "delete") return {};
    if (!mode.ok() && mode.status().code() != Code::kBusy) return mode.status();
    if (monotonic_ns() >= deadline_ns)
      return Status(Code::kBusy, fmt::format("{} is open in another program and stays in WAL mode", path),
                    "all data is in it");
    ::usleep(5000);
  }
}

void settle_part(const std::string& path, int timeout_ms) {
  auto db = Sqlite::open(path, SqliteOpen::kWrite, timeout_ms);
  if (!db.ok() || !check_database(*db, path).ok()) return;
  if (!db->checkpoint(Sqlite::Checkpoint::kTruncate).ok()) return;
  (void)db->set_journal_mode("DELETE").ok();
}

uint64_t wal_bytes_max() { return g_wal_bytes_max.load(); }
void set_wal_bytes_max_for_testing(uint64_t bytes) { g_wal_bytes_max = bytes; }

}  // namespace tracker::internal
