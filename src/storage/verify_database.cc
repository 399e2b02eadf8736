// SPDX-License-Identifier: MIT
// verify: one writer's database, all parts of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/fs.h"
#include "storage/log_totals.h"
#include "storage/sqlite.h"
#include "storage/store_files.h"
#include "storage/verify_internal.h"
#include "storage/writer_parts.h"

namespace tracker::internal {
namespace {

constexpr int kBusyTimeoutMs = 1000;
constexpr size_t kBatchBytes = 4u << 20;
constexpr int64_t kBatchNs = 100'000'000;  // P11, as every reader
constexpr uint64_t kHoleMax = 1000;  // rows in a row that a damaged tree does not give; then the rest is not sought
constexpr const char* kTreeAdvice = "keep a copy; `tracker export` writes what can still be read";

struct FrameRow {
  uint64_t seq = 0, points = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  std::string bytes;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "; ") + line;
  return out;
}

// One look at the database. Without locks (`live` false) a change meanwhile may look like damage: verify_database()
// then looks again.
class DatabaseCheck {
 public:
  DatabaseCheck(Verifier& verifier, const std::string& path, const RunIdentity* run, bool live)
      : verifier_(verifier), path_(path), run_(run), live_(live) {}

  WriterVerdict run() {
    parts_ = count_parts(path_);
    if (check_files() && open_last()) {
      for (int part = 1; part <= parts_; ++part)
        if (!check_part(part)) readable_ = false;
      judge_frames();
      if (readable_ && bad_.empty() && missing_.empty() && !tree_damaged_) judge_tables();
    }
    out_.frames = totals_ ? totals_->frames() : 0;
    out_.points = totals_ ? totals_->points() : 0;
    out_.live = live_;
    return std::move(out_);
  }

 private:
  void damage(std::string kind, const std::string& file, std::string what, std::string advice,
              std::string intact = "") {
    out_.findings.push_back(
        {FindingLevel::kDamage, std::move(kind), file, std::move(what), std::move(intact), std::move(advice)});
  }

  void failed(const std::string& file, const Status& status) {
    if (status.code() == Code::kVersion)
      out_.findings.push_back({FindingLevel::kNewer, "newer-version", file, status.message(), "", status.hint()});
    else if (status.code() == Code::kCorrupt) damage("database-header", file, status.message(), kRestoreAdvice);
    else damage("unreadable", file, status.message(), "look at the disk and at the file's permissions");
  }

  std::string part(int number) const { return part_path(path_, number); }

  bool check_files() {
    for (int number = 1; number <= parts_; ++number) {
      if (!is_regular_file(part(number))) {
        damage("database-header", part(number), "is no regular file", kRestoreAdvice);
        return false;
      }
      // With a WAL the file may be shorter than its header says: the rest is in there.
      if (is_whole_database(part(number)) || size_of_file(part(number) + "-wal") > 0) continue;
      auto head = open_file(part(number), 0);
      if (!head.ok()) failed(part(number), head.status());
      else
        damage("database-header", part(number),
               fmt::format("is no whole SQLite database: {} bytes, or its first bytes say something else",
                           size_of_file(part(number))),
               kRestoreAdvice, "nothing of this file");
      return false;
    }
    return true;
  }

  Result<Sqlite> open(int number) const {
    const std::string file = part(number);
    const SqliteOpen how = live_                             ? SqliteOpen::kRead
                           : size_of_file(file + "-wal") > 0 ? SqliteOpen::kReadPrivateWal
                                                             : SqliteOpen::kReadImmutable;
    return Sqlite::open(file, how, kBusyTimeoutMs);
  }

