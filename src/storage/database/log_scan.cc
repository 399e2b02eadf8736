// SPDX-License-Identifier: MIT
#include "storage/database/log_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "storage/database/stored_segment.h"

namespace tracker::internal {
namespace {

constexpr size_t kSegmentsListed = 256;  // at once
std::atomic<int64_t> g_round_ns{kLogRoundNs};

}  // namespace

void set_log_round_for_testing(int64_t ns) { g_round_ns = ns; }

LogScan::LogScan(Sqlite* db, std::string path, const Id128& writer, LogPosition* at, std::vector<LogDamage>* damage)
    : db_(db), path_(std::move(path)), writer_(writer), at_(at), damage_(damage), points_known_(*at == LogPosition()) {}

bool LogScan::time_is_up() const { return *at_ != round_from_ && monotonic_ns() - round_begun_ns_ >= g_round_ns; }

void LogScan::report(const std::string& what, const Status& status) {
  if (damage_ != nullptr && damage_->size() < kDamageLinesMax)
    damage_->push_back({damage_code(status), fmt::format("{}: {}: {}", path_, what, status.message())});
}

Status LogScan::read(const LogPosition& end, LogVisitor* visitor) {
  end_ = end;
  visitor_ = visitor;
  const bool from_start = points_known_;
  while (!stopped_ && at_->seq < end_.seq) {
    round_from_ = *at_;
    round_begun_ns_ = monotonic_ns();
    TRACKER_RETURN_IF_ERROR(db_->exec("BEGIN"));
    const Status status = round();
    // After a damaged page SQLite may refuse to commit, although nothing was written.
    if (!db_->exec("COMMIT").ok() && db_->in_transaction()) TRACKER_RETURN_IF_ERROR(db_->exec("ROLLBACK"));
    TRACKER_RETURN_IF_ERROR(status);
    if (*at_ == round_from_) return {};  // a damaged tree without further rows
  }
  // Whole trees may lack rows: in a file that was truncated while it was open and grew again after the cut.
  if (from_start && !stopped_ && at_->points < end_.points && damage_ != nullptr && damage_->empty())
    report(fmt::format("frames up to {}", end_.seq),
           Status(Code::kCorrupt, fmt::format("{} of the {} points that were stored are not in it",
                                              end_.points - at_->points, end_.points)));
  return {};
}

// One transaction, so all reads see the same state.
Status LogScan::round() {
  std::vector<SegmentRow> segments;
  bool all = false;
  const Status listed = list_segments(&segments, &all);
  if (!listed.ok() && listed.code() != Code::kCorrupt) return listed;
  if (!listed.ok()) report(fmt::format("segments after frame {}", at_->seq), listed);
  for (const SegmentRow& segment : segments) {
    TRACKER_RETURN_IF_ERROR(frames_up_to(std::min(end_.seq, segment.first_seq - 1)));
    if (stopped_ || time_is_up() || at_->seq >= end_.seq) return {};
    TRACKER_RETURN_IF_ERROR(take_segment(segment));
    if (stopped_ || time_is_up()) return {};
  }
  return all ? frames_up_to(end_.seq) : Status();
}

// Lists the segments with rows after the position, in order. From a damaged table, the rows that can be reached from
// either end.
Status LogScan::list_segments(std::vector<SegmentRow>* out, bool* all) const {
  const auto list = [&](std::string_view sql, int64_t bound) {
    auto rows = db_->prepare(sql);
    if (!rows.ok()) return rows.status();
    rows->bind(static_cast<int64_t>(at_->seq)).bind(bound).bind(static_cast<int64_t>(kSegmentsListed));
    for (;;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) return Status();
      out->push_back({rows->u64_at(0), rows->u64_at(1), rows->u64_at(2)});
    }
  };
  const Status status = list(
      "SELECT first_seq, last_seq, points FROM segments WHERE first_seq>=(SELECT coalesce(max(first_seq),0) FROM "
      "segments WHERE first_seq<=?1+1) AND last_seq>?1 AND first_seq<=?2 ORDER BY first_seq LIMIT ?3",
      static_cast<int64_t>(end_.seq));
  *all = !status.ok() || out->size() < kSegmentsListed;
  if (!status.ok())
    (void)list(
        "SELECT first_seq, last_seq, points FROM segments WHERE first_seq>?1 AND first_seq<=?2 "
        "ORDER BY first_seq DESC LIMIT ?3",
        static_cast<int64_t>(end_.seq))
        .ok();
  std::sort(out->begin(), out->end(), [](const auto& a, const auto& b) { return a.first_seq < b.first_seq; });
  uint64_t last = 0;
  std::erase_if(*out, [&](const SegmentRow& row) {
    const bool sound = row.first_seq > last && row.last_seq >= row.first_seq && row.last_seq > at_->seq;
    if (sound) last = row.last_seq;
    return !sound;
  });
  return status;
}

// Returns false if a damaged tree returned a row that was not requested, which may repeat for ever.
bool LogScan::take_frame(uint64_t seq, uint64_t last, uint64_t points, std::string_view bytes) {
  const auto note = [&](const Status& status) { report(fmt::format("frame {}", seq), status); };
  if (seq <= at_->seq || seq > last) {
    note(Status(Code::kCorrupt, "out of order"));
    return false;
  }
  at_->seq = seq;
  at_->points += points;
  auto view = FrameView::parse(bytes);
  Status sound = view.status();
  if (sound.ok() && view->seq() != seq) sound = Status(Code::kCorrupt, fmt::format("frame says it is {}", view->seq()));
  if (sound.ok() && view->writer() != writer_)
    sound = Status(Code::kCorrupt, "frame of writer " + view->writer().hex());
  auto more = sound.ok() ? visitor_->frame(*view) : Result<bool>(sound);
  if (!more.ok()) note(more.status());
  else stopped_ = !*more;
  return true;
}

