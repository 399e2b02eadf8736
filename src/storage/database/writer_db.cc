// SPDX-License-Identifier: MIT
// Longer than other files: an append, a checkpoint and an end share one state of a file that others may change.
#include "storage/database/writer_db.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/fs.h"
#include "storage/database/checked_frames.h"
#include "storage/database/compaction.h"
#include "storage/database/own_commits.h"
#include "storage/database/part_files.h"
#include "storage/database/schema.h"
#include "storage/database/stats_table.h"
#include "storage/database/table_sum.h"
#include "storage/database/writer_locks.h"
#include "storage/database/writer_parts.h"
#include "storage/database/writer_statements.h"
#include "storage/log/ring_positions.h"
#include "storage/log/stats_due.h"
#include "storage/sqlite/sqlite.h"
#include "storage/sqlite/sqlite_calls.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kShrinkWalBytes = 256 * 1024;  // a smaller WAL is not worth an fsync
constexpr int kAppendBusyTimeoutMs = 100;         // for an append; no other process of ours writes this file
constexpr int kCheckpointPages = 1000;            // after a durable append, which has waited for the disk anyway
constexpr int kCheckpointPagesAlways = 16384;     // 64 MiB: also after other appends, so that the WAL stays bounded
constexpr uint64_t kPageBytes = 4096;
// for series without a row; longer names are written with the next append
constexpr size_t kNamesHeldBytesMax = 512 * 1024;
constexpr int kLeaveWalMs = 250;  // how long to wait for idle readers, after everything is in the database
// A reader may block the checkpoint for a moment only, so the WAL must be too large after this many commits in a row.
constexpr int kPinnedCommitsMin = 10;

std::atomic<uint64_t> g_wal_bytes_max{kWalBytesMax};

}  // namespace

struct WriterDb::Impl {
  std::string path;
  bool detached = false;
  int commits_over_limit = 0;  // in a row, with a WAL larger than wal_bytes_max()
  PartChange change = PartChange::kNone;
  WriterIdentity identity;  // of the file, once that is read
  WriterLocks locks;
  PartFiles files;
  Sqlite db;
  WriterStatements sql;
  bool full_sync = false;
  bool closed = false, writer_is_dead = false;
  uint64_t heartbeat_us = 0;  // as loaded

  Compaction compaction;
  DiskGate disk_gate;
  int64_t next_compaction_ns = 0;  // not before
  // The fields below are as committed if `sound` is true. Else they must be read again before they are used: an append
  // that failed half way, also because memory ran out, has changed them.
  bool sound = false;
  OwnCommits own;
  uint64_t stats_seq = 0, durable_seq = 0;
  uint64_t last_seq = 0, points = 0, frames = 0, frame_bytes = 0;
  uint64_t stats_points = 0;  // the value when the rows of `series` were last written
  std::vector<RingPosition> positions;
  StatsTable series;                // without names of rows that are written
  bool has_table_sum = false;       // there is a checksum, of the tables as they were before this writer continued
  std::string cost;                 // to be written with the next heartbeat
  std::vector<uint32_t> unwritten;  // series whose row is older than their newest frame, sorted
  int64_t stats_written_ns = 0;

  explicit Impl(const WriterIdentity& of) : identity(of), compaction(of.writer) {}
  ~Impl() { close(); }

  Status start() {
    if (!detached) TRACKER_RETURN_IF_ERROR(locks.acquire(path));
    return open();
  }

  void close_connection() {
    sql.reset();
    db.close();
  }

  void close_all() {
    close_connection();
    locks.close();
  }

  void close() { close_all(), closed = true; }

  // This part is not touched again.
  Status leave(PartChange why) {
    change = why;
    return Status(Code::kIo, fmt::format("{} {}", path, part_change_text(why)));
  }