  // The small tables of the last part count for all; read at one moment, before the frames that they speak of.
  bool open_last() {
    auto db = open(parts_);
    Status status = db.ok() ? check_database(*db, part(parts_)) : db.status();
    if (status.ok()) status = db->exec("BEGIN");
    if (status.ok()) status = read_tables(*db);
    if (!status.ok()) {
      failed(part(parts_), status);
      // What can be read of the tree says more than the first failure.
      if (status.code() == Code::kCorrupt && db.ok()) check_tree(*db, parts_);
      return false;
    }
    const WriterIdentity& who = meta_.identity;
    out_.run = who.run;
    out_.store = who.store;
    const std::string name = path_.substr(path_.find_last_of('/') + 1);
    if (!name.starts_with(who.writer.hex()))
      damage("identity", path_, "was written by " + who.writer.hex(), "give it the name of its writer again");
    if (run_ != nullptr && who.run.uid != run_->uid)
      damage("identity", path_,
             fmt::format("belongs to another run: {}/{}, uid {}", who.run.project, who.run.id, who.run.uid.hex()),
             "move it into that run's folder");
    totals_.emplace(meta_.stats_seq);
    return true;
  }

  Status read_tables(Sqlite& db) {
    auto meta = read_meta(db, part(parts_));
    if (!meta.ok()) return meta.status();
    meta_ = std::move(*meta);
    auto series = read_series(db);
    if (!series.ok()) return series.status();
    series_ = std::move(*series);
    auto attributes = read_attributes(db);
    if (!attributes.ok()) return attributes.status();
    attributes_ = std::move(*attributes);
    auto losses = read_losses(db);
    if (!losses.ok()) return losses.status();
    losses_ = std::move(*losses);
    return db.exec("COMMIT");
  }

  bool check_part(int number) {
    auto db = open(number);
    Status status = db.ok() ? check_database(*db, part(number)) : db.status();
    if (status.ok() && number > 1) {
      auto said = db->query_int("SELECT value FROM meta WHERE key='part'");
      if (!said.ok() || *said != number)
        damage("parts", part(number), said.ok() ? fmt::format("says that it is part {}", *said) : "is no part",
               kRestoreAdvice);
    }
    if (status.ok() && !live_) {
      check_tree(*db, number);
      if (const std::string lost = verify_wal(part(number) + "-wal"); !lost.empty())
        damage("wal", part(number) + "-wal", lost, kRestoreAdvice, "what was committed in front of them");
    }
    if (status.ok()) status = read_frames(*db);
    if (status.ok()) return true;
    failed(part(number), status);
    return false;
  }

  void check_tree(Sqlite& db, int number) {
    auto check = db.prepare("PRAGMA integrity_check(1)");
    auto row = check.ok() ? check->step() : Result<bool>(check.status());
    const std::string said = !row.ok() ? row.status().message()
                             : *row    ? std::string(check->bytes_at(0))
                                       : std::string("no answer");
    if (row.ok() && said == "ok") return;
    tree_damaged_ = true;
    tree_file_ = part(number);
    tree_said_ = said.substr(0, said.find('\n'));
  }

  // Rows behind `cursor_`; each batch is a transaction of its own.
  Status read_batch(Sqlite& db, std::vector<FrameRow>* out) const {
    out->clear();
    auto rows = db.prepare(
        "SELECT seq, points, time_first_us, time_last_us, data FROM frames WHERE seq>? AND seq<=? ORDER BY seq");
    if (!rows.ok()) return rows.status();
    rows->bind(static_cast<int64_t>(cursor_)).bind(static_cast<int64_t>(meta_.last_seq));
    const int64_t begun = monotonic_ns();
    for (size_t bytes = 0; bytes < kBatchBytes && monotonic_ns() - begun < kBatchNs;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) break;
      out->push_back(row_at(*rows));
      bytes += out->back().bytes.size();
    }
    return {};
  }

  static FrameRow row_at(const Statement& row) {
    return {row.u64_at(0), row.u64_at(1), row.int_at(2), row.int_at(3), std::string(row.bytes_at(4))};
  }

