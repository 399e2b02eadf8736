// SPDX-License-Identifier: MIT
#include "storage/writer_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "storage/event_state.h"
#include "storage/frames_reader.h"
#include "storage/log_look.h"
#include "storage/log_scan.h"
#include "storage/schema.h"
#include "storage/series_stats.h"
#include "storage/sqlite.h"
#include "storage/store_files.h"
#include "storage/writer_parts.h"

namespace tracker::internal {
namespace {

constexpr int kBusyTimeoutMs = 1000;  // a writer that finishes or recovers holds the file for a moment
constexpr const char* kLookCache = "PRAGMA cache_size=-64";  // KiB: each page is read once
constexpr int kSnapshotTries = 5;  // frames that its statistics lack may become a segment meanwhile

// What frames say of the series, added to what is known.
class StatsVisitor : public LogVisitor {
 public:
  explicit StatsVisitor(SeriesMap* series) : series_(series) {}
  bool met_segment() const { return met_segment_; }
  Result<bool> frame(const FrameView& frame) override {
    auto stats = compute_frame_stats(frame);
    if (!stats.ok()) return stats.status();
    for (const auto& [id, later] : stats->series) {
      const auto [at, is_new] = series_->try_emplace(id, later);
      if (!is_new) append_stats(later, &at->second);
    }
    return true;
  }
  Result<bool> segment(SegmentView*, PointRange*) override {
    met_segment_ = true;
    return false;
  }

 private:
  SeriesMap* const series_;
  bool met_segment_ = false;
};

// What the events of a log say; all of it is read.
class EventStateVisitor : public LogVisitor {
 public:
  Result<bool> frame(const FrameView& frame) override {
    state.apply(frame);
    return true;
  }
  Result<bool> segment(SegmentView* segment, PointRange*) override {
    SegmentLog log;
    TRACKER_RETURN_IF_ERROR(segment->log(&log));
    state.apply(log.events, log.losses);
    return true;
  }
  EventState state;
};

uint64_t file_size(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
}

}  // namespace

// The connection lives for one operation: an open one keeps a writer that finishes from leaving WAL mode, and a
// console would hold thousands of descriptors. Opening costs about 0.1 ms.
struct WriterReader::Impl {
  std::string path;
  SqliteOpen mode = SqliteOpen::kRead;
  WriterIdentity identity;
  LookMemory memory;
  std::unique_ptr<FramesReader> log;  // read instead of a database while the file is a .frames file

  Result<Sqlite> connect(int part) const {
    const std::string file = part_path(path, part);
    SqliteOpen how = mode;
    if (part > 1 && mode != SqliteOpen::kRead)
      how = file_size(file + "-wal") > 0 ? SqliteOpen::kReadPrivateWal : SqliteOpen::kReadImmutable;
    auto db = Sqlite::open(file, how, kBusyTimeoutMs);
    if (db.ok() && part > 1) TRACKER_RETURN_IF_ERROR(check_database(*db, file));  // probe() looks at the first
    return db;
  }

  Status probe() {
    auto db = connect(1);
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(check_database(*db, path));
    auto meta = read_meta(*db, path);
    if (!meta.ok()) return meta.status();
    identity = std::move(meta->identity);
    return {};
  }

  // Its writer has ended meanwhile: what was a .frames file is a database now, with the same frames.
  bool became_database(const Status& status) {
    if (status.code() != Code::kNotFound || !path_exists(db_path_of(path))) return false;
    path = db_path_of(path);
    log.reset();
    return probe().ok();
  }

