// SPDX-License-Identifier: MIT
#include "storage/writer/writer_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/fs.h"
#include "storage/database/log_look.h"
#include "storage/database/log_scan.h"
#include "storage/database/schema.h"
#include "storage/database/table_sum.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/frames_reader.h"
#include "storage/log/log_state.h"
#include "storage/log/series_stats.h"
#include "storage/sqlite/sqlite.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {
namespace {

constexpr int kReaderBusyTimeoutMs = 1000;  // a writer that finishes or recovers holds the file for a moment
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
  std::unique_ptr<FramesReader> log;     // read instead of a database while the file is a .frames file
  std::map<int, DatabaseSize> cut;       // parts that are shorter than they say: what there is of them is read
  std::optional<uint64_t> newest_known;  // frame, where `meta` is not to be believed
  struct FromLog {
    LogPosition end;
    std::map<int, DatabaseSize> cut;
    LogState state;
    std::vector<LogDamage> damage;
  };
  std::unique_ptr<FromLog> from_log;  // as last read; a damaged file is read again and again and seldom changes

  // Whether bytes are missing at the end of the file: SQLite itself does not see it where that is less than a page.
  // With a log the rest may be in there; looked at twice, for a checkpoint may be at work that ends meanwhile.
  static std::optional<DatabaseSize> size_of_cut(const Sqlite& db, const std::string& file) {
    const auto size = db.size();
    if (!size || !size->is_cut() || file_size(file + "-wal") > 0 || db.size() != size) return std::nullopt;
    return size;
  }

  Result<Sqlite> connect(int part) {
    const std::string file = part_path(path, part);
    SqliteOpen how = mode;
    if (part > 1 && mode != SqliteOpen::kRead)
      how = file_size(file + "-wal") > 0 ? SqliteOpen::kReadPrivateWal : SqliteOpen::kReadImmutable;
    auto db = Sqlite::open(file, how, kReaderBusyTimeoutMs);
    if (!db.ok()) return db;
    cut.erase(part);
    if (const auto size = size_of_cut(*db, file)) {
      cut[part] = *size;
      TRACKER_RETURN_IF_ERROR(db->read_cut_file());
    }
    if (part > 1) TRACKER_RETURN_IF_ERROR(check(*db, file));  // probe() looks at the first
    return db;
  }

  // Of a file that ends within its schema or its identity nothing can be read. SQLite takes bytes that are missing for
  // zeros, so that what it finds wrong there is no damage that somebody could mend.
  static Status or_cut(const Sqlite& db, const std::string& file, Status status) {
    if (status.code() != Code::kCorrupt) return status;
    const auto size = db.size();
    if (!size || !size->is_cut()) return status;
    return Status(
        Code::kCorrupt, fmt::format("{}: {}; nothing of it can be read", file, cut_text(*size)),
        "its other bytes are gone: restore it from a copy where there is one; the run's other files are read");
  }

  static Status check(Sqlite& db, const std::string& file) { return or_cut(db, file, check_database(db, file)); }

  Status probe() {
    auto db = connect(1);
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(check(*db, path));
    std::string counts;  // snapshot() says it
    auto meta = read_meta(*db, path, &counts);
    if (!meta.ok()) return or_cut(*db, path, meta.status());
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

  // Behind a damaged page SQLite may refuse to commit, though nothing was written.
  static void end_transaction(Sqlite* db) {
    if (!db->exec("COMMIT").ok() && db->in_transaction()) (void)db->exec("ROLLBACK").ok();
  }

  struct Tables {
    DatabaseMeta meta;
    SeriesMap series;
    std::vector<Attribute> attributes;
    std::vector<Loss> losses;
    std::vector<RingPosition> positions;
    uint64_t newest = 0;  // frame of this part
    std::string damage;   // what of them is not to be believed
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
    // Where the tree of the log is damaged, who reads it says so.
    out->newest = newest.ok() ? *newest : std::min<uint64_t>(out->meta.last_seq, INT64_MAX);
    if (!out->damage.empty()) return {};
    if (judge_tables(out->meta.checksum, sum.crc()) == TableVerdict::kWrong)
      out->damage = "the small tables are not what was written";
    else if (out->newest > out->meta.last_seq)
      out->damage = fmt::format("meta: last_seq is {}, the newest frame is {}", out->meta.last_seq, out->newest);
    return {};
  }

  // What is small is read at one moment. Rows of `series` cover the frames up to stats_seq, the rest is added here. No
  // segment reaches behind stats_seq, so one that is met was made after that moment. False: so it was.
  Result<bool> try_snapshot(Sqlite& db, int part, WriterSnapshot* out) {
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
      if (tables.newest < meta.last_seq && (tables.newest > 0 || part == 1) && out->damage.empty())
        out->damage.push_back({Code::kCorrupt, fmt::format("{}: frames {} to {} were stored and are gone",
                                                           part_path(path, part), tables.newest + 1, meta.last_seq)});
    }
    if (!tables.damage.empty() || out->attributes_damaged > 0 || !cut.empty())
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
    TRACKER_RETURN_IF_ERROR(read_parts(&at, end, &read->state, &read->damage));
    read->cut = cut;
    from_log = std::move(read);
    return {};
  }

