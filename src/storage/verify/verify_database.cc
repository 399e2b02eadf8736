// SPDX-License-Identifier: MIT
// verify: a database, one part of a writer's files.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/fs.h"
#include "storage/database/table_sum.h"
#include "storage/database/writer_locks.h"
#include "storage/database/writer_parts.h"
#include "storage/sqlite/schema_check.h"
#include "storage/sqlite/sqlite.h"
#include "storage/sqlite/wal_scan.h"
#include "storage/store/run_folder.h"
#include "storage/verify/verify_internal.h"
#include "storage/verify/verify_log.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {
namespace {

constexpr int kVerifyBusyTimeoutMs = 1000;
constexpr const char* kFromLogAdvice =
    "readers take config, summary, series and end from the frames; the identity is as the file says";
constexpr const char* kTreeAdvice = "keep a copy; `tracker export` writes what can still be read";

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "; ") + line;
  return out;
}

// One check of the database. Without locks (`live` false) a change meanwhile may seem damage: verify_database() then
// checks again.
class DatabaseCheck {
 public:
  DatabaseCheck(Verifier& verifier, const std::string& path, const RunIdentity* run, bool live)
      : verifier_(verifier), path_(path), run_(run), live_(live) {}

  WriterVerdict run() {
    if (check_file() && read_small()) {
      readable_ = check_log();
      complete_counts();
      judge_log();
      say_cut();
      if (!tables_said_.empty() && tree_said_.empty() && !cut_)
        damage("tables", path_, joined(tables_said_), kFromLogAdvice, log_->intact(meta_));
      if (readable_ && tree_said_.empty() && log_->whole(meta_)) judge_tables();
      else if (readable_ && !cut_ && !has_said("series") && tables_said_.empty()) judge_sum("");
    } else {
      say_cut();
    }
    out_.frames = log_ ? log_->totals().frames() : 0;
    out_.points = log_ ? log_->totals().points() : 0;
    out_.live = live_;
    out_.log_read = log_ && readable_ && log_->unread_from() == 0;
    return std::move(out_);
  }

 private:
  void damage(std::string kind, const std::string& file, std::string what, std::string advice,
              std::string intact = "") {
    out_.findings.push_back(
        {FindingLevel::kDamage, std::move(kind), file, std::move(what), std::move(intact), std::move(advice)});
  }

  bool has_said(std::string_view kind) const {
    return std::any_of(out_.findings.begin(), out_.findings.end(),
                       [kind](const Finding& one) { return one.kind == kind; });
  }

  void failed(const Status& status) {
    if (status.code() == Code::kCorrupt && cut_) return;  // say_cut() says it
    if (status.code() == Code::kVersion)
      out_.findings.push_back({FindingLevel::kNewer, "newer-version", path_, status.message(), "", status.hint()});
    else if (status.code() == Code::kCorrupt) damage("database-header", path_, status.message(), kRestoreAdvice);
    else damage("unreadable", path_, status.message(), "check the disk and the file's permissions");
  }

  bool check_file() {
    if (!is_regular_file(path_)) {
      damage("database-header", path_, "is no regular file", kRestoreAdvice);
      return false;
    }
    if (is_written_here(path_)) return true;  // to close it here would drop SQLite's locks on it
    // With a WAL the file may be shorter than its header says: the rest is in there.
    if (is_whole_database(path_) || size_of_file(path_ + "-wal") > 0) return true;
    cut_ = database_size(path_);
    if (cut_) return true;  // what there is of it is checked
    auto head = open_file(path_, 0);
    if (!head.ok()) failed(head.status());
    else
      damage("database-header", path_,
             fmt::format("is no whole SQLite database: {} bytes, or its first bytes say something else",
                         size_of_file(path_)),
             kRestoreAdvice, "nothing of this file");
    return false;
  }

  Result<Sqlite> open() const {
    const SqliteOpen how = live_                              ? SqliteOpen::kRead
                           : size_of_file(path_ + "-wal") > 0 ? SqliteOpen::kReadPrivateWal
                                                              : SqliteOpen::kReadImmutable;
    auto db = Sqlite::open(path_, how, kVerifyBusyTimeoutMs);
    if (db.ok() && cut_) TRACKER_RETURN_IF_ERROR(db->read_cut_file());
    return db;
  }

  bool read_small() {
    auto db = open();
    Status status = db.ok() ? check_database(*db, path_) : db.status();
    if (status.ok()) status = db->exec("BEGIN");
    if (status.ok()) status = read_tables(*db);
    // After a damaged page SQLite may refuse to commit, though nothing was written.
    if (db.ok() && db->in_transaction() && !db->exec("COMMIT").ok() && db->in_transaction())
      (void)db->exec("ROLLBACK").ok();
    if (!status.ok()) {
      if (!say_busy(status)) failed(status);
      // What can be read of the tree says more than the first failure.
      if (status.code() == Code::kCorrupt && db.ok()) check_tree(*db);
      return false;
    }
    const WriterIdentity& who = meta_.identity;
    out_.identity = who;
    const std::string name = last_name(path_);
    if (!name.starts_with(who.writer.hex()))
      damage("identity", path_, "was written by " + who.writer.hex(), "give it the name of its writer again");
    if (run_ != nullptr && who.run.uid != run_->uid)
      damage("identity", path_,
             fmt::format("belongs to another run: {}/{}, uid {}", who.run.project, who.run.id, who.run.uid.hex()),
             "move it into that run's folder");
    log_.emplace(verifier_, meta_, live_);
    return true;
  }