// If all of them were read, the position is `last`.
Status LogScan::frames_up_to(uint64_t last) {
  if (at_->seq >= last) return {};
  const uint64_t before = at_->seq;
  auto rows = db_->prepare("SELECT seq, points, data FROM frames WHERE seq>? AND seq<=? ORDER BY seq");
  if (!rows.ok()) return rows.status();
  rows->bind(static_cast<int64_t>(at_->seq)).bind(static_cast<int64_t>(last));
  Status status;
  while (status.ok()) {
    auto row = rows->step();
    if (!row.ok()) {
      status = row.status();
    } else if (!*row) {
      at_->seq = last;
      return {};
    } else if (!take_frame(rows->u64_at(0), last, rows->u64_at(1), rows->bytes_at(2))) {
      status = Status(Code::kCorrupt, "out of order");
    } else if (stopped_ || time_is_up()) {
      return {};
    }
  }
  if (status.code() != Code::kCorrupt) return status;
  if (at_->seq > before) return {};  // the next round tries from here
  report(fmt::format("frame {}", at_->seq + 1), status);
  frames_singly(last);
  if (!stopped_ && !time_is_up()) at_->seq = last;
  return {};
}

// Row by row after a scan failed at a damaged page, to read what can be read.
void LogScan::frames_singly(uint64_t last) {
  size_t missing = 0;
  for (uint64_t seq = at_->seq + 1; seq <= last && missing < kDamageLinesMax && !stopped_; ++seq) {
    if (time_is_up() && missing == 0) return;
    auto rows = db_->prepare("SELECT points, data FROM frames WHERE seq=?");
    if (!rows.ok()) return;
    rows->bind(static_cast<int64_t>(seq));
    auto row = rows->step();
    if (!row.ok() || !*row) {
      ++missing;
      continue;
    }
    missing = 0;
    (void)take_frame(seq, last, rows->u64_at(0), rows->bytes_at(1));
  }
}

// Points of the log before a segment: all up to now, minus those from it on.
Result<uint64_t> LogScan::points_before(const SegmentRow& row) const {
  auto sums = db_->prepare(
      "SELECT (SELECT value FROM meta WHERE key='points') - (SELECT coalesce(sum(points),0) FROM segments WHERE "
      "first_seq>=?1) - (SELECT coalesce(sum(points),0) FROM frames WHERE seq>?2)");
  if (!sums.ok()) return sums.status();
  sums->bind(static_cast<int64_t>(row.first_seq)).bind(static_cast<int64_t>(row.last_seq));
  auto found = sums->step();
  if (!found.ok()) return found.status();
  return static_cast<uint64_t>(std::max<int64_t>(0, sums->int_at(0)));
}

Result<LogPosition> place_in_log(Sqlite& db, uint64_t seq) {
  auto place = db.prepare(
      "WITH place(seq) AS (SELECT coalesce((SELECT first_seq-1 FROM (SELECT first_seq, last_seq FROM segments WHERE "
      "first_seq<=?1 ORDER BY first_seq DESC LIMIT 1) WHERE last_seq>?1), ?1)) SELECT seq, (SELECT value FROM meta "
      "WHERE key='points') - (SELECT coalesce(sum(points),0) FROM segments WHERE first_seq>place.seq) - (SELECT "
      "coalesce(sum(points),0) FROM frames WHERE frames.seq>place.seq) FROM place");
  if (!place.ok()) return place.status();
  auto row = place->bind(static_cast<int64_t>(seq)).step();
  if (!row.ok()) return row.status();
  return LogPosition{place->u64_at(0), static_cast<uint64_t>(std::max<int64_t>(0, place->int_at(1)))};
}

Status LogScan::take_segment(const SegmentRow& row) {
  uint64_t before = at_->points;
  if (!points_known_ || row.first_seq <= at_->seq) {
    auto points = points_before(row);
    if (points.ok()) before = *points;
  }
  PointRange wanted;
  wanted.first = at_->points > before ? std::min(at_->points - before, row.points) : 0;
  const bool newer = row.last_seq > end_.seq;
  wanted.last = newer ? std::min(row.points, end_.points - std::min(end_.points, before)) : row.points;
  wanted.last = std::max(wanted.first, wanted.last);
  const uint64_t last = wanted.last;
  auto more = visit_segment(row, &wanted);
  points_known_ = true;
  if (!more.ok()) {
    if (more.status().code() == Code::kIo || more.status().code() == Code::kBusy) return more.status();
    report(fmt::format("segment of frames {} to {}", row.first_seq, row.last_seq), more.status());
  }
  stopped_ = more.ok() && !*more;
  at_->points = before + std::min(wanted.last, last);
  if (stopped_ && wanted.last < last) at_->seq = std::max(at_->seq, row.first_seq - 1);
  else at_->seq = newer ? end_.seq : row.last_seq;
  return {};
}

Result<bool> LogScan::visit_segment(const SegmentRow& row, PointRange* wanted) {
  auto stored = StoredSegment::open(db_, row.first_seq);
  if (!stored.ok()) return stored.status();
  SegmentView* const view = (*stored)->view();
  if (view->writer() != writer_) return Status(Code::kCorrupt, "of writer " + view->writer().hex());
  if (view->first_seq() != row.first_seq || view->last_seq() != row.last_seq || view->points() != row.points)
    return Status(Code::kCorrupt, fmt::format("says it is of frames {} to {} with {} points", view->first_seq(),
                                              view->last_seq(), view->points()));
  return visitor_->segment(view, wanted);
}

}  // namespace tracker::internal
