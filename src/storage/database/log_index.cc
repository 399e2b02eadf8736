// SPDX-License-Identifier: MIT
#include "storage/database/log_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "storage/database/log_scan.h"
#include "storage/database/schema.h"

namespace tracker::internal {
namespace {

struct LogRow {
  bool segment = false;
  uint64_t first = 0, last = 0, points = 0;
};

Status read_rows(Sqlite& db, const char* sql, bool segment, uint64_t last_seq, std::vector<LogRow>* out) {
  auto rows = db.prepare(sql);
  if (!rows.ok()) return rows.status();
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    if (rows->u64_at(0) <= last_seq) out->push_back({segment, rows->u64_at(0), rows->u64_at(1), rows->u64_at(2)});
  }
}

Result<LevelRows> coarsest(Sqlite& db, uint32_t series, LevelAxis axis) {
  return LevelRows::open(db, series, level_number(axis, kLevels - 1), 0, INT64_MAX);
}

// Rows of both axes are read together, while a page that may hold both is in the cache.
Status read_coarse(Sqlite& db, uint32_t series, bool with_times, std::vector<CoarseLevels>* out) {
  auto steps = coarsest(db, series, LevelAxis::kSteps);
  if (!steps.ok()) return steps.status();
  auto times = coarsest(db, series, LevelAxis::kTimes);
  if (!times.ok()) return times.status();
  Result<bool> time = with_times ? times->next() : Result<bool>(false);
  for (;;) {
    auto step = steps->next();
    if (!step.ok()) return step.status();
    if (!*step) return {};
    CoarseLevels row{steps->first_seq(), steps->last_seq(), std::string(steps->data()), {}};
    while (time.ok() && *time && times->first_seq() < row.first_seq) time = times->next();
    if (!time.ok()) return time.status();
    if (*time && times->first_seq() == row.first_seq && times->last_seq() == row.last_seq) row.times = times->data();
    out->push_back(std::move(row));
  }
}

}  // namespace

LogIndex::LogIndex(std::vector<std::string> paths, std::vector<Sqlite> dbs, std::vector<LogPosition> begins,
                   LogIndexCache* memory)
    : memory_(memory) {
  for (size_t i = 0; i < dbs.size(); ++i)
    parts_.push_back({std::move(paths[i]), std::move(dbs[i]), begins[i], 0, false});
}

LogIndex::~LogIndex() { (void)rest().ok(); }

Status LogIndex::rest() {
  Status status;
  for (Part& part : parts_) {
    if (part.begun_ns == 0) continue;
    part.begun_ns = 0;
    if (const Status ended = part.db.exec("COMMIT"); !ended.ok()) status = ended;
  }
  return status;
}

Status LogIndex::begin(Part* part) {
  const int64_t now = monotonic_ns();
  if (part->begun_ns != 0 && now - part->begun_ns < kLogRoundNs) return {};
  if (part->begun_ns != 0) TRACKER_RETURN_IF_ERROR(part->db.exec("COMMIT"));
  part->begun_ns = 0;
  TRACKER_RETURN_IF_ERROR(part->db.exec("BEGIN"));
  part->begun_ns = now;
  auto known = has_levels(part->db);
  if (!known.ok()) return known.status();
  part->has_levels = *known;
  return {};
}

Result<std::vector<LogPiece>> LogIndex::pieces(const LogPosition& end) {
  if (!memory_->pieces.empty() && memory_->end == end) return memory_->pieces;
  *memory_ = LogIndexCache();
  std::vector<LogPiece> out;
  for (size_t i = 0; i < parts_.size() && parts_[i].first.seq < end.seq; ++i) {
    LogPosition at = parts_[i].first;
    TRACKER_RETURN_IF_ERROR(begin(&parts_[i]));
    TRACKER_RETURN_IF_ERROR(pieces_of(&parts_[i], static_cast<int>(i) + 1, end, &at, &out));
  }
  memory_->end = end;
  memory_->pieces = out;
  return out;
}