  // Call before each transaction, checkpoint and step of a compaction, and after a write that must have reached the
  // file.
  Status check_files() {
    if (detached) return {};
    if (change != PartChange::kNone && change != PartChange::kPinned) return leave(change);
    if (!locks.in_place()) {
      if (path_exists(path)) return leave(PartChange::kReplaced);
      // If it has a name elsewhere, its folder was moved away: wait until it is moved back.
      return locks.removed() ? leave(PartChange::kRemoved) : Status(Code::kIo, path + " was moved away");
    }
    const PartChange found = files.change(path);
    return found == PartChange::kNone ? Status() : leave(found);
  }

  // Opens the connection and reads the committed state. After an I/O error too: only the database can say whether the
  // transaction was committed.
  Status open() {
    auto opened = Sqlite::open(path, detached ? SqliteOpen::kDetached : SqliteOpen::kWrite, kAppendBusyTimeoutMs);
    if (!opened.ok()) return opened.status();
    sound = false;
    db = std::move(*opened);
    Status status = load();
    if (!status.ok()) close_connection();
    sound = status.ok();
    files.opened(path);
    if (status.code() == Code::kCorrupt) (void)leave(PartChange::kUnreadable).ok();
    return status;
  }

  // Bytes that the disk does not return are not damaged: they are read again later, and nothing is concluded now.
  Status load() {
    Status status = load_tables();
    const bool concluded = status.code() == Code::kCorrupt && db.has_refused_read();
    return concluded ? Status(Code::kIo, status.message() + ", after a read that its disk refused") : status;
  }

  Status load_tables() {
    if (detached) TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA locking_mode=EXCLUSIVE"));
    TRACKER_RETURN_IF_ERROR(check_database(db, path));
    TRACKER_RETURN_IF_ERROR(set_modes());
    const auto newest = newest_frame(db);  // before `meta`, which another process may write meanwhile
    if (!newest.ok()) return newest.status();
    auto meta = read_meta(db, path);
    if (!meta.ok()) return meta.status();
    if (meta->identity.writer != identity.writer)
      return Status(Code::kCorrupt, fmt::format("{} belongs to writer {}", path, meta->identity.writer.hex()));
    if (*newest > meta->last_seq)
      return Status(Code::kCorrupt,
                    fmt::format("{}: meta says {} is the newest frame, and {} is", path, meta->last_seq, *newest));
    auto all_positions = read_positions(db);
    if (!all_positions.ok()) return all_positions.status();
    auto rows = read_series(db);
    if (!rows.ok()) return rows.status();
    has_table_sum = meta->checksum.has_value();
    if (has_table_sum) {
      const auto sum = check_table_sum(db);
      if (!sum.ok()) return sum.status();
      if (*sum == TableVerdict::kWrong)
        return Status(Code::kCorrupt, path + ": the small tables are not what was written");
    }
    identity.part = meta->identity.part;
    identity.before = meta->identity.before;
    stats_seq = meta->stats_seq;
    last_seq = meta->last_seq;
    durable_seq = meta->durable_seq;
    points = meta->points;
    frames = meta->frames;
    frame_bytes = meta->frame_bytes;
    heartbeat_us = static_cast<uint64_t>(meta->heartbeat_us);
    positions = std::move(*all_positions);
    series.clear();
    unwritten.clear();
    stats_written_ns = 0;
    stats_points = 0;
    for (auto row = rows->begin(); row != rows->end(); row = rows->erase(row)) {
      row->second.def.name.clear();  // it is in the table
      series.add(row->second);
    }
    TRACKER_RETURN_IF_ERROR(read_stats_after(db, stats_seq, [this](const SeriesMap& one) { add_series(one); }));
    TRACKER_RETURN_IF_ERROR(compaction.load(db));
    return sql.prepare(db);
  }

