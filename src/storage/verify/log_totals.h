// SPDX-License-Identifier: MIT
// What the frames and segments of a writer's log add up to, to be held against what its tables say. Threads: one. A
// value: a copy is a place to go back to. Cost: decodes every column.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "storage/database/schema.h"
#include "storage/log/event_state.h"
#include "storage/log/series_stats.h"

namespace tracker::internal {

class LogTotals {
 public:
  // Frames after `stats_seq` are not in the table `series` yet. It may rise while the log is read.
  explicit LogTotals(uint64_t stats_seq) : stats_seq_(stats_seq) {}
  void set_stats_seq(uint64_t stats_seq);

  // In order. kCorrupt, kVersion: a column cannot be decoded; nothing was added.
  Result<FrameStats> add(const FrameView& frame, size_t bytes);
  // The same, and all that SegmentView::check() finds.
  Result<FrameStats> add(SegmentView* segment, size_t bytes);

  uint64_t frames() const { return frames_; }
  uint64_t points() const { return points_; }
  uint64_t bytes() const { return bytes_; }
  const EventState& events() const { return events_; }

  // In words, one a difference, the first few; empty when the table says what the log does.
  std::vector<std::string> compare_series(const SeriesMap& stored) const;
  std::vector<std::string> compare_attributes(const std::vector<Attribute>& stored) const;
  std::vector<std::string> compare_losses(const std::vector<Loss>& stored) const;
  std::vector<std::string> compare_meta(const DatabaseMeta& meta, uint64_t newest) const;  // totals and the end

 private:
  void add_series(const SeriesMap& all);

  uint64_t stats_seq_;
  uint64_t frames_ = 0, points_ = 0, bytes_ = 0;
  bool any_segments_ = false;  // what their frames took is not known
  SeriesMap series_;
  std::deque<std::pair<uint64_t, SeriesMap>> later_;  // of the frames after stats_seq_, a few seconds of them
  EventState events_;
};

}  // namespace tracker::internal
