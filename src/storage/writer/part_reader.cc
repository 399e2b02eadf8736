// SPDX-License-Identifier: MIT
#include "storage/writer/part_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/fs.h"
#include "storage/database/log_scan.h"
#include "storage/database/schema.h"
#include "storage/database/table_sum.h"
#include "storage/database/writer_paths.h"
#include "storage/frames/frames_reader.h"
#include "storage/log/log_state.h"
#include "storage/log/series_stats.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {
namespace {

constexpr int kReaderBusyTimeoutMs = 1000;  // a writer that finishes, or recovery, holds the file for a moment
constexpr int kSnapshotTries = 5;           // frames that the statistics lack may become a segment meanwhile

// Adds the series of frames to those that are known.
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

uint64_t file_size(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
}

}  // namespace

// The connection is open for one operation: an open one keeps a writer that finishes from leaving WAL mode, and a
// console would hold thousands of descriptors. Opening costs about 0.1 ms.
struct PartReader::Impl {
  std::string path;
  SqliteOpen mode = SqliteOpen::kRead;
  WriterIdentity identity;
  std::unique_ptr<FramesReader> log;     // read instead of a database while the file is a .frames file
  std::optional<DatabaseSize> cut;       // it is shorter than its header says: the existing part is read
  std::optional<uint64_t> newest_known;  // number of the newest frame, if `meta` is damaged
  struct FromLog {
    LogPosition end;
    std::optional<DatabaseSize> cut;
    LogState state;
    std::vector<LogDamage> damage;
  };
  std::unique_ptr<FromLog> from_log;  // the last result; a damaged file is read many times and seldom changes

  // Whether bytes are missing at the end of the file: SQLite itself does not notice fewer than a page. With a log the
  // rest may be in the log; checked twice, because a checkpoint may end meanwhile.
  static std::optional<DatabaseSize> size_of_cut(const Sqlite& db, const std::string& file) {
    const auto size = db.size();
    if (!size || !size->is_cut() || file_size(file + "-wal") > 0 || db.size() != size) return std::nullopt;
    return size;
  }

  Result<Sqlite> connect() {
    auto db = Sqlite::open(path, mode, kReaderBusyTimeoutMs);
    if (!db.ok()) return db;
    cut = size_of_cut(*db, path);
    if (cut) TRACKER_RETURN_IF_ERROR(db->read_cut_file());
    return db;
  }

  // A file that ends within its schema or its identity cannot be read at all. SQLite reads missing bytes as zeros: what
  // it then reports as damage cannot be fixed in the file.
  Status or_cut(const Sqlite& db, Status status) const {
    if (status.code() != Code::kCorrupt) return status;
    const auto size = db.size();
    if (!size || !size->is_cut()) return status;
    return Status(
        Code::kCorrupt, fmt::format("{}: {}; nothing of it can be read", path, cut_text(*size)),
        "its other bytes are gone: restore it from a copy where there is one; the run's other files are read");
  }

  Status probe() {
    auto db = connect();
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(or_cut(*db, check_database(*db, path)));
    std::string counts;  // damage of the counts, which snapshot() reports
    auto meta = read_meta(*db, path, &counts);
    if (!meta.ok()) return or_cut(*db, meta.status());
    identity = std::move(meta->identity);
    return {};
  }

  // Returns true if its writer has ended meanwhile, and the .frames file has become a database with the same frames.
  bool became_database(const Status& status) {
    if (status.code() != Code::kNotFound || !path_exists(db_path_of(path))) return false;
    path = db_path_of(path);
    log.reset();
    return probe().ok();
  }

  // After reading a damaged page SQLite may refuse to commit, although nothing was written.
  static void end_transaction(Sqlite* db) {
    if (!db->exec("COMMIT").ok() && db->in_transaction()) (void)db->exec("ROLLBACK").ok();
  }

  struct Tables {
    DatabaseMeta meta;
    SeriesMap series;
    std::vector<Attribute> attributes;
    std::vector<Loss> losses;
    std::vector<RingPosition> positions;
    uint64_t newest = 0;  // frame
    std::string damage;   // of a table, whose content is then read from the log; empty: none
  };

