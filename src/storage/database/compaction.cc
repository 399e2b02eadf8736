// SPDX-License-Identifier: MIT
#include "storage/database/compaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace tracker::internal {
namespace {

std::atomic<int64_t> g_gather_ns{kCompactionGatherNs};
std::atomic<uint64_t> g_gather_frames{UINT64_MAX};
std::atomic<int64_t> g_at_end_ns{kCompactAtEndNs};

constexpr uint64_t kBytesAPoint = 4;  // of a weight
constexpr uint64_t kPointsAFrame = 16;

Status finish(SegmentBuilder* builder, NewSegment* out) {
  out->first_seq = builder->first_seq();
  out->last_seq = builder->last_seq();
  out->points = builder->points();
  const bool all_short = builder->rows() < kLevelRowsMin;
  SegmentTimes times;
  auto bytes = builder->finish(&times);
  if (!bytes.ok()) return bytes.status();
  out->bytes = std::move(*bytes);
  out->time_first_us = times.first_us;
  out->time_last_us = times.last_us;
  if (all_short) return {};  // no levels; with very many series the directory is larger than the data
  auto view = SegmentView::parse(out->bytes, false);
  if (!view.ok()) return view.status();
  auto levels = make_levels(&*view);
  if (!levels.ok()) return levels.status();
  out->levels = std::move(*levels);
  return {};
}

}  // namespace

Result<NewSegment> foreign_segment(SegmentView* view, std::string_view bytes) {
  NewSegment out{view->first_seq(),
                 view->last_seq(),
                 view->points(),
                 view->time_first_us(),
                 view->time_last_us(),
                 std::string(bytes),
                 {},
                 view->frames(),
                 0,
                 false};
  uint64_t rows = 0;
  for (const SegmentBlock& block : view->blocks()) rows += block.rows;
  if (rows < kLevelRowsMin) return out;
  auto levels = make_levels(view);
  if (!levels.ok()) return levels.status();
  out.levels = std::move(*levels);
  return out;
}

void set_compaction_gather_for_testing(int64_t ns) { g_gather_ns = ns; }
void set_compaction_frames_for_testing(uint64_t frames) { g_gather_frames = frames; }
void set_compact_at_end_for_testing(int64_t ns) { g_at_end_ns = ns; }
int64_t compact_at_end_ns() { return g_at_end_ns; }

// The weight of merged pieces is the sum of theirs, except for bytes, which only shrink. So each merge makes a piece of
// a higher tier, also if a column takes no bytes or there are no points.
uint64_t Compaction::Piece::weight() const {
  return points + bytes / kBytesAPoint + (last_seq - first_seq + 1) * kPointsAFrame;
}
bool Compaction::Piece::finished() const {
  return points >= kSegmentPointsTarget / 2 || bytes >= kSegmentBytesTarget / 2;
}

Status Compaction::load(Sqlite& db) {
  tail_.clear();
  frames_after_ = frames_waiting_ = frame_bytes_waiting_ = 0;
  nothing_now_ = freeing_ = false;
  {
    auto rows = db.prepare(
        "SELECT first_seq, last_seq, points, length(data) FROM segments WHERE first_seq>(SELECT coalesce(max(seq),0) "
        "FROM frames WHERE seq<(SELECT max(first_seq) FROM segments)) ORDER BY first_seq DESC LIMIT ?");
    if (!rows.ok()) return rows.status();
    rows->bind(static_cast<int64_t>(kTailSegmentsMax));
    for (;;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) break;
      const Piece piece{rows->u64_at(0), rows->u64_at(1), rows->u64_at(2), rows->u64_at(3)};
      frames_after_ = std::max(frames_after_, piece.last_seq);
      if (piece.finished()) break;
      tail_.insert(tail_.begin(), piece);
    }
  }
  auto rows = db.prepare("SELECT count(*), coalesce(sum(length(data)),0) FROM frames WHERE seq>?");
  if (!rows.ok()) return rows.status();
  auto row = rows->bind(static_cast<int64_t>(frames_after_)).step();
  if (!row.ok()) return row.status();
  frames_waiting_ = rows->u64_at(0);
  frame_bytes_waiting_ = rows->u64_at(1);
  return {};
}

void Compaction::appended(uint64_t frames, uint64_t bytes) {
  frames_waiting_ += frames;
  frame_bytes_waiting_ += bytes;
  nothing_now_ = nothing_now_ && frames == 0;
}

bool Compaction::due(uint64_t up_to) const {
  if (freeing_) return true;
  return (!nothing_now_ || up_to > looked_to_) &&
         (frames_waiting_ >= kCompactFramesMin || frame_bytes_waiting_ >= kCompactFrameBytesMin || tail_.size() > 1);
}

Result<bool> Compaction::step(Sqlite& db, uint64_t up_to, bool all, const Transaction& transaction) {
  if (!nothing_now_ || up_to > looked_to_ || all) {
    auto segment = build(db, up_to, all);
    if (!segment.ok()) return segment.status();
    if (*segment) {
      TRACKER_RETURN_IF_ERROR(transaction([&] { return write(db, **segment); }));
      written(**segment);
      return true;
    }
  }
  return give_back(db, all, transaction);
}

