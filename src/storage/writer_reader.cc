// SPDX-License-Identifier: MIT
#include "storage/writer_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fs.h"
#include "storage/frames_reader.h"
#include "storage/schema.h"
#include "storage/series_stats.h"
#include "storage/sqlite.h"
#include "storage/store_files.h"
#include "storage/writer_parts.h"

namespace tracker::internal {
namespace {

constexpr int kBusyTimeoutMs = 1000;  // a writer that finishes or recovers holds the file for a moment
constexpr size_t kBatchBytes = 4 * 1024 * 1024;
constexpr int64_t kBatchNs = 100'000'000;  // a row that is begun is read to its end
constexpr int64_t kTransactionNsMax = 250'000'000;
static_assert(2 * kBatchNs <= kTransactionNsMax, "P11: no reader holds a transaction longer");
constexpr size_t kDamageLinesMax = 1000;  // also the length of a gap behind which nothing more is looked for

struct StoredFrame {
  uint64_t seq = 0;
  std::string bytes;
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
  std::unique_ptr<FramesReader> log;  // read instead of a database while the file is a .frames file

  Result<Sqlite> connect(int part) const {
    const std::string file = part_path(path, part);
    SqliteOpen how = mode;
    if (part > 1 && mode != SqliteOpen::kRead)
      how = file_size(file + "-wal") > 0 ? SqliteOpen::kReadPrivateWal : SqliteOpen::kReadImmutable;
    return Sqlite::open(file, how, kBusyTimeoutMs);
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

  // One short read: rows behind `cursor` up to `last`, as many as the batch's bounds allow.
  static Status read_batch(Sqlite& db, uint64_t cursor, uint64_t last, std::vector<StoredFrame>* out) {
    out->clear();
    auto rows = db.prepare("SELECT seq, data FROM frames WHERE seq>? AND seq<=? ORDER BY seq");
    if (!rows.ok()) return rows.status();
    rows->bind(static_cast<int64_t>(cursor)).bind(static_cast<int64_t>(last));
    const int64_t begun = monotonic_ns();
    for (size_t bytes = 0; bytes < kBatchBytes && monotonic_ns() - begun < kBatchNs;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) break;
      out->push_back({rows->u64_at(0), std::string(rows->bytes_at(1))});
      bytes += out->back().bytes.size();
    }
    return {};
  }

  // Row by row where a scan meets a damaged page; what can be reached is read.
  static void read_singly(Sqlite& db, uint64_t cursor, uint64_t last, std::vector<StoredFrame>* out) {
    const int64_t begun = monotonic_ns();
    size_t missing = 0;
    size_t bytes = 0;
    for (uint64_t seq = cursor + 1; seq <= last && missing < kDamageLinesMax && bytes < kBatchBytes; ++seq) {
      if (monotonic_ns() - begun > kBatchNs && !out->empty()) return;
      auto rows = db.prepare("SELECT data FROM frames WHERE seq=?");
      if (!rows.ok()) return;
      rows->bind(static_cast<int64_t>(seq));
      auto row = rows->step();
      if (!row.ok() || !*row) {
        ++missing;
        continue;
      }
      missing = 0;
      out->push_back({seq, std::string(rows->bytes_at(0))});
      bytes += out->back().bytes.size();
    }
  }

  Status check_frame(const StoredFrame& frame) const {
    auto view = FrameView::parse(frame.bytes);
    if (!view.ok()) return view.status();
    if (view->seq() != frame.seq) return Status(Code::kCorrupt, fmt::format("frame says it is {}", view->seq()));
    if (view->writer() != identity.writer) return Status(Code::kCorrupt, "frame of writer " + view->writer().hex());
    return {};
  }