  // Failures of one table leave the others.
  Status read_tables(Sqlite& db, Tables* out, uint64_t* attributes_damaged) const {
    TableSum sum;
    auto meta = read_meta(db, path, &out->damage, &sum);
    if (!meta.ok()) return meta.status();
    out->meta = std::move(*meta);
    const auto take = [out](auto read, auto* into) {
      if (read.ok()) *into = std::move(*read);
      else if (read.status().code() == Code::kCorrupt) out->damage = read.status().message();
      else return read.status();
      return Status();
    };
    TRACKER_RETURN_IF_ERROR(take(read_series(db, &sum), &out->series));
    TRACKER_RETURN_IF_ERROR(take(read_attributes(db, attributes_damaged, &sum), &out->attributes));
    TRACKER_RETURN_IF_ERROR(take(read_losses(db, &sum), &out->losses));
    TRACKER_RETURN_IF_ERROR(take(read_positions(db), &out->positions));
    auto newest = newest_frame(db);
    if (!newest.ok() && newest.status().code() != Code::kCorrupt) return newest.status();
    // Damage in the tree of the log is reported when the log is read.
    out->newest = newest.ok() ? *newest : std::min<uint64_t>(out->meta.last_seq, INT64_MAX);
    if (!out->damage.empty()) return {};
    if (judge_tables(out->meta.checksum, sum.crc()) == TableVerdict::kWrong)
      out->damage = "the small tables are not what was written";
    else if (out->newest > out->meta.last_seq)
      out->damage = fmt::format("meta: last_seq is {}, the newest frame is {}", out->meta.last_seq, out->newest);
    return {};
  }

  // Reads the small tables in one transaction. Rows of `series` cover the frames up to stats_seq; the statistics of
  // later frames are added here. No segment goes beyond stats_seq, so one that is found was made after the transaction.
  // Returns false then, and the caller tries again.
  Result<bool> try_snapshot(Sqlite& db, WriterSnapshot* out) {
    *out = WriterSnapshot();
    Tables tables;
    TRACKER_RETURN_IF_ERROR(db.exec("BEGIN"));
    const Status status = read_tables(db, &tables, &out->attributes_damaged);
    end_transaction(&db);
    TRACKER_RETURN_IF_ERROR(status);
    const DatabaseMeta& meta = tables.meta;
    newest_known.reset();
    if (!tables.damage.empty()) {
      newest_known = tables.newest;
    } else {
      LogPosition at{meta.stats_seq, 0};
      StatsVisitor visitor(&tables.series);
      LogScan scan(&db, path, identity.writer, &at, &out->damage);
      TRACKER_RETURN_IF_ERROR(scan.read({meta.last_seq, meta.points}, &visitor));
      if (visitor.met_segment()) return false;
      if (tables.newest < meta.last_seq && out->damage.empty())
        out->damage.push_back({Code::kCorrupt, fmt::format("{}: frames {} to {} were stored and are gone", path,
                                                           tables.newest + 1, meta.last_seq)});
    }
    if (!tables.damage.empty() || out->attributes_damaged > 0 || cut)
      TRACKER_RETURN_IF_ERROR(take_from_log(&tables, out));
    put(std::move(tables), out);
    return true;
  }

  static void put(Tables tables, WriterSnapshot* out) {
    DatabaseMeta& meta = tables.meta;
    out->identity = std::move(meta.identity);
    out->last_seq = meta.last_seq;
    out->durable_seq = std::min(meta.durable_seq, meta.last_seq);
    out->attributes = std::move(tables.attributes);
    out->losses = std::move(tables.losses);
    out->end = meta.end;
    out->recovered = std::move(meta.recovered);
    out->step_max = meta.step_max;
    out->heartbeat_us = meta.heartbeat_us;
    out->cost = meta.end && !meta.end->cost.is_null() ? meta.end->cost : meta.cost;
    out->points = meta.points;
    out->frames = meta.frames;
    out->frame_bytes = meta.frame_bytes;
    out->positions = std::move(tables.positions);
    put_series(std::move(tables.series), out);
  }