  // What is small is read at one moment. Rows of `series` cover the frames up to stats_seq, the rest is added here. No
  // segment reaches behind stats_seq, so one that is met was made after that moment. False: so it was.
  Result<bool> try_snapshot(Sqlite& db, WriterSnapshot* out) const {
    *out = WriterSnapshot();
    TRACKER_RETURN_IF_ERROR(db.exec("BEGIN"));
    auto meta = read_meta(db, path);
    if (!meta.ok()) return meta.status();
    auto series = read_series(db);
    if (!series.ok()) return series.status();
    auto attributes = read_attributes(db, &out->attributes_damaged);
    if (!attributes.ok()) return attributes.status();
    auto losses = read_losses(db);
    if (!losses.ok()) return losses.status();
    auto positions = read_positions(db);
    if (!positions.ok()) return positions.status();
    TRACKER_RETURN_IF_ERROR(db.exec("COMMIT"));
    LogPosition at{meta->stats_seq, 0};
    StatsVisitor visitor(&*series);
    LogScan scan(&db, path, identity.writer, &at, &out->damage);
    TRACKER_RETURN_IF_ERROR(scan.read({meta->last_seq, meta->points}, &visitor));
    if (visitor.met_segment()) return false;
    out->identity = std::move(meta->identity);
    out->last_seq = meta->last_seq;
    out->attributes = std::move(*attributes);
    out->losses = std::move(*losses);
    out->end = meta->end;
    out->recovered = std::move(meta->recovered);
    out->step_max = meta->step_max;
    out->heartbeat_us = meta->heartbeat_us;
    out->cost = meta->end && !meta->end->cost.is_null() ? meta->end->cost : meta->cost;
    out->points = meta->points;
    out->frames = meta->frames;
    out->frame_bytes = meta->frame_bytes;
    out->positions = std::move(*positions);
    put_series(std::move(*series), out);
    return true;
  }

  Status read_parts(LogPosition* at, const LogPosition& end, LogVisitor* visitor,
                    std::vector<LogDamage>* damage) const {
    const int parts = count_parts(path);
    for (int part = 1; part <= parts && at->seq < end.seq; ++part) {
      auto db = connect(part);
      if (!db.ok()) return db.status();
      auto meta = read_meta(*db, part_path(path, part));
      if (!meta.ok()) return meta.status();
      if (meta->last_seq <= at->seq) continue;
      LogScan scan(&*db, part_path(path, part), identity.writer, at, damage);
      const bool whole = meta->last_seq <= end.seq;
      TRACKER_RETURN_IF_ERROR(scan.read(whole ? LogPosition{meta->last_seq, meta->points} : end, visitor));
      if (scan.stopped()) return {};
    }
    return {};
  }

  // The table that keeps config, summary and the like is damaged: the log has them still.
  Status attributes_from_log(WriterSnapshot* out) const {
    LogPosition at;
    EventStateVisitor visitor;
    TRACKER_RETURN_IF_ERROR(read_parts(&at, out->end_of_log(), &visitor, &out->damage));
    out->attributes = visitor.state.attributes();
    out->damage.push_back(
        {Code::kCorrupt,
         fmt::format("{}: the table of config, summary and attributes is damaged ({} rows); they are read from the log",
                     path, out->attributes_damaged)});
    return {};
  }