  Status frames(Sqlite& db, uint64_t after, uint64_t last, const std::function<bool(uint64_t, std::string_view)>& visit,
                std::vector<std::string>* damage) const {
    const auto report = [&](uint64_t seq, const Status& what) {
      if (damage != nullptr && damage->size() < kDamageLinesMax)
        damage->push_back(fmt::format("{}: frame {}: {}", path, seq, what.message()));
    };
    std::vector<StoredFrame> batch;
    bool go_on = true;
    uint64_t cursor = after;
    // A damaged tree may answer rows that were not asked for, again and again: only what lies ahead counts.
    const auto take = [&] {
      const uint64_t before = cursor;
      for (const StoredFrame& frame : batch) {
        if (frame.seq <= cursor || frame.seq > last) {
          report(frame.seq, Status(Code::kCorrupt, "out of order"));
          continue;
        }
        cursor = frame.seq;
        const Status sound = check_frame(frame);
        if (!sound.ok()) report(frame.seq, sound);
        else if (!(go_on = visit(frame.seq, frame.bytes))) break;
      }
      return cursor > before;
    };
    while (go_on && cursor < last) {
      const Status status = read_batch(db, cursor, last, &batch);
      if (!status.ok() && status.code() != Code::kCorrupt) return status;
      if (take()) continue;
      if (!status.ok()) report(cursor + 1, status);
      if (status.ok() && batch.empty()) return {};
      batch.clear();
      read_singly(db, cursor, last, &batch);
      if (!take()) return {};
    }
    return {};
  }

  // Rows of `series` cover the frames up to stats_seq; the rest is added here.
  Status complete_series(Sqlite& db, const DatabaseMeta& meta, SeriesMap* series,
                         std::vector<std::string>* damage) const {
    const auto add = [&](uint64_t seq, std::string_view bytes) {
      auto view = FrameView::parse(bytes, false);
      auto stats = view.ok() ? compute_frame_stats(*view) : Result<FrameStats>(view.status());
      if (!stats.ok()) {
        damage->push_back(fmt::format("{}: frame {}: {}", path, seq, stats.status().message()));
        return true;
      }
      for (const auto& [id, later] : stats->series) {
        const auto [at, is_new] = series->try_emplace(id, later);
        if (!is_new) append_stats(later, &at->second);
      }
      return true;
    };
    return frames(db, meta.stats_seq, meta.last_seq, add, damage);
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
  if (!is_regular_file(path)) return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
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
  // What is small is read at one moment; frames never change, so those up to last_seq may be read after it.
  TRACKER_RETURN_IF_ERROR(db->exec("BEGIN"));
  auto meta = read_meta(*db, impl_->path);
  if (!meta.ok()) return meta.status();
  auto series = read_series(*db);
  if (!series.ok()) return series.status();
  auto attributes = read_attributes(*db);
  if (!attributes.ok()) return attributes.status();
  auto losses = read_losses(*db);
  if (!losses.ok()) return losses.status();
  auto positions = read_positions(*db);
  if (!positions.ok()) return positions.status();
  TRACKER_RETURN_IF_ERROR(db->exec("COMMIT"));
  WriterSnapshot out;
  TRACKER_RETURN_IF_ERROR(impl_->complete_series(*db, *meta, &*series, &out.damage));
  out.identity = std::move(meta->identity);
  out.last_seq = meta->last_seq;
  out.attributes = std::move(*attributes);
  out.losses = std::move(*losses);
  out.end = meta->end;
  out.recovered = std::move(meta->recovered);
  out.heartbeat_us = meta->heartbeat_us;
  out.points = meta->points;
  out.frames = meta->frames;
  out.frame_bytes = meta->frame_bytes;
  out.positions = std::move(*positions);
  out.parts = parts;
  put_series(std::move(*series), &out);
  return out;
}

Status WriterReader::frames(uint64_t after, const std::function<bool(uint64_t seq, std::string_view bytes)>& visit,
                            std::vector<std::string>* damage) {
  if (impl_->log) {
    Status status = impl_->log->frames(after, visit, damage);
    if (status.ok() || !impl_->became_database(status)) return status;
  }
  bool stopped = false;
  const auto visit_until_stopped = [&](uint64_t seq, std::string_view bytes) {
    stopped = !visit(seq, bytes);
    return !stopped;
  };
  const int parts = count_parts(impl_->path);
  for (int part = 1; part <= parts && !stopped; ++part) {
    auto db = impl_->connect(part);
    if (!db.ok()) return db.status();
    auto meta = read_meta(*db, part_path(impl_->path, part));
    if (!meta.ok()) return meta.status();
    TRACKER_RETURN_IF_ERROR(impl_->frames(*db, after, meta->last_seq, visit_until_stopped, damage));
    after = std::max(after, meta->last_seq);
  }
  return {};
}

}  // namespace tracker::internal
