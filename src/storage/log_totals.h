// SPDX-License-Identifier: MIT
// What the frames of a writer's log add up to, to be held against what its tables say. Whatever stands in the log and
// carries rows, events and losses is added here, whole frames now. Threads: one. Cost: decodes every column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/event_state.h"
#include "storage/schema.h"
#include "storage/series_stats.h"

namespace tracker::internal {

class LogTotals {
 public:
  // Frames behind `stats_seq` are in the table `series` not yet.
  explicit LogTotals(uint64_t stats_seq) : stats_seq_(stats_seq) {}

  // kCorrupt, kVersion: a column cannot be decoded; nothing was added.
  Result<FrameStats> add(const FrameView& frame, size_t bytes);

  uint64_t frames() const { return frames_; }
  uint64_t points() const { return points_; }
  uint64_t bytes() const { return bytes_; }
  const EventState& events() const { return events_; }

  // In words, one a difference, the first few; empty when the table says what the log does.
  std::vector<std::string> compare_series(const SeriesMap& stored) const;
  std::vector<std::string> compare_attributes(const std::vector<Attribute>& stored) const;
  std::vector<std::string> compare_losses(const std::vector<Loss>& stored) const;
  std::vector<std::string> compare_meta(const DatabaseMeta& meta) const;  // totals and the end

 private:
  uint64_t stats_seq_;
  uint64_t frames_ = 0, points_ = 0, bytes_ = 0;
  SeriesMap series_;
  EventState events_;
};

}  // namespace tracker::internal