  // Of several parts the one that holds what comes next.
  Result<LogPosition> place_in_parts(uint64_t seq) const {
    const int parts = count_parts(path);
    LogPosition end;
    for (int part = 1; part <= parts; ++part) {
      auto db = connect(part);
      if (!db.ok()) return db.status();
      auto meta = read_meta(*db, part_path(path, part));
      if (!meta.ok()) return meta.status();
      end = {meta->last_seq, meta->points};
      if (end.seq > seq) return place_in_log(*db, seq);
    }
    return end;
  }
};

WriterReader::WriterReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WriterReader::~WriterReader() = default;
const std::string& WriterReader::path() const { return impl_->path; }
const WriterIdentity& WriterReader::identity() const { return impl_->identity; }

Result<std::unique_ptr<WriterReader>> WriterReader::open(const std::string& path, std::string* notice) {
  if (!path_exists(path)) {
    if (is_frames_path(path) && path_exists(db_path_of(path))) return open(db_path_of(path), notice);
    return Status(Code::kNotFound, fmt::format("{} does not exist", path));
  }
  // SQLite would wait for a pipe's other end.
  if (is_no_file(path)) return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
  auto impl = std::make_unique<Impl>();
  impl->path = absolute_path(path);
  if (is_frames_path(impl->path)) {
    auto log = FramesReader::open(impl->path);
    if (!log.ok()) return log.status();
    impl->log = std::move(*log);
    impl->identity = impl->log->identity();
    return std::unique_ptr<WriterReader>(new WriterReader(std::move(impl)));
  }
  // Over a network locks may hang. What was finished there is never changed in its place, so none is needed.
  const FsKind disk = fs_kind(impl->path);
  if ((disk == FsKind::kNetwork || disk == FsKind::kFuse) && !path_exists(path + "-wal") && !path_exists(path + "-shm"))
    impl->mode = SqliteOpen::kReadImmutable;
  Status status = impl->probe();
  if (status.code() == Code::kIo) {
    // The usual way needs a -shm file, which cannot be made here. Without locks the file must not change meanwhile,
    // and on media that cannot be written nothing does.
    const bool has_wal = file_size(path + "-wal") > 0;
    impl->mode = has_wal ? SqliteOpen::kReadPrivateWal : SqliteOpen::kReadImmutable;
    const Status again = impl->probe();
    if (!again.ok()) return again.code() == Code::kIo ? status : again;
    status = again;
    if (notice != nullptr)
      *notice = fmt::format("{} is read without locks ({}): its folder cannot be written", path,
                            has_wal ? "with its WAL" : "immutable");
  }
  if (!status.ok() && status.code() == Code::kCorrupt && status.message().find(path) == std::string::npos)
    status = Status(Code::kCorrupt, fmt::format("{}: {}", path, status.message()));
  if (!status.ok()) return status;
  return std::unique_ptr<WriterReader>(new WriterReader(std::move(impl)));
}

Result<WriterSnapshot> WriterReader::snapshot() {
  if (impl_->log) {
    auto out = impl_->log->snapshot();
    if (out.ok() || !impl_->became_database(out.status())) return out;
  }
  const int parts = count_parts(impl_->path);
  auto db = impl_->connect(parts);
  if (!db.ok()) return db.status();
  WriterSnapshot out;
  for (int i = 0; i < kSnapshotTries; ++i) {
    auto taken = impl_->try_snapshot(*db, &out);
    if (!taken.ok()) return taken.status();
    if (!*taken) continue;
    out.parts = parts;
    if (out.attributes_damaged > 0) TRACKER_RETURN_IF_ERROR(impl_->attributes_from_log(&out));
    return out;
  }
  return Status(Code::kBusy, fmt::format("{} changes faster than it is read", impl_->path), "try again");
}

Result<LogPosition> WriterReader::place_of(uint64_t seq) {
  if (impl_->log) {
    auto place = impl_->log->place_of(seq);
    if (place.ok() || !impl_->became_database(place.status())) return place;
  }
  return impl_->place_in_parts(seq);
}

Result<std::unique_ptr<LogLook>> WriterReader::look() {
  if (impl_->log) return std::unique_ptr<LogLook>();
  std::vector<std::string> paths;
  std::vector<Sqlite> dbs;
  for (int part = 1; part <= count_parts(impl_->path); ++part) {
    auto db = impl_->connect(part);
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(db->exec(kLookCache));
    paths.push_back(part_path(impl_->path, part));
    dbs.push_back(std::move(*db));
  }
  return std::make_unique<LogLook>(std::move(paths), std::move(dbs), &impl_->memory);
}

Status WriterReader::read(LogPosition* at, const LogPosition& end, LogVisitor* visitor,
                          std::vector<LogDamage>* damage) {
  if (impl_->log) {
    Status status = impl_->log->read(at, end, visitor, damage);
    if (status.ok() || !impl_->became_database(status)) return status;
  }
  return impl_->read_parts(at, end, visitor, damage);
}

}  // namespace tracker::internal