  // Behind a damaged page: what single look-ups still give.
  void read_singly(Sqlite& db, std::vector<FrameRow>* out) {
    out->clear();
    for (uint64_t hole = 0; cursor_ + hole < meta_.last_seq && hole < kHoleMax; ++hole) {
      auto row = db.prepare("SELECT seq, points, time_first_us, time_last_us, data FROM frames WHERE seq=?");
      if (!row.ok()) return;
      auto found = row->bind(static_cast<int64_t>(cursor_ + hole + 1)).step();
      if (!found.ok() || !*found) continue;
      out->push_back(row_at(*row));
      return;
    }
  }

  Status read_frames(Sqlite& db) {
    std::vector<FrameRow> batch;
    while (cursor_ < meta_.last_seq) {
      const Status status = read_batch(db, &batch);
      if (!status.ok() && status.code() != Code::kCorrupt) return status;
      if (batch.empty() && !status.ok()) {
        if (!tree_damaged_) tree_said_ = status.message();
        if (!tree_damaged_) tree_file_ = path_;
        tree_damaged_ = true;
        read_singly(db, &batch);
      }
      const uint64_t before = cursor_;
      for (const FrameRow& row : batch) take(row);
      verifier_.show(totals_->bytes());
      if (cursor_ == before) return {};
    }
    return {};
  }

  // Rows of a damaged tree may come again and again: only what lies ahead counts.
  void take(const FrameRow& row) {
    if (row.seq <= cursor_ || row.seq > meta_.last_seq) return;
    if (row.seq > cursor_ + 1) missing_.add(cursor_ + 1, row.seq - 1);
    cursor_ = row.seq;
    ++rows_;
    auto view = FrameView::parse(row.bytes);
    Status status = view.ok() ? Status() : view.status();
    if (status.ok() && (view->seq() != row.seq || view->writer() != meta_.identity.writer))
      status = Status(Code::kCorrupt, fmt::format("says it is frame {} of {}", view->seq(), view->writer().hex()));
    auto stats = status.ok() ? totals_->add(*view, row.bytes.size()) : Result<FrameStats>(status);
    if (!stats.ok()) {
      if (stats.status().code() == Code::kVersion) newer_.add(row.seq);
      else if (bad_.empty()) bad_said_ = fmt::format("frame {}: {}", row.seq, stats.status().message());
      bad_.add(row.seq);
      bad_points_ += row.points;
      return;
    }
    if (std::tuple(row.points, row.time_first_us, row.time_last_us) !=
        std::tuple(stats->points, stats->time_first_us, stats->time_last_us))
      wrong_rows_.add(row.seq);
  }

  std::string intact() const {
    return fmt::format("{} of {} frames, {} of {} points", totals_->frames(), meta_.frames, totals_->points(),
                       meta_.points);
  }

  void judge_frames() {
    if (cursor_ < meta_.last_seq) missing_.add(cursor_ + 1, meta_.last_seq);
    if (tree_damaged_) damage("tree", tree_file_, "the b-tree is damaged: " + tree_said_, kTreeAdvice, intact());
    if (!newer_.empty())
      out_.findings.push_back({FindingLevel::kNewer, "newer-version", path_,
                               fmt::format("frames {} were written by a newer version", newer_.text()), intact(),
                               "update tracker"});
    if (bad_.count() > newer_.count())
      damage("frame", path_,
             fmt::format("{} {} not verify, {} points: {}", bad_.text(), bad_.count() == 1 ? "does" : "do", bad_points_,
                         bad_said_),
             kTreeAdvice, intact());
    // A gap is legal; a frame that was counted and is not there is lost.
    if (rows_ >= meta_.frames) missing_ = NumberRanges();
    if (!missing_.empty() && !tree_damaged_)
      damage("missing-frames", path_, fmt::format("frames {} were stored and are gone", missing_.text()),
             kRestoreAdvice, intact());
    if (!wrong_rows_.empty())
      damage("counts", path_, fmt::format("points or times beside frames {} are not theirs", wrong_rows_.text()),
             "the rows themselves are sound; export reads them", intact());
  }