// New frames reuse the pages that compaction frees; only the surplus is returned to the disk.
Result<bool> Compaction::give_back(Sqlite& db, bool all, const Transaction& transaction) {
  freeing_ = false;
  auto free = db.query_int("PRAGMA freelist_count");
  if (!free.ok()) return free.status();
  auto pages = db.query_int("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  if (*free < (all ? 1 : std::max(kFreePagesMin, *pages / kFreePagesShare))) return false;
  const std::string some = fmt::format("PRAGMA incremental_vacuum({})", kFreePagesAStep);
  TRACKER_RETURN_IF_ERROR(transaction([&] { return db.exec(some.c_str()); }));
  auto left = db.query_int("PRAGMA freelist_count");
  freeing_ = left.ok() && *left < *free;  // a database without auto_vacuum keeps them
  return freeing_;
}

Result<std::optional<NewSegment>> Compaction::build(Sqlite& db, uint64_t up_to, bool all) {
  auto out = build_from_frames(db, up_to, all);
  if (out.ok() && !*out) out = build_from_segments(db, up_to, all);
  nothing_now_ = out.ok() && !*out;
  looked_to_ = up_to;
  return out;
}

// --- frames -------------------------------------------------------------------------------------------------------

Result<std::optional<NewSegment>> Compaction::build_from_frames(Sqlite& db, uint64_t up_to, bool all) {
  const uint64_t frames_min = all ? kCompactFramesAtEnd : kCompactFramesMin;
  const uint64_t bytes_min = all ? kCompactFrameBytesAtEnd : kCompactFrameBytesMin;
  for (;;) {
    if (frames_waiting_ < frames_min && frame_bytes_waiting_ < bytes_min) return std::optional<NewSegment>();
    {
      auto sums = db.prepare("SELECT count(*), coalesce(sum(length(data)),0) FROM frames WHERE seq>? AND seq<=?");
      if (!sums.ok()) return sums.status();
      auto row = sums->bind(static_cast<int64_t>(frames_after_)).bind(static_cast<int64_t>(up_to)).step();
      if (!row.ok()) return row.status();
      if (sums->u64_at(0) < frames_min && sums->u64_at(1) < bytes_min) return std::optional<NewSegment>();
    }
    SegmentBuilder builder(writer_, kCompactionBytesMax);
    NewSegment out;
    auto any = gather_frames(db, up_to, &builder, &out);
    if (!any.ok()) return any.status();
    if (!*any) continue;  // the first one stays a frame
    const Status status = finish(&builder, &out);
    if (status.ok()) return std::optional<NewSegment>(std::move(out));
    if (status.code() != Code::kLimit) return status;
    frames_after_ = out.last_seq;  // they cannot be written as a segment and stay frames
    frames_waiting_ -= std::min(frames_waiting_, out.frames);
    frame_bytes_waiting_ -= std::min(frame_bytes_waiting_, out.frame_bytes);
    tail_.clear();
  }
}

// Returns false if the first frame cannot be in a segment. It stays a frame, and no merge goes beyond it.
Result<bool> Compaction::gather_frames(Sqlite& db, uint64_t up_to, SegmentBuilder* builder, NewSegment* out) {
  const int64_t begun = monotonic_ns();
  auto rows = db.prepare("SELECT seq, data FROM frames WHERE seq>? AND seq<=? ORDER BY seq");
  if (!rows.ok()) return rows.status();
  rows->bind(static_cast<int64_t>(frames_after_)).bind(static_cast<int64_t>(up_to));
  while (out->frames == 0 || (out->frames < g_gather_frames && builder->points() < kSegmentPointsTarget &&
                              monotonic_ns() - begun < g_gather_ns)) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) break;
    const std::string_view bytes = rows->bytes_at(1);
    auto view = FrameView::parse(bytes);
    Status added = view.status();
    if (added.ok() && view->seq() != rows->u64_at(0)) added = Status(Code::kCorrupt, "another frame");
    if (added.ok()) added = builder->add(*view);
    if (!added.ok() && out->frames > 0) break;
    ++out->frames;
    out->frame_bytes += bytes.size();
    if (added.ok()) continue;
    frames_after_ = rows->u64_at(0);
    frames_waiting_ -= std::min<uint64_t>(frames_waiting_, 1);
    frame_bytes_waiting_ -= std::min<uint64_t>(frame_bytes_waiting_, bytes.size());
    tail_.clear();
    return false;
  }
  return out->frames > 0 ? Result<bool>(true) : Status(Code::kCorrupt, "frames that were counted are not there");
}

// --- segments -----------------------------------------------------------------------------------------------------