Status LogIndex::pieces_of(Part* part, int number, const LogPosition& end, LogPosition* at,
                           std::vector<LogPiece>* out) {
  std::vector<LogRow> rows;
  // Without a condition on the key, so that SQLite uses the index if there is one.
  TRACKER_RETURN_IF_ERROR(
      read_rows(part->db, "SELECT first_seq, last_seq, points FROM segments", true, end.seq, &rows));
  TRACKER_RETURN_IF_ERROR(read_rows(part->db, "SELECT seq, seq, points FROM frames", false, end.seq, &rows));
  std::stable_sort(rows.begin(), rows.end(), [](const LogRow& a, const LogRow& b) { return a.first < b.first; });
  const LogPosition begin = *at;
  bool frames = false;  // the last piece consists of frames of this part
  for (const LogRow& row : rows) {
    if (row.first <= at->seq || row.last < row.first)
      return Status(Code::kCorrupt, fmt::format("{}: frame {} is there twice", part->path, row.first));
    const LogPosition next{std::min(row.last, end.seq), at->points + row.points};
    if (row.segment && row.last <= end.seq) {
      out->push_back({number, true, row.first, row.last, *at, next});
    } else if (row.segment) {
      out->push_back({number, false, row.first, row.last, *at, end});
    } else if (frames) {
      out->back().end = next;
    } else {
      out->push_back({number, false, row.first, row.last, *at, next});
    }
    frames = !row.segment;
    *at = out->back().end;
  }
  LogPosition to = end;
  if (part != &parts_.back()) {  // the number of the last part is in `end`, even if its own record of it is damaged
    auto meta = read_meta(part->db, part->path);
    if (!meta.ok()) return meta.status();
    if (meta->last_seq > end.seq) return {};
    to = {std::max(begin.seq, meta->last_seq), begin.points + meta->points};
  }
  if (to.points != at->points)
    return Status(Code::kCorrupt, fmt::format("{}: {} points instead of {}", part->path, at->points, to.points));
  at->seq = to.seq;
  return {};
}

Status LogIndex::levels(int part, uint32_t series, int level, uint64_t from, uint64_t to, const LevelVisit& visit) {
  Part& of = parts_[static_cast<size_t>(part) - 1];
  TRACKER_RETURN_IF_ERROR(begin(&of));
  if (!of.has_levels) return {};
  return read_levels(of.db, series, level, from, to, visit);
}

Result<std::shared_ptr<const std::vector<CoarseLevels>>> LogIndex::coarse_levels(int part, uint32_t series,
                                                                                 bool with_times) {
  Part& of = parts_[static_cast<size_t>(part) - 1];
  TRACKER_RETURN_IF_ERROR(begin(&of));
  const auto known = memory_->levels.find({part, series});
  if (known != memory_->levels.end() && (known->second.with_times || !with_times)) return known->second.rows;
  std::vector<CoarseLevels> rows;
  if (of.has_levels) TRACKER_RETURN_IF_ERROR(read_coarse(of.db, series, with_times, &rows));
  size_t bytes = sizeof(LogIndexCache::Levels) + 128;  // including its node: many series have none
  for (const CoarseLevels& row : rows) bytes += sizeof row + row.steps.size() + row.times.size();
  auto out = std::make_shared<const std::vector<CoarseLevels>>(std::move(rows));
  if (memory_->pieces.empty()) return out;
  LogIndexCache::Levels& levels = memory_->levels[{part, series}];
  memory_->level_bytes += bytes - levels.bytes;
  levels = {with_times, bytes, out};
  if (memory_->level_bytes > kLogIndexCacheBytesMax) {
    memory_->levels.clear();
    memory_->level_bytes = 0;
  }
  return out;
}

Result<std::unique_ptr<StoredSegment>> LogIndex::segment(const LogPiece& piece) {
  Part& of = parts_[static_cast<size_t>(piece.part) - 1];
  TRACKER_RETURN_IF_ERROR(begin(&of));
  auto there = of.db.prepare("SELECT 1 FROM segments WHERE first_seq=? AND last_seq=?");
  if (!there.ok()) return there.status();
  there->bind(static_cast<int64_t>(piece.first_seq)).bind(static_cast<int64_t>(piece.last_seq));
  auto found = there->step();
  if (!found.ok()) return found.status();
  there->reset();
  if (!*found) {
    *memory_ = LogIndexCache();
    return Status(Code::kBusy, fmt::format("{} was compacted meanwhile", of.path), "try again");
  }
  auto stored = StoredSegment::open(&of.db, piece.first_seq);
  if (!stored.ok()) return stored.status();
  const SegmentView& view = *(*stored)->view();
  if (view.first_seq() != piece.first_seq || view.last_seq() != piece.last_seq)
    return Status(Code::kCorrupt, fmt::format("{}: a segment that says it is another", of.path));
  return stored;
}

}  // namespace tracker::internal
