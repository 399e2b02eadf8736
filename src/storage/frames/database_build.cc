// SPDX-License-Identifier: MIT
#include "storage/frames/database_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/ring/liveness.h"
#include "storage/database/schema.h"
#include "storage/database/writer_parts.h"
#include "storage/database/writer_paths.h"
#include "storage/frames/frames_log.h"

namespace tracker::internal {
namespace {

std::atomic<uint64_t> g_by_readers_max{kBuildByReadersBytesMax};
constexpr size_t kBatchBytes = 4u << 20;
constexpr time_t kStaleBuildS = 3600;  // the builder of an older temporary file is dead

Status fsync_file(const std::string& path) {
  auto fd = open_file(path, O_RDWR);
  if (!fd.ok()) return fd.status();
  return ::fsync(fd->get()) == 0 ? Status() : Status::from_errno(errno, "fsync failed", path);
}

Status copy_file(const std::string& from, const std::string& to) {
  constexpr size_t kChunkBytes = 1u << 20;
  auto source = open_file(from, O_RDONLY);
  if (!source.ok()) return source.status();
  auto target = open_file(to, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (!target.ok()) return target.status();
  struct stat st{};
  if (::fstat(source->get(), &st) != 0) return Status::from_errno(errno, "cannot read", from);
  // Keep the owner and mode if root builds for another user; a file system may support neither.
  if (::fchown(target->get(), st.st_uid, st.st_gid) != 0 || ::fchmod(target->get(), st.st_mode & 07777) != 0) errno = 0;
  std::string chunk(kChunkBytes, '\0');
  for (;;) {
    const ssize_t n = ::read(source->get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", from);
    if (n == 0) return {};
    TRACKER_RETURN_IF_ERROR(write_all(target->get(), {chunk.data(), static_cast<size_t>(n)}));
  }
}

void remove_stale_builds(const std::string& db_path) {
  auto names = list_dir(parent_path(db_path));
  if (!names.ok()) return;
  const std::string prefix = last_name(db_path) + ".new-";
  for (const std::string& name : *names) {
    const std::string path = join_path(parent_path(db_path), name);
    struct stat st{};
    if (name.starts_with(prefix) && ::stat(path.c_str(), &st) == 0 && ::time(nullptr) - st.st_mtime > kStaleBuildS)
      remove_file(path);
  }
}

// Copies the frames of a file into a database. kCorrupt at the first damage: a damaged file is kept, so that every
// reader reports it.
class Mover {
 public:
  Mover(std::string path, const Id128& writer, WriterStore* into)
      : path_(std::move(path)), writer_(writer), into_(into) {}

  Status run(FramesBytes& bytes) {
    FramesVisitor visitor;
    visitor.entry = [this](const FramesEntry& entry) { return damage_.ok() ? take(entry) : damage_; };
    visitor.damage = [this](const FramesDamage& bad) {
      damage_ = Status(Code::kCorrupt, fmt::format("{}: {} bytes at {} do not verify", path_, bad.bytes, bad.offset));
    };
    auto end = scan_frames(bytes, writer_, kFramesHeaderBytes, visitor);
    if (!end.ok()) return end.status();
    if (*end < bytes.size())
      return Status(Code::kCorrupt, fmt::format("{}: {} bytes at {} do not verify", path_, bytes.size() - *end, *end));
    TRACKER_RETURN_IF_ERROR(flush());
    return totals_.heartbeat_us > 0 ? into_->heartbeat(totals_.heartbeat_us) : Status();
  }

 private:
  Status take(const FramesEntry& entry) {
    auto view = add_entry(writer_, entry, &totals_);
    if (!view.ok())
      return Status(view.status().code(),
                    fmt::format("{}: record at {}: {}", path_, entry.offset, view.status().message()));
    if (entry.kind == FramesKind::kRetired) {
      auto nonces = read_retired_body(entry.body);
      if (!nonces.ok()) return nonces.status();
      TRACKER_RETURN_IF_ERROR(flush());
      return into_->append({}, false, *nonces);
    }
    if (!*view) return {};
    auto body = read_frame_body(entry.body);
    if (!body.ok()) return body.status();
    batch_.push_back({(*view)->seq(), std::string(body->frame), std::move(body->positions)});
    batch_bytes_ += body->frame.size();
    return batch_bytes_ >= kBatchBytes ? flush() : Status();
  }

  Status flush() {
    const Status status = into_->append(batch_, false);
    batch_.clear();
    batch_bytes_ = 0;
    return status;
  }

  const std::string path_;
  const Id128 writer_;
  WriterStore* into_;
  FramesTotals totals_;
  std::vector<FrameRecord> batch_;
  size_t batch_bytes_ = 0;
  Status damage_;
};

// The totals of the file, without rows. `ended`: its last record is an end or a recoverer's note. A writer that was
// alive after all may have continued after such a note.
Result<FramesTotals> read_totals(FramesInput& input, bool* ended) {
  FramesTotals totals;
  FileBytes bytes(input.fd.get(), input.size);
  FramesVisitor visitor;
  visitor.entry = [&](const FramesEntry& entry) {
    auto view = add_entry(input.writer, entry, &totals);
    if (!view.ok()) return view.status().code() == Code::kCorrupt ? Status() : view.status();
    if (!*view) return Status();
    *ended = false;
    for (const Event& event : (*view)->events()) {
      auto payload = decode_cbor(event.payload);
      if (event.type == EventType::kEnd) *ended = true;
      if (event.type == EventType::kNote && payload.ok() && payload->text_or("kind", "") == "recovered") *ended = true;
    }
    return Status();
  };
  auto end = scan_frames(bytes, input.writer, kFramesHeaderBytes, visitor);
  if (!end.ok()) return end.status();
  return totals;
}

uint64_t length_of(const Fd& fd) {
  struct stat st{};
  return ::fstat(fd.get(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
}

// Whether the writer no longer writes: it recorded an end, or its process is known to be gone together with its
// journal.
bool is_over(const std::string& path) {
  auto input = open_frames(path, O_RDONLY);
  if (!input.ok() || input->size > g_by_readers_max.load()) return false;
  bool ended = false;
  auto totals = read_totals(*input, &ended);
  if (!totals.ok() || ended) return totals.ok();
  const std::string store_path = store_path_of(parent_path(path));
  if (!totals->identity || probe_writer(*totals->identity, store_path) != Liveness::kDead) return false;
  // If its journal exists, recovery builds the database: the rings may hold more.
  return find_journal(*totals->identity, store_path).empty();
}

// Whether this is a complete database of that writer with at least the frames up to `seq`.
bool holds_up_to(const std::string& db_path, const Id128& writer, uint64_t seq) {
  if (!is_whole_database(db_path)) return false;
  auto db = Sqlite::open(db_path, SqliteOpen::kDetachedRead, 0);
  if (!db.ok() || !check_database(*db, db_path).ok()) return false;
  const auto meta = read_meta(*db, db_path);
  return meta.ok() && meta->identity.writer == writer && meta->last_seq >= seq;
}

// The number of the newest frame before a part, by the part's own record; nothing if it cannot be read.
std::optional<uint64_t> seq_before(const PartFile& part) {
  if (!part.is_frames) {
    auto db = Sqlite::open(part.path, SqliteOpen::kRead, 0);
    if (!db.ok() || !check_database(*db, part.path).ok()) return std::nullopt;
    const auto meta = read_meta(*db, part.path);
    return meta.ok() ? std::optional(meta->identity.before.seq) : std::nullopt;
  }
  auto input = open_frames(part.path, O_RDONLY);
  if (!input.ok()) return std::nullopt;
  bool ended = false;
  const auto totals = read_totals(*input, &ended);
  return totals.ok() && totals->identity ? std::optional(totals->identity->before.seq) : std::nullopt;
}

// A part that its writer has left, and none of whose frames the next part repeats.
bool is_left_whole(const std::string& path, const PartFile& next) {
  auto input = open_frames(path, O_RDONLY);
  if (!input.ok() || input->size > g_by_readers_max.load()) return false;
  bool ended = false;
  const auto totals = read_totals(*input, &ended);
  const auto before = seq_before(next);
  return totals.ok() && before && totals->last_seq <= *before;
}

}  // namespace

DatabaseBuild::DatabaseBuild(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.new-{:016x}", path_, random_u64())) {}

DatabaseBuild::~DatabaseBuild() {
  db_.reset();
  for (const char* suffix : {"", "-journal"}) remove_file(temporary_ + suffix);  // gone after finish()
}

Result<std::unique_ptr<DatabaseBuild>> DatabaseBuild::create(const std::string& db_path,
                                                             const WriterIdentity& identity) {
  remove_stale_builds(db_path);
  std::unique_ptr<DatabaseBuild> out(new DatabaseBuild(db_path));
  TRACKER_RETURN_IF_ERROR(create_detached_database(out->temporary_, identity));
  auto db = WriterDb::open_detached(out->temporary_, identity);
  if (!db.ok()) return db.status();
  out->db_ = std::move(*db);
  out->writer_ = identity.writer;
  return out;
}

Result<std::unique_ptr<DatabaseBuild>> DatabaseBuild::copy_of(const std::string& db_path,
                                                              const WriterIdentity& identity) {
  std::unique_ptr<DatabaseBuild> out(new DatabaseBuild(db_path));
  out->replaces_ = true;
  TRACKER_RETURN_IF_ERROR(copy_file(db_path, out->temporary_));
  auto db = WriterDb::open_detached(out->temporary_, identity);
  if (!db.ok()) return db.status();
  out->db_ = std::move(*db);
  return out;
}

// Nothing is durable before finish(), and durable_seq() says so: recoverers release nothing before it.
Status DatabaseBuild::append_batch(std::span<const FrameRecord* const> frames, bool,
                                   const std::vector<uint64_t>& retired) {
  return db_->append_batch(frames, false, retired);
}

Status DatabaseBuild::finish(int timeout_ms) {
  TRACKER_RETURN_IF_ERROR(db_->finish(timeout_ms));
  TRACKER_RETURN_IF_ERROR(fsync_file(temporary_));
  TRACKER_RETURN_IF_ERROR(put_in_place());
  sync_path(parent_path(path_));
  return {};
}

Status DatabaseBuild::put_in_place() {
  if (!replaces_) {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) return {};
    // ours is removed with this object
    if (path_exists(path_) && holds_up_to(path_, writer_, db_->last_seq())) return {};
  }
  if (::rename(temporary_.c_str(), path_.c_str()) == 0) return {};
  return Status::from_errno(errno, "cannot replace", path_);
}

Status build_database(const std::string& frames_path) {
  const std::string db_path = db_path_of(frames_path);
  auto input = open_frames(frames_path, O_RDONLY);
  if (!input.ok())
    return input.status().code() == Code::kNotFound && is_whole_database(db_path) ? Status() : input.status();
  bool ended = false;
  auto totals = read_totals(*input, &ended);
  if (!totals.ok()) return totals.status();
  if (!totals->identity) return Status(Code::kCorrupt, frames_path + ": the identity of its writer does not verify");
  // Its writer may be alive after all, and what it appended counts as stored as long as the file had its name. So read
  // the length once more after the unlink, and add new records from the deleted file. Mostly they are noticed before,
  // when a failure still leaves the file in place.
  uint64_t built = 0;
  for (int round = 1; built < input->size; ++round) {
    auto build = round == 1 ? DatabaseBuild::create(db_path, *totals->identity)
                            : DatabaseBuild::copy_of(db_path, *totals->identity);
    if (!build.ok()) return build.status();
    FileBytes bytes(input->fd.get(), input->size);
    Mover mover(frames_path, input->writer, build->get());
    TRACKER_RETURN_IF_ERROR(mover.run(bytes));
    TRACKER_RETURN_IF_ERROR((*build)->finish());
    built = input->size;
    if (length_of(input->fd) == built || round > 1) remove_file(frames_path);
    input->size = length_of(input->fd);
  }
  return {};
}

bool covers(const std::string& db_path, const std::string& frames_path) {
  auto input = open_frames(frames_path, O_RDONLY);
  if (!input.ok()) return input.status().code() == Code::kNotFound;
  bool ended = false;
  auto totals = read_totals(*input, &ended);
  return totals.ok() && holds_up_to(db_path, input->writer, totals->last_seq);
}

void set_build_by_readers_bytes_max_for_testing(uint64_t bytes) { g_by_readers_max = bytes; }

void build_ended_frames(const std::string& run_path) {
  auto names = list_dir(run_path);
  if (!names.ok()) return;
  const auto build = [](const std::string& path) {
    const std::string db = db_path_of(path);
    if (!path_exists(db) || !is_whole_database(db) || !covers(db, path)) (void)build_database(path).ok();
    else remove_file(path);
  };
  for (const std::string& name : *names) {
    const std::string path = join_path(run_path, name);
    if (is_frames_path(path) && parts_of(path).back().number == part_number(name) && is_over(path)) build(path);
  }
  for (const std::string& name : *names) {  // the parts before the last one, for writers whose last part is a database
    const std::string path = join_path(run_path, name);
    if (!is_frames_path(path) || !path_exists(path)) continue;
    const std::vector<PartFile> parts = parts_of(path);
    const auto next = std::find_if(parts.begin(), parts.end(),
                                   [&name](const PartFile& part) { return part.number > part_number(name); });
    if (next != parts.end() && !parts.back().is_frames && is_left_whole(path, *next)) build(path);
  }
}

}  // namespace tracker::internal