  Status read_log(const LogPosition& end) {
    if (from_log && from_log->end == end && from_log->cut == cut) return {};
    auto read = std::make_unique<FromLog>();
    read->end = end;
    LogPosition at;
    TRACKER_RETURN_IF_ERROR(this->read(&at, end, &read->state, &read->damage));
    read->cut = cut;
    from_log = std::move(read);
    return {};
  }

  // Reads from the log what damaged tables, or the missing end of a cut file, held.
  Status take_from_log(Tables* tables, WriterSnapshot* out) {
    DatabaseMeta& meta = tables->meta;
    const bool damaged = !tables->damage.empty();
    TRACKER_RETURN_IF_ERROR(read_log({damaged ? tables->newest : meta.last_seq, 0}));
    const LogState& said = from_log->state;
    const bool whole = from_log->damage.empty();
    out->damage = from_log->damage;
    const auto say = [out](std::string text) { out->damage.push_back({Code::kCorrupt, std::move(text)}); };
    if (damaged) say(with_path(tables->damage) + "; config, summary, series and end are read from the log");
    else if (out->attributes_damaged > 0)
      say(fmt::format(
          "{}: the table of config, summary and attributes is damaged ({} rows); they are read from the log", path,
          out->attributes_damaged));
    if (cut) say(text_of_cut(damaged ? nullptr : &meta));
    if (damaged || out->attributes_damaged > 0) tables->attributes = said.events.attributes();
    if (!damaged) return {};
    tables->series = said.series;
    tables->losses = said.events.losses();
    if (said.events.end() || whole) meta.end = said.events.end();
    if (said.events.recovered() || whole) meta.recovered = said.events.recovered();
    if (said.events.step_max() || whole) meta.step_max = said.events.step_max();
    meta.last_seq = tables->newest;
    meta.points = said.points;
    meta.frames = said.frames;
    return {};
  }

  // SQLite's messages start with the path, ours do not.
  std::string with_path(const std::string& text) const {
    return text.starts_with(path) ? text : fmt::format("{}: {}", path, text);
  }

  // `meta`: null if the number of points is unknown.
  std::string text_of_cut(const DatabaseMeta* meta) const {
    const uint64_t kept = from_log->state.points;
    const std::string all = meta != nullptr ? std::to_string(meta->points) : "an unknown number of";
    std::string out = fmt::format("{}: {}, and {} of {} points can be read", path, cut_text(*cut), kept, all);
    if (meta != nullptr && kept < meta->points) out += fmt::format("; {} are lost", meta->points - kept);
    return out;
  }

  Result<WriterSnapshot> whole() {
    if (log) {
      auto out = log->snapshot();
      if (out.ok() || !became_database(out.status())) return out;
    }
    auto db = connect();
    if (!db.ok()) return db.status();
    WriterSnapshot out;
    for (int i = 0; i < kSnapshotTries; ++i) {
      auto taken = try_snapshot(*db, &out);
      if (!taken.ok()) return taken.status();
      if (*taken) return out;
    }
    return Status(Code::kBusy, fmt::format("{} changes faster than it is read", path), "try again");
  }

  // The tables include frames that the next part has too: the counts of the frames before these are read from the log.
  Status limit(uint64_t up_to, WriterSnapshot* out) {
    TRACKER_RETURN_IF_ERROR(read_log({up_to, 0}));
    const LogState& said = from_log->state;
    out->last_seq = up_to;
    out->durable_seq = std::min(out->durable_seq, up_to);
    out->series.clear();
    out->attributes = said.events.attributes();
    out->losses = said.events.losses();
    out->end = said.events.end();
    out->recovered = said.events.recovered();
    out->step_max = said.events.step_max();
    out->points = said.points;
    out->frames = said.frames;
    out->dropped = out->texts_dropped = out->entries_dropped = 0;
    put_series(said.series, out);
    return {};
  }

  Result<WriterSnapshot> snapshot(uint64_t up_to) {
    auto out = whole();
    if (out.ok() && out->last_seq > up_to) TRACKER_RETURN_IF_ERROR(limit(up_to, &*out));
    return out;
  }

