// SPDX-License-Identifier: MIT
// Longer than other files: what an append, a checkpoint and an end do with a file that others may touch is one state.
#include "storage/database/writer_db.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "storage/database/checked_frames.h"
#include "storage/database/compaction.h"
#include "storage/database/counts_from_log.h"
#include "storage/database/own_commits.h"
#include "storage/database/own_files.h"
#include "storage/database/put_back.h"
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

constexpr uint64_t kShrinkWalBytes = 256 * 1024;    // a smaller WAL is not worth an fsync
constexpr int kAppendBusyTimeoutMs = 100;           // of an append; nobody else of ours writes this file
constexpr std::chrono::milliseconds kFinishNap{5};  // between two looks whether a file may be put back
constexpr int kCheckpointPages = 1000;              // after a durable append, which has waited for the disk anyway
constexpr int kCheckpointPagesAlways = 16384;       // 64 MiB: also after others, so that the WAL stays bounded
constexpr uint64_t kPageBytes = 4096;
constexpr size_t kNamesHeldBytesMax = 512 * 1024;  // of series without a row; more are written with the next append
constexpr int kLeaveWalMs = 250;                   // for idle readers to go, once everything is in the database

}  // namespace

struct WriterDb::Impl {
  std::string base;  // of part 1
  std::string path;  // of the part that is written
  int part = 1;
  bool detached = false;
  int commits_over_limit = 0;  // in a row, with a WAL of wal_bytes_max()
  int64_t next_part_ns = 0;    // not before
  int put_backs = 0;
  PutBackPace put_back_pace;
  OtherWalWait other_wal;
  Status harm;  // that the last one could not mend
  WriterIdentity identity;
  WriterLocks locks;
  OwnFiles files;
  Sqlite db;
  WriterStatements sql;
  bool full_sync = false;
  bool closed = false, writer_is_dead = false;
  uint64_t heartbeat_us = 0;  // as loaded

  Compaction compaction;
  DiskGate disk_gate;
  int64_t next_compaction_ns = 0;  // not before
  // As committed, where `sound`; else it is read again before it is used: what failed half way, and be it for want of
  // memory, has left it ahead.
  bool sound = false;
  OwnCommits own;
  uint64_t stats_seq = 0, durable_seq = 0;
  uint64_t last_seq = 0, points = 0, frames = 0, frame_bytes = 0;
  uint64_t stats_points = 0;  // that the rows of `series` were last written for
  std::vector<RingPosition> positions;
  StatsTable series;                // without names of rows that are written
  bool sum_stands = false;          // a checksum of the tables as they were before this writer went on
  bool tables_damaged = false;      // by that checksum, or by what cannot be; the next checksum is a wrong one
  bool counts_from_log = false;     // counts and series, whose rows are damaged: the next transaction writes them
  bool series_whole = false;        // then: by a log without damage, so that there are no others
  uint64_t newest = 0;              // then: frame of this part
  std::string cost;                 // to be written with the next sign of life
  std::vector<uint32_t> unwritten;  // series whose row is older than their frames, sorted
  int64_t stats_written_ns = 0;

  explicit Impl(const WriterIdentity& of) : identity(of), compaction(of.writer) {}
  ~Impl() { close(); }

  Status start() {
    if (!detached) TRACKER_RETURN_IF_ERROR(locks.acquire(path));
    return open();
  }

  // Descriptors were closed by others, or the locks of a new part could not be had. A file that took the place of ours
  // meanwhile may lack what was committed: removed() says then that ours is gone.
  Status start_again() {
    if (part == 1 && locks.lost_to_another()) TRACKER_RETURN_IF_ERROR(set_other_file_aside(path));
    return start();
  }

  // Who took this process for dead has brought our log into the file, added frames and removed it, or is about to. Else
  // what is only in our log would be gone with the connection.
  Status mend() {
    if (!locks.in_place() || files.has_own_wal(path)) return put_back();
    const auto stored = last_seq_without_wal(path);
    if (stored && *stored > last_seq) return own.leave();
    if (stored && *stored == last_seq && !files.may_be_half()) return close_all(), start();
    // Who recovers cuts our log only when the file has all of it.
    if (!files.is_log_cut(path)) TRACKER_RETURN_IF_ERROR(other_wal.wait(path));
    return put_back();
  }