  Status set_modes() {
    full_sync = false;
    if (detached) {
      TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA journal_mode=OFF"));
      return db.exec("PRAGMA synchronous=OFF");
    }
    auto mode = db.query_text("PRAGMA journal_mode");
    if (!mode.ok()) return mode.status();
    if (*mode != "wal") return Status(Code::kBusy, fmt::format("{} is not in WAL mode but \"{}\"", path, *mode));
    TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA synchronous=NORMAL"));
    // Some builds of SQLite overwrite deleted content: compaction would write all pages twice.
    TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA secure_delete=OFF"));
    return db.exec(fmt::format("PRAGMA journal_size_limit={}", kWalKeepBytes).c_str());
  }

  Status ensure_open() {
    if (closed) return Status(Code::kClosed, fmt::format("{} is closed", path));
    if (!detached && change != PartChange::kNone && change != PartChange::kPinned) return leave(change);
    if (!detached && locks.is_closed_by_others()) close_all();  // SQLite's descriptors may be closed too
    if (!detached && !locks.db()) {
      if (locks.removed()) return leave(PartChange::kRemoved);
      return locks.lost_to_another() ? leave(PartChange::kReplaced) : start();
    }
    if (db && !sound) {
      TRACKER_RETURN_IF_ERROR(check_files());
      close_connection();
    }
    return db ? Status() : open();
  }

  // Nothing where `found` is kNone.
  Status left_by(const Result<PartChange>& found) {
    if (!found.ok()) return found.status();
    return *found == PartChange::kNone ? Status() : leave(*found);
  }

  void add_series(const SeriesMap& later) {
    add_ids(later, &unwritten);
    for (const auto& [id, stats] : later) series.add(stats);
  }

  Status put_meta(std::string_view key, uint64_t value) {
    return sql.set_meta.bind(key).bind(static_cast<int64_t>(value)).run();
  }

  Status put_sign_of_life(uint64_t now_us) {
    if (!cost.empty()) TRACKER_RETURN_IF_ERROR(sql.set_meta.bind(meta_key::kCost).bind_blob(cost).run());
    return put_meta(meta_key::kHeartbeat, now_us);
  }

