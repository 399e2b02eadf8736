// SPDX-License-Identifier: MIT
#include "storage/verify/verify_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/clock.h"
#include "storage/database/compaction.h"

namespace tracker::internal {
namespace {

constexpr size_t kBatchBytes = 4u << 20;
constexpr int64_t kBatchNs = 100'000'000;  // P11, as every reader
// Limit: times that `verify` begins again in a log that is compacted meanwhile. Beyond it: a note; its totals are not
// compared.
constexpr int kRewindsMax = 20;
constexpr const char* kExportAdvice = "keep a copy; `tracker export` writes what can still be read";

constexpr const char* kFrameColumns = "SELECT seq, seq, points, time_first_us, time_last_us, data FROM frames ";
constexpr const char* kSegmentColumns =
    "SELECT first_seq, last_seq, points, time_first_us, time_last_us, data FROM segments ";

}  // namespace

LogCheck::LogCheck(Verifier& verifier, const DatabaseMeta& meta, bool live)
    : verifier_(verifier),
      writer_(meta.identity.writer),
      live_(live),
      before_(meta.identity.before.seq),
      last_seq_(live ? UINT64_MAX : meta.last_seq),
      seen_(meta.stats_seq),
      saved_(meta.stats_seq) {
  seen_.covered = saved_.covered = before_;
}

Status LogCheck::read(Sqlite& db, const AtEnd& at_end) {
  std::vector<Row> rows;
  look_outside(db);
  for (bool ended = false; !ended;) {
    rows.clear();
    TRACKER_RETURN_IF_ERROR(db.exec("BEGIN"));
    Status status = batch(db, at_end, &rows, &ended);
    // After a damaged page SQLite may refuse to commit, although nothing was written.
    if (!db.exec("COMMIT").ok() && db.in_transaction()) TRACKER_RETURN_IF_ERROR(db.exec("ROLLBACK"));
    if (!status.ok() && status.code() != Code::kCorrupt) return status;
    const bool advanced = take_all(rows);
    if (ended) {
      TRACKER_RETURN_IF_ERROR(status);
      seen_.totals.set_stats_seq(stats_seq_at_end_);
    }
    if (!advanced && !ended) {
      if (tree_said_.empty()) tree_said_ = status.ok() ? "rows come out of order" : status.message();
      read_singly(db, &rows);
      if (!take_all(rows)) {
        search_after_hole(db);
        return {};
      }
    }
    verifier_.show(seen_.totals.bytes());
  }
  return {};
}

LogCheck::Row LogCheck::row_of(const Statement& row, bool segment) {
  return {
      segment, row.u64_at(0), row.u64_at(1), row.u64_at(2), row.int_at(3), row.int_at(4), std::string(row.bytes_at(5))};
}

// One transaction.
Status LogCheck::batch(Sqlite& db, const AtEnd& at_end, std::vector<Row>* rows, bool* ended) {
  if (live_) {
    auto overtaken = was_overtaken(db);
    if (!overtaken.ok()) return overtaken.status();
    if (*overtaken) {
      if (++rewinds_ > kRewindsMax) return Status(Code::kBusy, "is compacted faster than it is read");
      seen_ = saved_;
    }
  }
  TRACKER_RETURN_IF_ERROR(read_rows(db, rows, ended));
  if (!*ended) return {};
  auto stats_seq = at_end();
  if (!stats_seq.ok()) return stats_seq.status();
  stats_seq_at_end_ = *stats_seq;
  return {};
}

// Whether a segment has taken the place of frames on both sides of where we are.
Result<bool> LogCheck::was_overtaken(Sqlite& db) const {
  auto last = db.prepare("SELECT last_seq FROM segments WHERE first_seq<=? ORDER BY first_seq DESC LIMIT 1");
  if (!last.ok()) return last.status();
  auto row = last->bind(static_cast<int64_t>(seen_.covered)).step();
  if (!row.ok()) return row.status();
  return *row && last->u64_at(0) > seen_.covered;
}

// Both tables, by sequence number.
Status LogCheck::read_rows(Sqlite& db, std::vector<Row>* rows, bool* ended) const {
  auto frames = db.prepare(fmt::format("{}WHERE seq>? ORDER BY seq", kFrameColumns));
  if (!frames.ok()) return frames.status();
  auto segments = db.prepare(fmt::format("{}WHERE first_seq>? ORDER BY first_seq", kSegmentColumns));
  if (!segments.ok()) return segments.status();
  frames->bind(static_cast<int64_t>(seen_.frame));
  segments->bind(static_cast<int64_t>(seen_.segment));
  auto frame = frames->step();
  if (!frame.ok()) return frame.status();
  auto segment = segments->step();
  if (!segment.ok()) return segment.status();
  const int64_t begun = monotonic_ns();
  for (size_t bytes = 0; bytes < kBatchBytes && monotonic_ns() - begun < kBatchNs;) {
    *ended = !*frame && !*segment;
    if (*ended) return {};
    const bool is_segment = !*frame || (*segment && segments->u64_at(0) <= frames->u64_at(0));
    rows->push_back(row_of(is_segment ? *segments : *frames, is_segment));
    bytes += rows->back().bytes.size();
    auto& next = is_segment ? segment : frame;
    next = (is_segment ? *segments : *frames).step();
    if (!next.ok()) return next.status();
  }
  return {};
}

// After a damaged page: the next row that a single look-up, or a scan from the other end, still returns.
void LogCheck::read_singly(Sqlite& db, std::vector<Row>* rows) const {
  rows->clear();
  const auto take_row = [&](const char* columns, const char* where, uint64_t key, bool segment) {
    auto row = db.prepare(std::string(columns) + where);
    if (!row.ok()) return false;
    auto found = row->bind(static_cast<int64_t>(key)).step();
    if (!found.ok() || !*found) return false;
    if (rows->empty() || rows->front().first > row->u64_at(0)) *rows = {row_of(*row, segment)};
    return true;
  };
  const uint64_t last_seen = std::max(seen_.frame, seen_.covered);
  for (uint64_t hole = 1; hole <= kHoleMax && last_seen + hole <= last_seq_; ++hole)
    if (take_row(kFrameColumns, "WHERE seq=?", last_seen + hole, false)) break;
  std::vector<uint64_t> ahead;
  auto keys = db.prepare("SELECT first_seq FROM segments WHERE first_seq>? ORDER BY first_seq DESC");
  if (!keys.ok()) return;
  keys->bind(static_cast<int64_t>(std::max(seen_.segment, seen_.covered)));
  for (auto row = keys->step(); row.ok() && *row && (ahead.empty() || keys->u64_at(0) < ahead.back());
       row = keys->step())
    ahead.push_back(keys->u64_at(0));
  for (; !ahead.empty(); ahead.pop_back())
    if (take_row(kSegmentColumns, "WHERE first_seq=?", ahead.back(), true)) return;
}

// What is there is found from the other end, where that can be read.
void LogCheck::search_after_hole(Sqlite& db) {
  const uint64_t sought = std::max(seen_.frame, seen_.covered) + kHoleMax;
  const auto last = db.query_int("SELECT max(seq) FROM frames");
  if (last.ok() && static_cast<uint64_t>(*last) > sought && static_cast<uint64_t>(*last) <= last_seq_)
    unread_from_ = sought + 1;
}

// Rows of a log at rest that its counts know nothing of. What cannot be read is named by who reads it.
void LogCheck::look_outside(Sqlite& db) {
  if (live_) return;
  auto count = db.prepare(
      "SELECT (SELECT count(*) FROM frames WHERE seq<1 OR seq>?1) + "
      "(SELECT count(*) FROM segments WHERE first_seq<1 OR last_seq>?1)");
  if (!count.ok()) return;
  const auto row = count->bind(static_cast<int64_t>(std::min<uint64_t>(last_seq_, INT64_MAX))).step();
  if (row.ok() && *row) outside_ = count->u64_at(0);
}

// False: nothing of it lies ahead.
bool LogCheck::take_all(const std::vector<Row>& rows) {
  bool advanced = false;
  // Of a live log what was read before may be in a segment by now; what one transaction shows is as it is.
  const uint64_t known = live_ ? seen_.covered : 0;
  for (const Row& row : rows) {
    uint64_t& key = row.segment ? seen_.segment : seen_.frame;
    // Rows of a damaged tree may come again and again: only what lies ahead counts.
    if (row.first <= key || row.first > last_seq_) continue;
    key = row.first;
    advanced = true;
    if (row.last <= known) continue;
    if (row.first <= seen_.covered) {
      seen_.overlaps.add(row.first, std::min(seen_.covered, std::max(row.first, row.last)));
      continue;
    }
    take(row);
    const bool stays =
        row.segment && (row.points >= kSegmentPointsTarget / 2 || row.bytes.size() >= kSegmentBytesTarget / 2);
    if (live_ && stays) saved_ = seen_;
  }
  return advanced;
}

void LogCheck::take(const Row& row) {
  if (row.first > seen_.covered + 1) seen_.missing.add(seen_.covered + 1, row.first - 1);
  seen_.covered = std::max(row.first, row.last);
  const uint64_t frames_before = seen_.totals.frames();
  auto stats = check(row);
  if (!stats.ok()) {
    seen_.frames += row.segment ? seen_.covered - row.first + 1 : 1;  // at most
    note_bad(row, stats.status());
    return;
  }
  seen_.frames += seen_.totals.frames() - frames_before;
  if (row.segment) seen_.segments_to = row.last;
  if (std::tuple(row.points, row.time_first_us, row.time_last_us) !=
      std::tuple(stats->points, stats->time_first_us, stats->time_last_us))
    seen_.wrong_rows.add(row.first, row.last);
}

Result<FrameStats> LogCheck::check(const Row& row) {
  const auto says = [&](const Id128& writer, uint64_t first, uint64_t last) {
    if (writer == writer_ && first == row.first && last == row.last) return Status();
    const std::string who = writer == writer_ ? "" : " of " + writer.hex();
    return Status(Code::kCorrupt, row.segment ? fmt::format("says it is of frames {} to {}{}", first, last, who)
                                              : fmt::format("says it is frame {}{}", first, who));
  };
  if (row.segment) {
    auto view = SegmentView::parse(row.bytes);
    if (!view.ok()) return view.status();
    TRACKER_RETURN_IF_ERROR(says(view->writer(), view->first_seq(), view->last_seq()));
    return seen_.totals.add(&*view, row.bytes.size());
  }
  auto view = FrameView::parse(row.bytes);
  if (!view.ok()) return view.status();
  TRACKER_RETURN_IF_ERROR(says(view->writer(), view->seq(), view->seq()));
  return seen_.totals.add(*view, row.bytes.size());
}

void LogCheck::note_bad(const Row& row, const Status& status) {
  if (status.code() == Code::kVersion) {
    seen_.newer.add(row.first, seen_.covered);
  } else if (row.segment) {
    if (seen_.bad_segments.empty())
      seen_.bad_segment_said = fmt::format("segment of frames {} to {}: {}", row.first, row.last, status.message());
    seen_.bad_segments.add(row.first, seen_.covered);
    seen_.bad_segment_points += row.points;
  } else {
    if (seen_.bad.empty()) seen_.bad_said = fmt::format("frame {}: {}", row.first, status.message());
    seen_.bad.add(row.first);
    seen_.bad_points += row.points;
  }
}

std::string LogCheck::intact(const DatabaseMeta& meta) const {
  return fmt::format("{} of {} frames, {} of {} points", totals().frames(), meta.frames, totals().points(),
                     meta.points);
}

NumberRanges LogCheck::missing(const DatabaseMeta& meta) const {
  // A gap is legal; a frame that was counted and is not there is lost.
  if (seen_.frames >= meta.frames) return {};
  NumberRanges out = seen_.missing;
  if (seen_.covered < meta.last_seq) out.add(seen_.covered + 1, meta.last_seq);
  return out;
}

bool LogCheck::whole(const DatabaseMeta& meta) const {
  return seen_.bad.empty() && seen_.bad_segments.empty() && seen_.newer.empty() && seen_.overlaps.empty() &&
         missing(meta).empty() && tree_said_.empty() && outside_ == 0 && seen_.segments_to <= meta.stats_seq;
}

std::vector<Finding> LogCheck::findings(const std::string& path, const DatabaseMeta& meta, bool tree_damaged) const {
  std::vector<Finding> out;
  const auto damage = [&](const char* kind, std::string what, const char* advice) {
    out.push_back({FindingLevel::kDamage, kind, path, std::move(what), intact(meta), advice});
  };
  const auto verb = [](const NumberRanges& numbers) { return numbers.count() == 1 ? "does" : "do"; };
  if (!seen_.newer.empty())
    out.push_back({FindingLevel::kNewer, "newer-version", path,
                   fmt::format("frames {} were written by a newer version", seen_.newer.text()), intact(meta),
                   "update tracker"});
  if (!seen_.bad.empty())
    damage("frame",
           fmt::format("{} {} not verify, {} points: {}", seen_.bad.text(), verb(seen_.bad), seen_.bad_points,
                       seen_.bad_said),
           kExportAdvice);
  if (!seen_.bad_segments.empty())
    damage("segment",
           fmt::format("{} {} not verify, {} points: {}", seen_.bad_segments.text(), verb(seen_.bad_segments),
                       seen_.bad_segment_points, seen_.bad_segment_said),
           kExportAdvice);
  if (outside_ > 0)
    damage("foreign-rows",
           fmt::format("{} row{} of frames and segments lie outside of 1 to {}, what its counts say was stored",
                       outside_, outside_ == 1 ? "" : "s", meta.last_seq),
           "somebody else has put them there, or the counts are damaged; keep a copy");
  if (!seen_.overlaps.empty())
    damage("overlap", fmt::format("frames {} are stored twice, in rows of different range", seen_.overlaps.text()),
           "readers take those of the segment, or of the first one; keep a copy");
  if (const NumberRanges gone = missing(meta); !gone.empty() && !tree_damaged)
    damage("missing-frames", fmt::format("frames {} were stored and are gone", gone.text()), kRestoreAdvice);
  if (!seen_.wrong_rows.empty())
    damage("counts", fmt::format("points or times beside frames {} are not theirs", seen_.wrong_rows.text()),
           "the rows themselves are sound; export reads them");
  if (seen_.segments_to > meta.stats_seq)
    damage("series",
           fmt::format("a segment reaches to frame {}, the table `series` covers those up to {}", seen_.segments_to,
                       meta.stats_seq),
           "`show` and charts may be wrong, `export` is right");
  return out;
}

}  // namespace tracker::internal
