// SPDX-License-Identifier: MIT
#include "storage/log/log_state.h"

namespace tracker::internal {

void LogState::add(const SeriesMap& later) {
  for (const auto& [id, stats] : later) {
    const auto [at, is_new] = series.try_emplace(id, stats);
    if (!is_new) append_stats(stats, &at->second);
  }
}

Result<bool> LogState::frame(const FrameView& frame) {
  events.apply(frame);
  auto stats = compute_frame_stats(frame);
  if (!stats.ok()) return stats.status();
  add(stats->series);
  points += stats->points;
  ++frames;
  return true;
}

Result<bool> LogState::segment(SegmentView* segment, PointRange*) {
  SegmentLog log;
  TRACKER_RETURN_IF_ERROR(segment->log(&log));
  events.apply(log.events, log.losses);
  SeriesMap named;  // also for damaged rows: later ones refer to these names
  for (const SeriesDef& def : log.defs) named[def.id].def = def;
  add(named);
  auto stats = compute_segment_stats(segment, log);
  if (!stats.ok()) return stats.status();
  add(stats->series);
  points += stats->points;
  frames += segment->frames();
  return true;
}

}  // namespace tracker::internal