  // The content of one append, within its transaction.
  Status write(const CheckedFrames& pending, const std::vector<uint64_t>& retired, bool durable, bool with_stats) {
    for (const CheckedFrames::One& frame : pending.frames) {
      sql.insert_frame.bind(static_cast<int64_t>(frame.record->seq)).bind(static_cast<int64_t>(frame.points));
      sql.insert_frame.bind(frame.time_first_us).bind(frame.time_last_us);
      TRACKER_RETURN_IF_ERROR(sql.insert_frame.bind_blob(frame.record->bytes).run());
      if (!frame.has_events) continue;
      auto view = FrameView::parse(frame.record->bytes, false);
      if (!view.ok()) return view.status();
      TRACKER_RETURN_IF_ERROR(sql.event_rows.apply(*view));
    }
    for (const RingPosition& position : pending.positions)
      TRACKER_RETURN_IF_ERROR(sql.set_position_row.bind(static_cast<int64_t>(position.nonce))
                                  .bind(static_cast<int64_t>(position.position))
                                  .run());
    for (const uint64_t nonce : retired)
      TRACKER_RETURN_IF_ERROR(sql.drop_position.bind(static_cast<int64_t>(nonce)).run());
    if (!pending.frames.empty()) {
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kLastSeq, pending.last_seq));
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kPoints, points + pending.points));
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kFrames, frames + pending.frames.size()));
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kFrameBytes, frame_bytes + pending.bytes));
    }
    // A durable transaction must write something, or nothing is synced.
    if (durable)
      TRACKER_RETURN_IF_ERROR(put_sign_of_life(writer_is_dead ? heartbeat_us : static_cast<uint64_t>(realtime_us())));
    // No reader uses this before the fsync; the caller of a detached file syncs the file before renaming it.
    if (durable || detached) TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kDurableSeq, pending.last_seq));
    return with_stats ? write_stats(pending.last_seq) : Status();
  }

  Status write_stats(uint64_t up_to) {
    for (const uint32_t id : unwritten) TRACKER_RETURN_IF_ERROR(write_series(sql.write_series_row, *series.find(id)));
    return put_meta(meta_key::kStatsSeq, up_to);
  }

  void stats_are_written() {
    series.forget_names();
    unwritten.clear();
    stats_seq = last_seq;
    stats_points = points;
    stats_written_ns = monotonic_ns();
  }

  bool is_rolled_back() { return !db.in_transaction() || db.exec("ROLLBACK").ok(); }

  template <typename Body>
  Status transaction(bool durable, Body&& body) {
    Status status;
    if (durable != full_sync) {
      status = db.exec(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
      full_sync = durable;
    }
    if (status.ok()) status = sql.begin.run();
    if (status.ok()) status = left_by(OwnCommits::check_within(sql.read_last, last_seq));
    if (status.ok() && has_table_sum) status = drop_table_sum(db);
    if (status.ok()) status = body();
    if (status.ok()) status = sql.commit.run();
    const bool sync_failed = !status.ok() && db.sync_failed();
    // If other code has closed one of our descriptors meanwhile, the locks are gone as well and another process may
    // have deleted the WAL: only a new connection shows what is stored.
    if (db.is_lost() || (status.ok() && !detached && locks.is_closed_by_others())) status = closed_by_others(path);
    if (status.ok()) {
      has_table_sum = false;
      files.committed(path);
      return status;
    }
    if (sync_failed) status = leave(PartChange::kSyncFailed);
    if (status.code() == Code::kBusy && is_rolled_back()) return status;
    // After an I/O error only a new connection shows what is in the file. The locks are kept, so that no process
    // deletes the WAL meanwhile.
    close_connection();
    return status;
  }

  // Not part of the commit: if it fails, everything is in the WAL and the next one tries again.
  void checkpoint_if_due(bool durable) {
    if (db.wal_pages() < (durable ? kCheckpointPages : kCheckpointPagesAlways)) return;
    (void)checkpoint(Sqlite::Checkpoint::kPassive).ok();
  }

  // Reserve the space first: a checkpoint that a full disk interrupts leaves a file that is complete only together with
  // its log.
  Status checkpoint(Sqlite::Checkpoint kind) {
    TRACKER_RETURN_IF_ERROR(check_files());
    TRACKER_RETURN_IF_ERROR(db.allocate());
    const Status done = db.checkpoint(kind);
    const bool sync_failed = !done.ok() && db.sync_failed();
    files.checkpointed(path, db.bytes());
    return sync_failed ? leave(PartChange::kSyncFailed) : done;
  }

  Status append(std::span<const FrameRecord* const> records, bool durable, const std::vector<uint64_t>& retired,
                bool force_stats) {
    TRACKER_RETURN_IF_ERROR(ensure_open());
    TRACKER_RETURN_IF_ERROR(check_files());
    if (!detached) TRACKER_RETURN_IF_ERROR(left_by(own.check(db, last_seq, records)));
    sound = false;
    auto pending =
        check_frames(records, identity.writer, last_seq, path, [this](const SeriesMap& one) { add_series(one); });
    if (!pending.ok()) return pending.status();
    const bool nothing = pending->frames.empty() && retired.empty() && !durable && !force_stats;
    sound = nothing;
    if (nothing) return {};
    const bool due = force_stats || series.name_bytes() > kNamesHeldBytesMax ||
                     stats_due(durable, points + pending->points - stats_points, monotonic_ns() - stats_written_ns);
    const bool with_stats = due && !unwritten.empty();
    TRACKER_RETURN_IF_ERROR(transaction(durable, [&] { return write(*pending, retired, durable, with_stats); }));
    last_seq = pending->last_seq;
    if (durable || detached) durable_seq = last_seq;
    if (!records.empty()) own.committed(last_seq);  // else nothing was compared with the file
    points += pending->points;
    frames += pending->frames.size();
    frame_bytes += pending->bytes;
    for (const RingPosition& position : pending->positions) set_position(position, &positions);
    drop_positions(retired, &positions);
    compaction.appended(pending->frames.size(), pending->bytes);
    if (with_stats) stats_are_written();
    sound = true;
    // A file that lost its name or its log during the commit is lost.
    if (durable) TRACKER_RETURN_IF_ERROR(check_files());
    if (!detached && !force_stats) check_wal_size(durable);
    return {};
  }

  // `series` includes it at once: readers complete that table from frames only.
  Status append_segment(std::string_view bytes) {
    TRACKER_RETURN_IF_ERROR(ensure_open());
    TRACKER_RETURN_IF_ERROR(check_files());
    auto view = SegmentView::parse(bytes);
    if (!view.ok()) return view.status();
    if (view->writer() != identity.writer || view->first_seq() <= last_seq)
      return Status(Code::kInvalid, fmt::format("{}: the segment of frame {} of writer {} does not follow frame {}",
                                                path, view->first_seq(), view->writer().hex(), last_seq));
    SegmentLog log;
    TRACKER_RETURN_IF_ERROR(view->log(&log));
    auto stats = compute_segment_stats(&*view, log);
    if (!stats.ok()) return stats.status();
    auto segment = foreign_segment(&*view, bytes);
    if (!segment.ok()) return segment.status();
    sound = false;
    SeriesMap named;
    for (const SeriesDef& def : log.defs) named[def.id].def = def;
    add_series(named);
    add_series(stats->series);
    const uint64_t newest = view->last_seq(), all_points = points + view->points(),
                   all_frames = frames + view->frames(), all_bytes = frame_bytes + bytes.size();
    const auto write_all = [&]() -> Status {
      TRACKER_RETURN_IF_ERROR(Compaction::write(db, *segment));
      TRACKER_RETURN_IF_ERROR(sql.event_rows.apply(log.events, log.losses));
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kLastSeq, newest));
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kPoints, all_points));
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kFrames, all_frames));
      TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kFrameBytes, all_bytes));
      return write_stats(newest);
    };
    TRACKER_RETURN_IF_ERROR(transaction(false, write_all));
    last_seq = newest;
    points = all_points;
    frames = all_frames;
    frame_bytes = all_bytes;
    own.committed(last_seq);
    stats_are_written();
    sound = true;
    checkpoint_if_due(false);
    return compaction.load(db);
  }

  // A WAL keeps its largest size until it is truncated.
  void shrink() {
    struct stat st{};
    if (detached || ::stat((path + "-wal").c_str(), &st) != 0 || static_cast<uint64_t>(st.st_size) < kShrinkWalBytes)
      return;
    db.set_busy_timeout(static_cast<int>(kShrinkWait.count()));
    (void)checkpoint(Sqlite::Checkpoint::kTruncate).ok();
    db.set_busy_timeout(kAppendBusyTimeoutMs);
  }

  // A reader that stays in a transaction prevents SQLite from starting the WAL again after a checkpoint. At the limit,
  // when everything is fsynced, the writer must continue in the next part.
  void check_wal_size(bool durable) {
    checkpoint_if_due(durable);
    const bool over = static_cast<uint64_t>(db.wal_pages()) * kPageBytes >= wal_bytes_max();
    commits_over_limit = over ? commits_over_limit + 1 : 0;
    if (over) (void)checkpoint(Sqlite::Checkpoint::kPassive).ok();
    if (commits_over_limit < kPinnedCommitsMin || identity.part >= kPartsMax || change != PartChange::kNone) return;
    if (append({}, true, {}, true).ok()) change = PartChange::kPinned;
  }

  // `series` includes the rows that become a segment: readers complete it from frames only. A WAL that a reader holds
  // is not filled.
  Result<bool> compact(uint64_t up_to, bool all) {
    TRACKER_RETURN_IF_ERROR(ensure_open());
    TRACKER_RETURN_IF_ERROR(check_files());
    if ((db.wal_pages() >= kCheckpointPagesAlways && !all) || (disk_gate && !disk_gate())) return false;
    const auto inside = [this](const Compaction::Body& body) {
      const bool stats_are_old = stats_seq < last_seq;
      TRACKER_RETURN_IF_ERROR(transaction(false, [&] {
        const Status status = body();
        return status.ok() && stats_are_old ? write_stats(last_seq) : status;
      }));
      if (stats_are_old) stats_are_written();
      return Status();
    };
    auto more = compaction.step(db, std::min(up_to, last_seq), all, inside);
    if (more.ok() && !detached) checkpoint_if_due(false);
    return more;
  }

  Status compact_at_end() {
    const int64_t deadline = monotonic_ns() + compact_at_end_ns();
    Result<bool> more = true;
    while (more.ok() && *more && monotonic_ns() < deadline) more = compact(UINT64_MAX, true);
    if (detached) return more.status();  // a failed step leaves the file unfinished
    return ensure_open();
  }

  // The last transaction; a later one removes the checksum.
  Status sum_up() {
    const auto write = [this] { return write_table_sum(db, series); };
    TRACKER_RETURN_IF_ERROR(transaction(false, write));
    has_table_sum = true;
    return {};
  }

  Status finish(int timeout_ms) {
    if (detached) {
      TRACKER_RETURN_IF_ERROR(append({}, false, {}, true));
      TRACKER_RETURN_IF_ERROR(compact_at_end());
      return sum_up();
    }
    const int64_t deadline = monotonic_ns() + int64_t{timeout_ms} * 1'000'000;
    TRACKER_RETURN_IF_ERROR(append({}, true, {}, true));
    TRACKER_RETURN_IF_ERROR(compact_at_end());
    TRACKER_RETURN_IF_ERROR(sum_up());
    db.set_busy_timeout(std::min(timeout_ms, static_cast<int>(kFinishReadersWait.count())));
    TRACKER_RETURN_IF_ERROR(checkpoint(Sqlite::Checkpoint::kTruncate));
    TRACKER_RETURN_IF_ERROR(check_files());
    // Everything is in the database now, so a second SQLite copy can only delete an empty WAL from here on.
    locks.release();
    return leave_wal(&db, path, std::min(deadline, monotonic_ns() + int64_t{kLeaveWalMs} * 1'000'000));
  }
};