  Status put_back() {
    if (const Status may = put_back_pace.begin(path); !may.ok()) return harm.ok() ? may : harm;
    const bool is_whole = !locks.in_place() || files.is_whole(path);  // another file's length says nothing of ours
    harm = put_database_back(&db, path, identity.writer, files.has_own_wal(path), is_whole);
    put_back_pace.end();
    if (harm.code() == Code::kCorrupt && files.is_log_cut(path)) {
      harm = Status();  // what was cut off is gone: what is left says so, and is gone on behind
      return close_all(), start();
    }
    if (!harm.ok()) return harm;
    ++put_backs;
    close_connection();
    locks.forget();
    return start();
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

  // Opens the connection and takes over what is committed, also after an I/O error: whether its transaction is there
  // only the database knows.
  Status open() {
    const bool has_other_log = !files.has_own_wal(path);
    auto opened = Sqlite::open(path, detached ? SqliteOpen::kDetached : SqliteOpen::kWrite, kAppendBusyTimeoutMs);
    if (!opened.ok()) return opened.status();
    sound = false;
    db = std::move(*opened);
    Status status = load();
    if (!status.ok()) close_connection();
    // Our hold on the index keeps in it what a log had that is gone: without it the next try makes it anew.
    if (!status.ok() && has_other_log) locks.close();
    sound = status.ok();
    files.begin(path);
    return status;
  }

  // What a disk refuses to read is not damaged: it is tried again, and nothing is concluded from it.
  Status load() {
    const uint64_t refused = sqlite_reads_failed();
    Status status = load_tables(refused);
    const bool concluded = status.code() == Code::kCorrupt && sqlite_reads_failed() != refused;
    return concluded ? Status(Code::kIo, status.message() + ", behind a read that its disk refused") : status;
  }

  Status load_tables(uint64_t refused) {
    const auto is_damage = [refused](const Status& status) {
      return status.code() == Code::kCorrupt && sqlite_reads_failed() == refused;
    };
    if (detached) TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA locking_mode=EXCLUSIVE"));
    TRACKER_RETURN_IF_ERROR(check_database(db, path));
    TRACKER_RETURN_IF_ERROR(set_modes());
    const auto newest_there = newest_frame(db);  // in front of `meta`, which another process may move on meanwhile
    if (!newest_there.ok() && !is_damage(newest_there.status())) return newest_there.status();
    std::string damage;
    auto meta = read_meta(db, path, &damage);
    if (!meta.ok()) return meta.status();
    if (meta->identity.writer != identity.writer)
      return Status(Code::kCorrupt, fmt::format("{} belongs to writer {}", path, meta->identity.writer.hex()));
    auto all_positions = read_positions(db);
    if (!all_positions.ok()) return all_positions.status();
    auto rows = read_series(db);
    if (!rows.ok() && !is_damage(rows.status())) return rows.status();
    sum_stands = meta->checksum.has_value();
    if (sum_stands && rows.ok()) {
      const auto sum = check_table_sum(db);
      if (!sum.ok()) return sum.status();
      tables_damaged = tables_damaged || *sum == TableVerdict::kWrong;
    }
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
    counts_from_log = !damage.empty() || !rows.ok() || (newest_there.ok() && *newest_there > meta->last_seq);
    if (counts_from_log) {
      TRACKER_RETURN_IF_ERROR(newest_there.status());
      TRACKER_RETURN_IF_ERROR(take_from_log(*newest_there));
    } else {
      for (auto row = rows->begin(); row != rows->end(); row = rows->erase(row)) {
        row->second.def.name.clear();  // it is in the table
        series.add(row->second);
      }
      TRACKER_RETURN_IF_ERROR(read_stats_behind(db, stats_seq, [this](const SeriesMap& one) { add_series(one); }));
    }
    TRACKER_RETURN_IF_ERROR(compaction.load(db));
    return sql.prepare(db);
  }

  // What the log says of counts and series, as its readers take it, where the tables say what cannot be.
  Status take_from_log(uint64_t newest_there) {
    auto said = read_counts_from_log(&db, base, path, part, identity.writer, newest_there);
    if (!said.ok()) return said.status();
    newest = newest_there;
    last_seq = stats_seq = said->last_seq;
    points = said->state.points;
    frames = said->state.frames;
    if (frame_bytes == 0 || frame_bytes > INT64_MAX) frame_bytes = said->frame_bytes;
    add_series(said->state.series);
    series_whole = said->whole;
    tables_damaged = true;  // of the other tables nothing is certain
    return {};
  }

  // Within the first transaction behind take_from_log().
  Status write_from_log() {
    const auto there = newest_frame(db);
    if (!there.ok()) return there.status();
    if (*there != newest) return own.leave();
    TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kLastSeq, last_seq));
    TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kPoints, points));
    TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kFrames, frames));
    TRACKER_RETURN_IF_ERROR(put_meta(meta_key::kFrameBytes, frame_bytes));
    if (series_whole) TRACKER_RETURN_IF_ERROR(db.exec("DELETE FROM series"));
    return write_stats(last_seq);
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
    // Some builds overwrite what is deleted: compaction would write all pages twice.
    TRACKER_RETURN_IF_ERROR(db.exec("PRAGMA secure_delete=OFF"));
    return db.exec(fmt::format("PRAGMA journal_size_limit={}", kWalKeepBytes).c_str());
  }

  Status ensure_open() {
    if (closed) return Status(Code::kClosed, fmt::format("{} is closed", path));
    if (!detached && locks.is_closed_by_others()) close_all();  // what SQLite has open may be, too; its locks are gone
    if (!detached && !locks.db()) return start_again();
    if (db && !sound) {
      TRACKER_RETURN_IF_ERROR(stay_in_place());
      close_connection();
    }
    return db ? Status() : open();
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

  // Everything of one append, inside its transaction.
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
    // Nobody reads this before the fsync; who makes a file detached syncs it before it gets its name.
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
    const uint64_t lost = sqlite_descriptors_lost();
    if (durable != full_sync) {
      status = db.exec(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
      full_sync = durable;
    }
    if (status.ok()) status = sql.begin.run();
    if (status.ok()) status = counts_from_log ? write_from_log() : own.check_within(sql.read_last, last_seq);
    if (status.ok() && sum_stands) status = drop_table_sum(db);
    if (status.ok()) status = body();
    if (status.ok()) status = sql.commit.run();
    // Without its locks the WAL may have been taken away meanwhile: only a new connection knows what is stored.
    if (status.ok() && !detached && locks.is_closed_by_others()) status = closed_by_others(path);
    if (status.ok()) {
      sum_stands = false;
      if (counts_from_log) stats_are_written();
      counts_from_log = false;
      files.committed(path);
      return status;
    }
    if (status.code() == Code::kBusy && is_rolled_back()) return status;
    // After an I/O error only a new connection knows what is in the file. The locks stay, so nobody takes the WAL
    // away meanwhile.
    if (lost != sqlite_descriptors_lost()) status = closed_by_others(path);
    // It stays until the next try all the same: a log that somebody removes meanwhile is open here alone.
    if (status.code() != Code::kIo || !is_rolled_back()) close_connection();
    return status;
  }

  // Not part of the commit: when it fails everything is in the WAL and the next one tries again.
  void checkpoint_if_due(bool durable) {
    if (db.wal_pages() < (durable ? kCheckpointPages : kCheckpointPagesAlways)) return;
    (void)checkpoint(Sqlite::Checkpoint::kPassive).ok();
  }

  // Room for all of it first: a checkpoint that a full disk ends half way leaves a file that is whole only with its
  // log.
  Status checkpoint(Sqlite::Checkpoint kind) {
    TRACKER_RETURN_IF_ERROR(db.allocate());
    const Status done = db.checkpoint(kind);
    files.checkpointed(path, done, kind == Sqlite::Checkpoint::kTruncate, db.bytes());
    return done;
  }

  Status stay_in_place() {
    const bool is = detached || (locks.in_place() && files.has_own_wal(path) && files.is_whole(path));
    return is ? Status() : mend();
  }

  Status append(std::span<const FrameRecord* const> records, bool durable, const std::vector<uint64_t>& retired,
                bool force_stats) {
    TRACKER_RETURN_IF_ERROR(ensure_open());
    TRACKER_RETURN_IF_ERROR(stay_in_place());
    if (!detached) TRACKER_RETURN_IF_ERROR(own.check(db, last_seq, records));
    sound = false;
    auto pending =
        check_frames(records, identity.writer, last_seq, path, [this](const SeriesMap& one) { add_series(one); });
    if (!pending.ok()) return pending.status();
    const bool nothing = pending->frames.empty() && retired.empty() && !durable && !force_stats;
    sound = nothing;
    if (nothing) return {};
    const bool due = force_stats || series.name_bytes() > kNamesHeldBytesMax ||
                     stats_due(durable, points + pending->points - stats_points, monotonic_ns() - stats_written_ns);
    const bool with_stats = (due && !unwritten.empty()) || counts_from_log;
    TRACKER_RETURN_IF_ERROR(transaction(durable, [&] { return write(*pending, retired, durable, with_stats); }));
    last_seq = pending->last_seq;
    if (durable || detached) durable_seq = last_seq;
    if (!records.empty()) own.committed(last_seq);  // else nothing was held against what is there
    points += pending->points;
    frames += pending->frames.size();
    frame_bytes += pending->bytes;
    for (const RingPosition& position : pending->positions) set_position(position, &positions);
    drop_positions(retired, &positions);
    compaction.appended(pending->frames.size(), pending->bytes);
    if (with_stats) stats_are_written();
    sound = true;
    // Durable is what has a name: a log that went while this ran is put back before anybody is told so.
    if (durable) TRACKER_RETURN_IF_ERROR(stay_in_place());
    if (!detached && !force_stats) leave_pinned_wal(durable);
    return {};
  }

  // A WAL keeps the size that it once had until it is truncated.
  void shrink() {
    struct stat st{};
    if (detached || ::stat((path + "-wal").c_str(), &st) != 0 || static_cast<uint64_t>(st.st_size) < kShrinkWalBytes)
      return;
    db.set_busy_timeout(static_cast<int>(kShrinkWait.count()));
    (void)checkpoint(Sqlite::Checkpoint::kTruncate).ok();
    db.set_busy_timeout(kAppendBusyTimeoutMs);
  }

  // A WAL that is at its limit and is not begun anew by commits after checkpoints is held by a reader. When the
  // next part cannot be made, or not be opened, the next append tries again.
  void leave_pinned_wal(bool durable) {
    checkpoint_if_due(durable);
    const bool over = static_cast<uint64_t>(db.wal_pages()) * kPageBytes >= wal_bytes_max();
    commits_over_limit = over ? commits_over_limit + 1 : 0;
    if (over) (void)checkpoint(Sqlite::Checkpoint::kPassive).ok();
    if (commits_over_limit < kPinnedCommitsMin || part >= kPartsMax || monotonic_ns() < next_part_ns) return;
    next_part_ns = monotonic_ns() + kNextPartRetryNs;
    Status status = append({}, true, {}, true);  // the series rows go with the small tables
    if (status.ok()) status = create_part(db, base, part + 1, identity);
    if (!status.ok()) return;
    close_all();
    path = part_path(base, ++part);
    commits_over_limit = 0;
    next_part_ns = 0;
    (void)start().ok();
  }

  // `series` covers what becomes a segment: its readers complete it from frames alone. A WAL that a reader pins is not
  // filled.
  Result<bool> compact(uint64_t up_to, bool all) {
    TRACKER_RETURN_IF_ERROR(ensure_open());
    if ((db.wal_pages() >= kCheckpointPagesAlways && !all) || (disk_gate && !disk_gate())) return false;
    const auto inside = [this](const Compaction::Body& body) {
      const bool behind = stats_seq < last_seq;
      TRACKER_RETURN_IF_ERROR(transaction(false, [&] {
        const Status status = body();
        return status.ok() && behind ? write_stats(last_seq) : status;
      }));
      if (behind) stats_are_written();
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
    if (detached) return more.status();  // what failed half way is half done there
    return ensure_open();
  }

  // The last transaction of all: the next one drops it.
  Status sum_up() {
    const auto write = [this] { return write_table_sum(db, series, tables_damaged); };
    TRACKER_RETURN_IF_ERROR(transaction(false, write));
    sum_stands = true;
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
    db.set_busy_timeout(timeout_ms);
    TRACKER_RETURN_IF_ERROR(checkpoint(Sqlite::Checkpoint::kTruncate));
    const int put_back_before = put_backs;
    Status in_place = stay_in_place();  // a copy may have taken its name meanwhile
    while (!in_place.ok() && monotonic_ns() < deadline) {
      std::this_thread::sleep_for(kFinishNap);
      in_place = ensure_open();  // what could not be mended may have closed it
      if (in_place.ok()) in_place = stay_in_place();
    }
    TRACKER_RETURN_IF_ERROR(in_place);
    if (put_backs != put_back_before) TRACKER_RETURN_IF_ERROR(checkpoint(Sqlite::Checkpoint::kTruncate));
    // All is in the database now, so a WAL that a second SQLite copy deletes from here on is an empty one.
    locks.release();
    for (int earlier = 1; earlier < part; ++earlier) settle_part(part_path(base, earlier), kLeaveWalMs / part);
    return leave_wal(&db, path, std::min(deadline, monotonic_ns() + int64_t{kLeaveWalMs} * 1'000'000));
  }
};

WriterDb::WriterDb(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WriterDb::~WriterDb() = default;

Result<std::unique_ptr<WriterDb>> WriterDb::create(const std::string& run_path, const WriterIdentity& identity) {
  auto impl = std::make_unique<Impl>(identity);
  impl->base = impl->path = join_path(run_path, identity.writer.hex() + ".db");
  TRACKER_RETURN_IF_ERROR(create_database_file(impl->path, identity));
  TRACKER_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<WriterDb>(new WriterDb(std::move(impl)));
}

Result<std::unique_ptr<WriterDb>> WriterDb::open_or_create(const std::string& run_path,
                                                           const WriterIdentity& identity) {
  const std::string base = join_path(run_path, identity.writer.hex() + ".db");
  TRACKER_RETURN_IF_ERROR(prepare_parts(base));
  // Making one needs room, which a full disk does not have for the recovery of one that is there.
  Status created = path_exists(base) ? Status(Code::kExists, base) : create_database_file(base, identity);
  if (!created.ok() && created.code() != Code::kExists) return created;
  const int part = count_parts(base);
  const std::string path = part_path(base, part);
  if (!created.ok()) {
    // Its version is looked at before anything is written. One that was finished goes back to WAL mode; not under our
    // locks, for that takes the file for itself.
    auto db = Sqlite::open(path, SqliteOpen::kWrite, 1000);
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(check_database(*db, path));
    auto mode = db->query_text("PRAGMA journal_mode=WAL");
    if (!mode.ok()) return mode.status();
  }
  auto impl = std::make_unique<Impl>(identity);
  impl->base = base;
  impl->path = path;
  impl->part = part;
  TRACKER_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<WriterDb>(new WriterDb(std::move(impl)));
}

Result<std::unique_ptr<WriterDb>> WriterDb::open_detached(const std::string& path, const WriterIdentity& identity) {
  auto impl = std::make_unique<Impl>(identity);
  impl->base = impl->path = path;
  impl->detached = true;
  TRACKER_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<WriterDb>(new WriterDb(std::move(impl)));
}

const std::string& WriterDb::path() const { return impl_->path; }
uint64_t WriterDb::last_seq() const { return impl_->last_seq; }
uint64_t WriterDb::durable_seq() const { return impl_->durable_seq; }
const std::vector<RingPosition>& WriterDb::positions() const { return impl_->positions; }
uint64_t WriterDb::points_stored() const { return impl_->points; }
uint64_t WriterDb::bytes_stored() const { return impl_->frame_bytes; }
int WriterDb::parts() const { return impl_->part; }
int WriterDb::put_back() const { return impl_->put_backs; }
bool WriterDb::taken_over() const { return impl_->own.taken_over(); }
bool WriterDb::taken_back() const { return impl_->own.taken_back(); }
bool WriterDb::removed() const { return !impl_->detached && impl_->locks.removed(); }

Status WriterDb::append_batch(std::span<const FrameRecord* const> frames, bool durable,
                              const std::vector<uint64_t>& retired) {
  return impl_->append(frames, durable, retired, false);
}

Status WriterDb::heartbeat(int64_t now_us) {
  TRACKER_RETURN_IF_ERROR(impl_->ensure_open());
  TRACKER_RETURN_IF_ERROR(impl_->stay_in_place());
  const auto now = static_cast<uint64_t>(now_us);
  return impl_->transaction(false, [&] { return impl_->put_sign_of_life(now); });
}

void WriterDb::for_the_dead() { impl_->writer_is_dead = true; }

void WriterDb::set_cost(std::string cbor) { impl_->cost = std::move(cbor); }
void WriterDb::set_disk_gate(DiskGate gate) { impl_->disk_gate = std::move(gate); }

// A failure is not the run's: the disk refuses the next commit, too, or a page is damaged, which readers will say.
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
  if (!holds_last_copy()) impl_->close();
  return status;
}

bool WriterDb::holds_last_copy() const { return !impl_->detached && impl_->db && !impl_->locks.in_place(); }

}  // namespace tracker::internal
