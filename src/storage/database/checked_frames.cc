// SPDX-License-Identifier: MIT
#include "storage/database/checked_frames.h"

#include <fmt/format.h>

#include "codec/frame.h"
#include "storage/log/ring_positions.h"

namespace tracker::internal {

// Frame by frame, because the decoded form of a frame is larger than its bytes.
Result<CheckedFrames> check_frames(std::span<const FrameRecord* const> records, const Id128& writer, uint64_t last_seq,
                                   const std::string& path,
                                   const std::function<void(const SeriesMap& series)>& add_series) {
  CheckedFrames out;
  out.last_seq = last_seq;
  for (const FrameRecord* next : records) {
    const FrameRecord& record = *next;
    if (record.seq <= out.last_seq) continue;
    auto view = FrameView::parse(record.bytes);
    if (!view.ok()) return view.status();
    if (view->seq() != record.seq || view->writer() != writer)
      return Status(Code::kInvalid, fmt::format("{}: frame {} says it is {} of {}", path, record.seq, view->seq(),
                                                view->writer().hex()));
    auto stats = compute_frame_stats(*view, add_series);
    if (!stats.ok()) return stats.status();
    out.last_seq = record.seq;
    out.points += stats->points;
    out.bytes += record.bytes.size();
    for (const RingPosition& position : record.positions) set_position(position, &out.positions);
    const bool has_events = !view->events().empty() || !view->losses().empty();
    out.frames.push_back({&record, stats->points, stats->time_first_us, stats->time_last_us, has_events});
  }
  return out;
}

Status read_stats_after(Sqlite& db, uint64_t seq, const std::function<void(const SeriesMap& series)>& add_series) {
  auto rows = db.prepare("SELECT seq, data FROM frames WHERE seq>? ORDER BY seq");
  if (!rows.ok()) return rows.status();
  rows->bind(static_cast<int64_t>(seq));
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    auto view = FrameView::parse(rows->bytes_at(1));
    if (!view.ok()) continue;
    auto stats = compute_frame_stats(*view);
    if (stats.ok()) add_series(stats->series);  // all series of a frame, or none if it is damaged
  }
}

}  // namespace tracker::internal