// Chooses the pieces to merge now: enough for a finished one, or a full tier, or at the end all.
std::optional<Compaction::Run> Compaction::choose(uint64_t up_to, bool all) const {
  size_t count = 0;
  while (count < tail_.size() && tail_[count].last_seq <= up_to) ++count;
  if (count < 2) return std::nullopt;
  uint64_t points = 0, bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    points += tail_[i].points;
    bytes += tail_[i].bytes;
    if (points >= kSegmentPointsTarget || bytes >= kSegmentBytesTarget) return Run{0, i + 1};
  }
  if (all) return Run{0, count};
  uint64_t later_weight = 0;
  std::optional<Run> out;
  for (size_t i = count; i-- > 0;) {
    const uint64_t weight = tail_[i].weight();
    if (i + 1 < count && later_weight >= (kCompactionFactor - 1) * weight) out = Run{i, count};
    later_weight += weight;
  }
  return out;
}

Result<std::optional<NewSegment>> Compaction::build_from_segments(Sqlite& db, uint64_t up_to, bool all) {
  while (const auto run = choose(up_to, all)) {
    SegmentBuilder builder(writer_, kCompactionBytesMax);
    auto taken = gather_segments(db, *run, &builder);
    if (!taken.ok()) return taken.status();
    NewSegment out;
    out.full = *taken < run->end - run->begin;
    Status status = *taken > 1 ? finish(&builder, &out) : Status();
    if (*taken > 1 && status.ok()) return std::optional<NewSegment>(std::move(out));
    if (!status.ok() && status.code() != Code::kLimit) return status;
    // It is at its largest, or damaged: the pieces up to it are not merged from now on.
    tail_.erase(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(run->begin + std::max<size_t>(1, *taken)));
  }
  return std::optional<NewSegment>();
}

// Returns how many of them were added, in order.
Result<size_t> Compaction::gather_segments(Sqlite& db, const Run& run, SegmentBuilder* builder) {
  auto rows =
      db.prepare("SELECT first_seq, last_seq, points, data FROM segments WHERE first_seq>=? ORDER BY first_seq");
  if (!rows.ok()) return rows.status();
  rows->bind(static_cast<int64_t>(tail_[run.begin].first_seq));
  for (size_t i = run.begin; i < run.end; ++i) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    const Piece& piece = tail_[i];
    if (!*row || rows->u64_at(0) != piece.first_seq || rows->u64_at(1) != piece.last_seq)
      return Status(Code::kCorrupt, fmt::format("segment of frame {} is not there", piece.first_seq));
    auto view = SegmentView::parse(rows->bytes_at(3));
    const bool sound = view.ok() && view->first_seq() == piece.first_seq && view->last_seq() == piece.last_seq &&
                       view->points() == piece.points;
    if (!sound || !builder->add(&*view).ok()) return i - run.begin;
  }
  return run.end - run.begin;
}

// --- the transaction ----------------------------------------------------------------------------------------------

Status Compaction::write(Sqlite& db, const NewSegment& segment) {
  const auto first = static_cast<int64_t>(segment.first_seq), last = static_cast<int64_t>(segment.last_seq);
  auto drop = db.prepare(segment.frames > 0 ? "DELETE FROM frames WHERE seq>=? AND seq<=?"
                                            : "DELETE FROM segments WHERE first_seq>=? AND first_seq<=?");
  if (!drop.ok()) return drop.status();
  TRACKER_RETURN_IF_ERROR(drop->bind(first).bind(last).run());
  auto insert = db.prepare("INSERT INTO segments VALUES(?,?,?,?,?,?)");
  if (!insert.ok()) return insert.status();
  insert->bind(first).bind(last).bind(static_cast<int64_t>(segment.points));
  insert->bind(segment.time_first_us).bind(segment.time_last_us);
  TRACKER_RETURN_IF_ERROR(insert->bind_blob(segment.bytes).run());
  return write_levels(db, segment.first_seq, segment.last_seq, segment.frames == 0, segment.levels);
}

void Compaction::written(const NewSegment& segment) {
  const Piece piece{segment.first_seq, segment.last_seq, segment.points, segment.bytes.size()};
  if (segment.frames > 0) {
    frames_after_ = segment.last_seq;
    frames_waiting_ -= std::min(frames_waiting_, segment.frames);
    frame_bytes_waiting_ -= std::min(frame_bytes_waiting_, segment.frame_bytes);
    add_piece(piece, false);
    return;
  }
  const auto inside = [&piece](const Piece& p) {
    return p.first_seq >= piece.first_seq && p.last_seq <= piece.last_seq;
  };
  const auto first = std::find_if(tail_.begin(), tail_.end(), inside);
  const auto end = std::find_if_not(first, tail_.end(), inside);
  std::vector<Piece> later(end, tail_.end());
  tail_.erase(first, tail_.end());
  add_piece(piece, segment.full);
  tail_.insert(tail_.end(), later.begin(), later.end());
}

// No merge goes beyond a finished piece.
void Compaction::add_piece(const Piece& piece, bool full) {
  if (full || piece.finished()) tail_.clear();
  else tail_.push_back(piece);
}

}  // namespace tracker::internal