  // From the counts of `meta`; nothing if they are damaged.
  Result<std::optional<LogPosition>> end_by_meta(Sqlite& db) const {
    std::string damage;
    auto meta = read_meta(db, path, &damage);
    if (!meta.ok()) return meta.status();
    if (!damage.empty()) return std::optional<LogPosition>();
    return std::optional<LogPosition>({meta->last_seq, meta->points});
  }

  Status read(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage) {
    if (log) {
      Status status = log->read(at, end, visitor, damage);
      if (status.ok() || !became_database(status)) return status;
    }
    auto db = connect();
    if (!db.ok()) return db.status();
    LogPosition to = end;
    if (newest_known) {
      if (*newest_known < end.seq) to = {*newest_known, 0};
    } else {
      auto last = end_by_meta(*db);
      if (!last.ok()) return last.status();
      const auto newest = *last ? Result<uint64_t>((*last)->seq) : newest_frame(*db);
      if (!newest.ok()) return newest.status();
      if (*newest <= end.seq) to = last->value_or(LogPosition{*newest, 0});
    }
    LogScan scan(&*db, path, identity.writer, at, damage);
    return scan.read(to, visitor);
  }
};

PartReader::PartReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PartReader::~PartReader() = default;
const std::string& PartReader::path() const { return impl_->path; }
const WriterIdentity& PartReader::identity() const { return impl_->identity; }
bool PartReader::is_frames() const { return impl_->log != nullptr; }

Result<std::unique_ptr<PartReader>> PartReader::open(const std::string& path, std::string* notice) {
  if (!path_exists(path)) {
    if (is_frames_path(path) && path_exists(db_path_of(path))) return open(db_path_of(path), notice);
    return Status(Code::kNotFound, fmt::format("{} does not exist", path));
  }
  // SQLite would block on a pipe.
  if (is_no_file(path)) return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
  auto impl = std::make_unique<Impl>();
  impl->path = absolute_path(path);
  if (is_frames_path(impl->path)) {
    auto log = FramesReader::open(impl->path);
    if (!log.ok()) return log.status();
    impl->log = std::move(*log);
    impl->identity = impl->log->identity();
    return std::unique_ptr<PartReader>(new PartReader(std::move(impl)));
  }
  // Over a network locks may hang. A finished database is never changed in place, so no lock is needed.
  const FsKind disk = fs_kind(impl->path);
  if ((disk == FsKind::kNetwork || disk == FsKind::kFuse) && !path_exists(path + "-wal") && !path_exists(path + "-shm"))
    impl->mode = SqliteOpen::kReadImmutable;
  Status status = impl->probe();
  if (status.code() == Code::kIo) {
    // The usual way needs a -shm file, which cannot be made here. Without locks the file must not change meanwhile, and
    // on media that cannot be written it does not.
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
  return std::unique_ptr<PartReader>(new PartReader(std::move(impl)));
}

Result<WriterSnapshot> PartReader::snapshot(uint64_t up_to) { return impl_->snapshot(up_to); }

Result<LogPosition> PartReader::end_of_log(uint64_t up_to) {
  if (!impl_->log && !impl_->newest_known) {
    auto db = impl_->connect();
    if (!db.ok()) return db.status();
    auto said = impl_->end_by_meta(*db);
    if (!said.ok()) return said.status();
    if (*said && (*said)->seq <= up_to) return **said;
  }
  auto all = impl_->snapshot(up_to);
  if (!all.ok()) return all.status();
  return all->end_of_log();
}

Result<LogPosition> PartReader::place_of(uint64_t seq) {
  if (impl_->log) {
    auto place = impl_->log->place_of(seq);
    if (place.ok() || !impl_->became_database(place.status())) return place;
  }
  if (impl_->newest_known) return LogPosition();  // a place in a segment is known from the counts of `meta`
  auto db = impl_->connect();
  if (!db.ok()) return db.status();
  auto end = impl_->end_by_meta(*db);
  if (!end.ok()) return end.status();
  if (!*end) return LogPosition();  // as above
  return (*end)->seq > seq ? place_in_log(*db, seq) : **end;
}

Result<Sqlite> PartReader::connect() { return impl_->connect(); }

Status PartReader::read(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage) {
  return impl_->read(at, end, visitor, damage);
}

}  // namespace tracker::internal