WriterDb::WriterDb(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WriterDb::~WriterDb() = default;

Result<std::unique_ptr<WriterDb>> WriterDb::create(const std::string& run_path, const WriterIdentity& identity) {
  const std::string path =
      part_path(join_path(run_path, identity.writer.hex() + ".db"), static_cast<int>(identity.part));
  // SQLite would read the log of the deleted database as the new one's.
  if (!path_exists(path))
    for (const char* suffix : {"-wal", "-shm", "-journal"}) remove_file(path + suffix);
  TRACKER_RETURN_IF_ERROR(create_database_file(path, identity));
  return open_there(path, identity);
}

Result<std::unique_ptr<WriterDb>> WriterDb::open_or_create(const std::string& run_path,
                                                           const WriterIdentity& identity) {
  const std::string path =
      part_path(join_path(run_path, identity.writer.hex() + ".db"), static_cast<int>(identity.part));
  if (!path_exists(path)) {
    auto made = create(run_path, identity);
    if (made.status().code() != Code::kExists) return made;
  }
  {
    // Check its version before writing anything. A finished database returns to WAL mode; not under our locks, because
    // SQLite needs the file for itself for that.
    auto db = Sqlite::open(path, SqliteOpen::kWrite, 1000);
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(check_database(*db, path));
    auto mode = db->query_text("PRAGMA journal_mode=WAL");
    if (!mode.ok()) return mode.status();
  }
  return open_there(path, identity);
}

Result<std::unique_ptr<WriterDb>> WriterDb::open_there(const std::string& path, const WriterIdentity& identity) {
  auto impl = std::make_unique<Impl>(identity);
  impl->path = path;
  TRACKER_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<WriterDb>(new WriterDb(std::move(impl)));
}

Result<std::unique_ptr<WriterDb>> WriterDb::open_detached(const std::string& path, const WriterIdentity& identity) {
  auto impl = std::make_unique<Impl>(identity);
  impl->path = path;
  impl->detached = true;
  TRACKER_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<WriterDb>(new WriterDb(std::move(impl)));
}

const std::string& WriterDb::path() const { return impl_->path; }
uint64_t WriterDb::last_seq() const { return std::max(impl_->last_seq, impl_->identity.before.seq); }
uint64_t WriterDb::durable_seq() const { return impl_->durable_seq; }
const std::vector<RingPosition>& WriterDb::positions() const { return impl_->positions; }
uint64_t WriterDb::points_stored() const { return impl_->points; }
uint64_t WriterDb::bytes_stored() const { return impl_->frame_bytes; }
PartChange WriterDb::change() const { return impl_->change; }

// With a connection of its own: that of the writer may be closed. Compaction does not touch frames before they are
// durable.
Result<std::vector<FrameRecord>> WriterDb::not_durable() {
  auto db = Sqlite::open(impl_->path, SqliteOpen::kRead, kAppendBusyTimeoutMs);
  if (!db.ok()) return db.status();
  auto rows = db->prepare("SELECT seq, data FROM frames WHERE seq>? ORDER BY seq");
  if (!rows.ok()) return rows.status();
  rows->bind(static_cast<int64_t>(impl_->durable_seq));
  std::vector<FrameRecord> out;
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) return out;
    out.push_back({rows->u64_at(0), std::string(rows->bytes_at(1)), {}});
  }
}

