// SPDX-License-Identifier: MIT
// What the frames and segments of a writer's log add up to, to be held against what its tables say. Threads: one. A
// value: a copy is a place to go back to. Cost: decodes every column.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/database/schema.h"
#include "storage/log/event_state.h"
#include "storage/log/series_stats.h"

namespace tracker::internal {

// Counts the samples of the system among the rows of a log, which a listing does not count as points. In order: a
// series is defined in front of its rows, or with them.
class SystemSamples {
 public:
  void add(const SeriesMap& series);
  uint64_t count() const { return count_; }

 private:
  std::set<uint32_t> series_;
  uint64_t count_ = 0;
};

class LogTotals {
 public:
  // Frames after `stats_seq` are not in the table `series` yet. It may rise while the log is read.
  explicit LogTotals(uint64_t stats_seq) : stats_seq_(stats_seq) {}
  void set_stats_seq(uint64_t stats_seq);

  // In order. kCorrupt, kVersion: a column cannot be decoded; nothing was added.
  Result<FrameStats> add(const FrameView& frame, size_t bytes);
  // The same, and all that SegmentView::check() finds; `also` sees the columns as they are decoded.
  Result<FrameStats> add(SegmentView* segment, size_t bytes, SegmentVisitor* also = nullptr);

  uint64_t frames() const { return frames_; }
  uint64_t points() const { return points_; }
  uint64_t own_points() const { return points_ - system_.count(); }  // without samples of the system
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
  SystemSamples system_;
  SeriesMap series_;
  std::deque<std::pair<uint64_t, SeriesMap>> later_;  // of the frames after stats_seq_, a few seconds of them
  EventState events_;
};

}  // namespace tracker::internal