  // What is damaged in them is noted: the frames are read all the same, as readers do.
  Status read_tables(Sqlite& db) {
    tables_said_.clear();
    bad_ = {};
    const auto newest = newest_frame(db);  // in front of `meta`, which a writer may move on meanwhile
    const auto take = [this](auto read, auto* into, bool* bad) {
      if (read.ok()) *into = std::move(*read);
      else if (read.status().code() == Code::kCorrupt) *bad = true, tables_said_.push_back(read.status().message());
      else return read.status();
      return Status();
    };
    std::string counts;
    auto meta = read_meta(db, path_, &counts);
    if (!meta.ok()) return meta.status();
    meta_ = std::move(*meta);
    if (!counts.empty()) bad_.meta = true, tables_said_.push_back(counts);
    TRACKER_RETURN_IF_ERROR(take(read_series(db), &series_, &bad_.series));
    uint64_t rows = 0;
    TRACKER_RETURN_IF_ERROR(take(read_attributes(db, &rows), &attributes_, &bad_.attributes));
    if (rows > 0) bad_.attributes = true, tables_said_.push_back(fmt::format("attributes: {} damaged", counted(rows)));
    TRACKER_RETURN_IF_ERROR(take(read_losses(db), &losses_, &bad_.losses));
    sum_ = TableVerdict::kNone;
    auto sum = check_table_sum(db);
    if (!sum.ok() && sum.status().code() != Code::kCorrupt) return sum.status();
    if (sum.ok()) sum_ = *sum;
    if (!newest.ok() && newest.status().code() != Code::kCorrupt) return newest.status();
    if (!bad_.meta) return {};
    const bool known = is_possible(meta_.last_seq) && (!newest.ok() || *newest <= meta_.last_seq);
    if (!known) meta_.last_seq = newest.ok() ? *newest : INT64_MAX;
    meta_.stats_seq = std::min(meta_.stats_seq, meta_.last_seq);
    return {};
  }

  static std::string counted(uint64_t rows) { return fmt::format("{} row{}", rows, rows == 1 ? " is" : "s are"); }
  static bool is_possible(uint64_t count) { return count > 0 && count <= INT64_MAX; }

  // What `meta` cannot say the rows of the log do.
  void complete_counts() {
    if (!bad_.meta) return;
    if (!is_possible(meta_.frames)) meta_.frames = log_->frames_said();
    if (!is_possible(meta_.points)) meta_.points = log_->points_said();
    if (meta_.last_seq == INT64_MAX) meta_.last_seq = log_->newest();
  }

  bool check_log() {
    auto db = open();
    Status status = db.ok() ? check_database(*db, path_) : db.status();
    if (status.ok() && !live_) {
      check_tree(*db);
      if (const std::string lost = scan_wal(path_ + "-wal").damage(); !lost.empty())
        damage("wal", path_ + "-wal", lost, kRestoreAdvice, "what was committed in front of them");
    }
    // The tables again, of the moment at which the log ended.
    const auto at_end = [&]() -> Result<uint64_t> {
      TRACKER_RETURN_IF_ERROR(read_tables(*db));
      return meta_.stats_seq;
    };
    if (status.ok()) status = log_->read(*db, at_end);
    if (status.ok()) return true;
    if (!say_busy(status)) failed(status);
    return false;
  }

  // Somebody holds it: its writer, who ends the run, or a recoverer.
  bool say_busy(const Status& status) {
    if (status.code() != Code::kBusy) return false;
    out_.findings.push_back({FindingLevel::kNote, "busy", path_, status.message(), "",
                             "nothing is known to be damaged; verify it when the run has ended"});
    return true;
  }

  void check_tree(Sqlite& db) {
    auto check = db.prepare("PRAGMA integrity_check(1)");
    auto row = check.ok() ? check->step() : Result<bool>(check.status());
    const std::string said = !row.ok() ? row.status().message()
                             : *row    ? std::string(check->bytes_at(0))
                                       : std::string("no answer");
    if (row.ok() && said == "ok") return;
    tree_said_ = tree_finding(said);
  }

  // After the findings of its content, as one finding: broken trees of the missing pages are no further damage.
  void say_cut() {
    if (cut_)
      damage("database-header", path_, cut_text(*cut_), kRestoreAdvice,
             log_ ? log_->intact(meta_) : "nothing of this file");
  }