  // Tables that are damaged, and what is lost of a file that is cut: the log has it.
  Status take_from_log(Tables* tables, WriterSnapshot* out) {
    DatabaseMeta& meta = tables->meta;
    const bool damaged = !tables->damage.empty();
    TRACKER_RETURN_IF_ERROR(read_log({damaged ? tables->newest : meta.last_seq, 0}));
    const LogState& said = from_log->state;
    const bool whole = from_log->damage.empty();
    out->damage = from_log->damage;
    const auto say = [out](std::string text) { out->damage.push_back({Code::kCorrupt, std::move(text)}); };
    if (damaged)
      say(fmt::format("{}: {}; config, summary, series and end are read from the log", path, tables->damage));
    else if (out->attributes_damaged > 0)
      say(fmt::format(
          "{}: the table of config, summary and attributes is damaged ({} rows); they are read from the log", path,
          out->attributes_damaged));
    for (const auto& [part, size] : cut) say(text_of_cut(part, size, damaged ? nullptr : &meta));
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

  // `meta`: null where it is not known how many points there were.
  std::string text_of_cut(int part, const DatabaseSize& size, const DatabaseMeta* meta) const {
    const uint64_t kept = from_log->state.points;
    const std::string all = meta != nullptr ? std::to_string(meta->points) : "an unknown number of";
    std::string out =
        fmt::format("{}: {}, and {} of {} points can be read", part_path(path, part), cut_text(size), kept, all);
    if (meta != nullptr && kept < meta->points) out += fmt::format("; {} are lost", meta->points - kept);
    return out;
  }

  // Where its counts cannot be the log has the last frame, and the number of points is not known.
  static Result<LogPosition> end_of_part(Sqlite& db, const std::string& file, bool* by_log = nullptr) {
    std::string damage;
    auto meta = read_meta(db, file, &damage);
    if (!meta.ok()) return meta.status();
    if (damage.empty()) return LogPosition{meta->last_seq, meta->points};
    if (by_log != nullptr) *by_log = true;
    auto newest = newest_frame(db);
    if (!newest.ok()) return newest.status();
    return LogPosition{*newest, 0};
  }

  Status read_parts(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage) {
    const int parts = count_parts(path);
    for (int part = 1; part <= parts && at->seq < end.seq; ++part) {
      auto db = connect(part);
      if (!db.ok()) return db.status();
      LogPosition to = end;
      if (part == parts && newest_known) {
        if (*newest_known < end.seq) to = {*newest_known, 0};
      } else {
        auto last = end_of_part(*db, part_path(path, part));
        if (!last.ok()) return last.status();
        if (last->seq <= at->seq) continue;
        if (last->seq <= end.seq) to = *last;
      }
      LogScan scan(&*db, part_path(path, part), identity.writer, at, damage);
      TRACKER_RETURN_IF_ERROR(scan.read(to, visitor));
      if (scan.stopped()) return {};
    }
    return {};
  }

  // Of several parts the one that holds what comes next.
  Result<LogPosition> place_in_parts(uint64_t seq) {
    if (newest_known) return LogPosition();  // a place in a segment is known by the counts of `meta`
    const int parts = count_parts(path);
    LogPosition end;
    for (int part = 1; part <= parts; ++part) {
      auto db = connect(part);
      if (!db.ok()) return db.status();
      bool by_log = false;
      auto last = end_of_part(*db, part_path(path, part), &by_log);
      if (!last.ok()) return last.status();
      if (by_log) return LogPosition();  // as above
      end = *last;
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
  for (int earlier = 1; earlier < parts; ++earlier) (void)impl_->connect(earlier).ok();  // which of them are cut
  auto db = impl_->connect(parts);
  if (!db.ok()) return db.status();
  WriterSnapshot out;
  for (int i = 0; i < kSnapshotTries; ++i) {
    auto taken = impl_->try_snapshot(*db, parts, &out);
    if (!taken.ok()) return taken.status();
    if (!*taken) continue;
    out.parts = parts;
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
