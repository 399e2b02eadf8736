// SPDX-License-Identifier: MIT
#include "storage/upkeep/compact_ended.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <tuple>

#include "base/fs.h"
#include "model/media.h"
#include "storage/database/compaction.h"
#include "storage/database/schema.h"
#include "storage/database/table_sum.h"
#include "storage/database/writer_locks.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/database_build.h"
#include "storage/recovery/live_writers.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// Identifies a file and its last change.
struct FileState {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t changed_s = 0, changed_ns = 0;
  bool operator==(const FileState&) const = default;
};

std::optional<FileState> state_of(const std::string& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return {};
  return FileState{st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size), st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
}

// False if a process has it open for writing, has died with it open, or is about to open it.
bool is_at_rest(const std::string& path) {
  return !path_exists(path + "-wal") && !path_exists(path + "-journal") && !is_written_here(path);
}

uint64_t points_in_frames(Sqlite& db) {
  return static_cast<uint64_t>(db.query_int("SELECT coalesce(sum(points), 0) FROM frames").value_or(0));
}

class Ended {
 public:
  explicit Ended(std::string path) : path_(std::move(path)) {}

  // Whether it is intact, ended, and its frames can become a segment.
  bool is_due() {
    before_ = state_of(path_);
    if (!before_ || !is_at_rest(path_)) return false;
    auto db = Sqlite::open(path_, SqliteOpen::kDetachedRead, 0);
    if (!db.ok() || !check_database(*db, path_).ok()) return false;
    points_ = points_in_frames(*db);
    if (points_ < kEndedFramePointsMin) return false;
    const auto meta = read_meta(*db, path_);
    if (!meta.ok() || (!meta->end && !meta->recovered)) return false;
    const auto verdict = check_table_sum(*db);
    if (!verdict.ok() || *verdict != TableVerdict::kSound) return false;
    identity_ = meta->identity;
    Compaction next(identity_.writer);
    if (!next.load(*db).ok()) return false;
    const auto segment = next.build(*db, meta->last_seq, true);
    return segment.ok() && *segment && (*segment)->frames > 0;
  }

  // Returns whether it was compacted.
  Result<bool> compact(uint64_t room_bytes) {
    if (free_bytes(path_).value_or(0) < before_->bytes + room_bytes)
      return Status(Code::kIo, fmt::format("it takes {} MiB of room for a while", (before_->bytes + room_bytes) >> 20));
    auto build = DatabaseBuild::copy_of(path_, identity_);
    if (!build.ok()) return build.status();
    TRACKER_RETURN_IF_ERROR((*build)->compact_all(true));
    if (state_of(path_) != before_ || !is_at_rest(path_)) return false;
    TRACKER_RETURN_IF_ERROR((*build)->finish());
    return true;
  }

  CompactedWriter report(const RunFolder& run, bool dry_run) const {
    CompactedWriter out{run, path_, points_, 0, before_->bytes, 0};
    if (dry_run) return out;
    if (const auto now = state_of(path_)) out.bytes_after = now->bytes;
    if (auto db = Sqlite::open(path_, SqliteOpen::kDetachedRead, 0); db.ok()) out.points_after = points_in_frames(*db);
    return out;
  }

 private:
  const std::string path_;
  std::optional<FileState> before_;
  WriterIdentity identity_;
  uint64_t points_ = 0;
};

bool is_alone(const Store& store, const RunFolder& run, int64_t now_us) {
  std::vector<UnreadWriter> unread;
  return live_writers(store, run.identity.uid, run.path, now_us, &unread).empty() && unread.empty() &&
         journal_dirs_of(store, run.identity.uid).empty();
}

// Checkpoints the databases of ended writers that a reader kept from becoming plain files. If a part lacks rows,
// another program has changed it and its WAL may belong to another file: both are kept.
void checkpoint_ended(const Store& store, const RunFolder& run, const std::vector<std::string>& names, int64_t now_us) {
  std::map<std::string, bool> is_sound;  // by path of part 1
  for (const std::string& name : names) {
    const std::string path = join_path(run.path, name), first = first_part_path(path);
    if (part_number(name) == 0 || !name.ends_with(".db") || !path_exists(path + "-wal") || is_written_here(path))
      continue;
    const auto [at, is_new] = is_sound.try_emplace(first, false);
    if (is_new && is_alone(store, run, now_us)) {
      const auto reader = WriterReader::open(first);
      const auto found = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
      at->second = found.ok() && found->damage.empty() && (found->end || found->recovered);
    }
    if (at->second) checkpoint_part(path);
  }
}

}  // namespace

CompactEndedReport compact_ended(const Store& store, const RunFolder& run, const CompactEndedOptions& options) {
  CompactEndedReport out;
  const auto names = list_dir(run.path);
  if (!names.ok()) return out;
  if (!options.dry_run) checkpoint_ended(store, run, *names, options.now_us);
  for (const std::string& name : *names) {
    if (!name.ends_with(".db")) continue;
    Ended ended(join_path(run.path, name));
    if (!ended.is_due() || !is_alone(store, run, options.now_us)) continue;
    const auto done = options.dry_run ? Result<bool>(true) : ended.compact(options.room_bytes);
    if (!done.ok())
      out.problems.push_back(
          fmt::format("{} is not compacted: {}", join_path(run.path, name), done.status().to_string()));
    else if (*done) out.compacted.push_back(ended.report(run, options.dry_run));
  }
  return out;
}

}  // namespace tracker::internal