Status WriterDb::append_batch(std::span<const FrameRecord* const> frames, bool durable,
                              const std::vector<uint64_t>& retired) {
  return impl_->append(frames, durable, retired, false);
}

Status WriterDb::append_segment(std::string_view bytes) { return impl_->append_segment(bytes); }

Status WriterDb::heartbeat(int64_t now_us) {
  TRACKER_RETURN_IF_ERROR(impl_->ensure_open());
  TRACKER_RETURN_IF_ERROR(impl_->check_files());
  const auto now = static_cast<uint64_t>(now_us);
  if (impl_->writer_is_dead) impl_->heartbeat_us = now;  // durable commits write it again
  return impl_->transaction(false, [&] { return impl_->put_sign_of_life(now); });
}

void WriterDb::keep_heartbeat() { impl_->writer_is_dead = true; }

void WriterDb::set_cost(const std::string& cbor) { impl_->cost = cbor; }
void WriterDb::set_disk_gate(const DiskGate& gate) { impl_->disk_gate = gate; }

// A failure of compaction is not a failure of the run: either the disk refuses the next commit too, or a page is
// damaged, which readers report.
bool WriterDb::compact(uint64_t up_to) {
  auto more = impl_->compact(up_to, false);
  if (!more.ok()) impl_->next_compaction_ns = monotonic_ns() + kCompactionRetryNs;
  return more.ok() && *more;
}

bool WriterDb::compaction_due(uint64_t up_to) const {
  return impl_->db && impl_->compaction.due(std::min(up_to, impl_->last_seq)) &&
         monotonic_ns() >= impl_->next_compaction_ns;
}

Status WriterDb::compact_all(bool at_end) {
  Result<bool> more = at_end || impl_->compaction.due(impl_->last_seq);
  while (more.ok() && *more) more = impl_->compact(UINT64_MAX, at_end);
  return more.status();
}

void WriterDb::shrink() {
  if (impl_->db) impl_->shrink();
}

Status WriterDb::finish(int timeout_ms) {
  Status status = impl_->finish(timeout_ms);
  impl_->close();
  return status;
}

uint64_t wal_bytes_max() { return g_wal_bytes_max.load(); }
void set_wal_bytes_max_for_testing(uint64_t bytes) { g_wal_bytes_max = bytes; }

}  // namespace tracker::internal
