// SPDX-License-Identifier: MIT
#include "storage/database/writer_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <map>

#include "base/clock.h"
#include "base/fs.h"
#include "storage/database/schema.h"
#include "storage/database/writer_paths.h"
#include "storage/sqlite/wal_scan.h"

namespace tracker::internal {
namespace {

constexpr off_t kFormatBytesAt = 18;  // of the header: write and read version, 2 means WAL
constexpr size_t kWriterIdDigits = 32;

size_t suffix_at(std::string_view path) {
  const size_t at = path.rfind('.');
  return at == std::string_view::npos ? path.size() : at;
}

}  // namespace

std::string part_path(const std::string& first_path, int part) {
  if (part <= 1) return first_path;
  const size_t at = suffix_at(first_path);
  return fmt::format("{}-{}{}", first_path.substr(0, at), part, first_path.substr(at));
}

std::string first_part_path(const std::string& path) {
  const std::string name = last_name(path);
  if (part_number(name) <= 1) return path;
  return join_path(parent_path(path), name.substr(0, kWriterIdDigits) + name.substr(suffix_at(name)));
}

int part_number(std::string_view name) {
  const size_t end = suffix_at(name);
  const std::string_view suffix = name.substr(end);
  if ((suffix != ".db" && suffix != ".frames") || end < kWriterIdDigits) return 0;
  if (!Id128::from_hex(name.substr(0, kWriterIdDigits))) return 0;
  const std::string_view middle = name.substr(kWriterIdDigits, end - kWriterIdDigits);
  if (middle.empty()) return 1;
  int number = 0;
  const char* const last = middle.data() + middle.size();
  const auto [at, error] = std::from_chars(middle.data() + 1, last, number);
  const bool is_number =
      middle[0] == '-' && middle.size() > 1 && middle[1] != '0' && error == std::errc() && at == last;
  return is_number && number > 1 && number <= kPartsMax ? number : 0;
}

std::vector<PartFile> parts_of(const std::string& path) {
  const std::string folder = parent_path(path), writer = last_name(path).substr(0, kWriterIdDigits);
  std::map<int, PartFile> found;
  for (const std::string& name : list_dir(folder).value_or({})) {
    const int number = name.starts_with(writer) ? part_number(name) : 0;
    if (number == 0) continue;
    const PartFile file{number, join_path(folder, name), is_frames_path(name)};
    const auto [at, is_new] = found.try_emplace(number, file);
    if (is_new) continue;
    const std::string& db = file.is_frames ? at->second.path : file.path;
    if (is_whole_database(db) == file.is_frames) continue;  // the one that was found first stays
    at->second = file;
  }
  std::vector<PartFile> out;
  for (auto& [number, file] : found) out.push_back(std::move(file));
  return out;
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

void checkpoint_part(const std::string& path) {
  if (!check_log_files(path).ok() || !scan_wal(path + "-wal").damage().empty()) return;
  auto db = Sqlite::open(path, SqliteOpen::kWrite, static_cast<int>(kCheckpointPartWait.count()));
  if (!db.ok() || !check_database(*db, path).ok()) return;
  if (!db->checkpoint(Sqlite::Checkpoint::kTruncate).ok()) return;
  (void)db->set_journal_mode("DELETE").ok();
}

}  // namespace tracker::internal