  void judge_tables() {
    const char* sound = "every frame is sound";
    if (const auto lines = totals_->compare_meta(meta_); !lines.empty())
      damage("counts", path_, "logged = stored + dropped does not come out: " + joined(lines), kTreeAdvice, sound);
    if (const auto lines = totals_->compare_series(series_); !lines.empty())
      damage("series", path_, "statistics of the table `series` disagree with the frames: " + joined(lines),
             "`show` and charts may be wrong, `export` is right", sound);
    if (const auto lines = totals_->compare_attributes(attributes_); !lines.empty())
      damage("attributes", path_, "config, summary or attributes disagree with the frames: " + joined(lines),
             kTreeAdvice, sound);
    if (const auto lines = totals_->compare_losses(losses_); !lines.empty())
      damage("losses", path_, "counts of dropped points disagree with the frames: " + joined(lines), kTreeAdvice,
             sound);
  }

  Verifier& verifier_;
  const std::string path_;
  const RunIdentity* run_;
  const bool live_;
  int parts_ = 1;
  WriterVerdict out_;
  DatabaseMeta meta_;
  SeriesMap series_;
  std::vector<Attribute> attributes_;
  std::vector<Loss> losses_;
  std::optional<LogTotals> totals_;
  uint64_t cursor_ = 0, rows_ = 0, bad_points_ = 0;
  NumberRanges bad_, newer_, missing_, wrong_rows_;
  bool readable_ = true, tree_damaged_ = false;
  std::string tree_file_, tree_said_, bad_said_;
};

// Format byte 18 of the header: 2 while it is written, 1 when it was finished.
bool was_finished(const std::string& path) {
  auto fd = open_file(path, 0);
  std::array<char, 19> head{};
  return fd.ok() && ::pread(fd->get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()) &&
         head[18] == 1;
}

std::vector<FileStamp> stamps_of(const std::string& path) {
  std::vector<FileStamp> out;
  for (int part = 1; part <= count_parts(path); ++part)
    for (const char* suffix : {"", "-wal"})
      out.push_back(stamp_of(part_path(path, part) + suffix).value_or(FileStamp()));
  return out;
}

Result<WriterIdentity> identity_of(const std::string& path, SqliteOpen how) {
  auto db = Sqlite::open(path, how, 0);
  if (!db.ok()) return db.status();
  auto meta = read_meta(*db, path);
  if (!meta.ok()) return meta.status();
  return std::move(meta->identity);
}

// Whether somebody may write it now. Its identity stands in the first part from its beginning and is read without
// locks: without the WAL, which takes no time, or, in a file that was left in the middle of a checkpoint, with it.
// Where neither works locks are used, which never hurts but may leave a WAL index behind.
bool may_be_live(const std::string& path, int64_t now_us) {
  const std::string last = part_path(path, count_parts(path));
  const bool wal = size_of_file(last + "-wal") > 0;
  if (!wal && was_finished(last)) return false;
  auto identity = identity_of(path, SqliteOpen::kReadImmutable);
  if (!identity.ok()) identity = identity_of(path, SqliteOpen::kReadPrivateWal);
  if (!identity.ok()) return wal;
  switch (probe_writer(*identity)) {
    case Liveness::kLive: return true;
    case Liveness::kDead: return false;
    case Liveness::kUnknown: break;
  }
  for (const FileStamp& stamp : stamps_of(path))
    if (stamp.mtime_ns / 1000 > now_us - kHeartbeatTrust.count()) return true;
  return false;
}

}  // namespace

WriterVerdict verify_database(Verifier& verifier, const std::string& path, const RunIdentity* run) {
  constexpr int kLooksMax = 3;
  for (int look = 1;; ++look) {
    const std::vector<FileStamp> before = stamps_of(path);
    const bool live = may_be_live(path, verifier.options.now_us);
    WriterVerdict verdict = DatabaseCheck(verifier, path, run, live).run();
    // A writer came back, or a recoverer was at work: what was read without locks proves nothing.
    if (live || verdict.findings.empty() || look == kLooksMax || before == stamps_of(path)) return verdict;
  }
}

}  // namespace tracker::internal