  void judge_log() {
    if (tree_said_.empty()) tree_said_ = log_->tree_said();
    if (!tree_said_.empty() && !cut_) {
      const uint64_t unread = log_->unread_from();
      const std::string rest = unread == 0 ? "" : fmt::format("; frames from {} on were not checked", unread);
      damage("tree", path_, "the b-tree is damaged: " + tree_said_ + rest, kTreeAdvice, log_->intact(meta_));
    }
    for (Finding& finding : log_->findings(path_, meta_, !tree_said_.empty()))
      out_.findings.push_back(std::move(finding));
  }

  void judge_tables() {
    const char* sound = "every frame and segment is sound";
    const bool from_log = sum_ == TableVerdict::kWrong;  // so readers take them
    const size_t before = out_.findings.size();
    if (const auto lines = log_->totals().compare_meta(meta_, log_->newest()); !lines.empty() && !bad_.meta)
      damage("counts", path_, "logged = stored + dropped does not come out: " + joined(lines),
             from_log ? kFromLogAdvice : kTreeAdvice, sound);
    if (const auto lines = log_->totals().compare_series(series_); !lines.empty() && !bad_.series)
      damage("series", path_, "statistics of the table `series` disagree with the frames: " + joined(lines),
             from_log ? kFromLogAdvice : "`show` and charts may be wrong, `export` is right", sound);
    if (const auto lines = log_->totals().compare_attributes(attributes_); !lines.empty() && !bad_.attributes)
      damage("attributes", path_, "config, summary or attributes disagree with the frames: " + joined(lines),
             from_log ? kFromLogAdvice : kTreeAdvice, sound);
    if (const auto lines = log_->totals().compare_losses(losses_); !lines.empty() && !bad_.losses)
      damage("losses", path_, "counts of dropped points disagree with the frames: " + joined(lines),
             from_log ? kFromLogAdvice : kTreeAdvice, sound);
    if (out_.findings.size() == before && tables_said_.empty()) judge_sum(sound);
  }

  // Said where nothing else says which of them it is.
  void judge_sum(const char* intact) {
    if (sum_ == TableVerdict::kWrong)
      damage("tables", path_, "the small tables are not what was written, by their checksum", kFromLogAdvice, intact);
  }

  Verifier& verifier_;
  const std::string path_;
  const RunIdentity* run_;
  const bool live_;
  WriterVerdict out_;
  DatabaseMeta meta_;
  SeriesMap series_;
  std::vector<Attribute> attributes_;
  std::vector<Loss> losses_;
  TableVerdict sum_ = TableVerdict::kNone;
  struct Bad {
    bool meta = false, series = false, attributes = false, losses = false;
  } bad_;                                 // tables that cannot be held against the log
  std::vector<std::string> tables_said_;  // of them
  std::optional<LogCheck> log_;
  std::optional<DatabaseSize> cut_;  // it is shorter than it says
  bool readable_ = true;
  std::string tree_said_;  // empty where the tree is sound
};

// Format byte 18 of the header: 2 while it is written, 1 when it was finished.
bool was_finished(const std::string& path) {
  auto fd = open_file(path, O_RDONLY | O_NONBLOCK);  // a pipe's other end would be waited for
  std::array<char, 19> head{};
  return fd.ok() && ::pread(fd->get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()) &&
         head[18] == 1;
}

std::vector<FileStamp> stamps_of(const std::string& path) {
  std::vector<FileStamp> out;
  for (const char* suffix : {"", "-wal"}) out.push_back(stamp_of(path + suffix).value_or(FileStamp()));
  return out;
}

Result<WriterIdentity> identity_of(const std::string& path, SqliteOpen how) {
  auto db = Sqlite::open(path, how, 0);
  if (!db.ok()) return db.status();
  TRACKER_RETURN_IF_ERROR(check_database(*db, path));
  std::string damage;  // of the counts
  auto meta = read_meta(*db, path, &damage);
  if (!meta.ok()) return meta.status();
  return std::move(meta->identity);
}

// Whether a process may write it now. Its identity is there from the beginning and is read without locks: without the
// WAL, which takes no time, or, in a file that was left in the middle of a checkpoint, with it. Where neither works
// locks are used, which never hurts but may leave a WAL index.
bool may_be_live(const std::string& path, int64_t now_us) {
  if (is_written_here(path)) return true;
  const bool wal = size_of_file(path + "-wal") > 0;
  if (!wal && was_finished(path)) return false;
  auto identity = identity_of(path, SqliteOpen::kReadImmutable);
  if (!identity.ok()) identity = identity_of(path, SqliteOpen::kReadPrivateWal);
  if (!identity.ok()) return wal;
  switch (probe_writer(*identity, store_path_of(parent_path(path)))) {
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
    // A writer came back or was about to leave, or a recoverer was at work: what was read meanwhile proves nothing.
    if (verdict.findings.empty() || look == kLooksMax || before == stamps_of(path)) return verdict;
  }
}

}  // namespace tracker::internal
